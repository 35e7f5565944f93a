"""The web backend on a real port, in this process: a server, a clock to turn by hand, a model to hold back.

Does not: hold a test.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import httpx
import jwt
import uvicorn
from fastapi import FastAPI
from httpx_sse import ServerSentEvent, aconnect_sse
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGenerationChunk
from pydantic import PrivateAttr, SecretStr
from starlette.types import ASGIApp

from ace_graph.base import Clock, Settings
from ace_graph.server import Overrides, SocketLimits, bounded_protocol, create_app
from ace_graph.testing import ScriptedModel
from tests.plugins.sizes import PATIENT

SECRET = "a secret of a test, long enough for HS256"
Json = dict[str, Any]  # Any: what a server answered, whose shape the tests check


def token(subject: object = "alice", *, secret: str = SECRET, **claims: object) -> str:
    """Return a token that is valid for an hour, with more claims, or with others (None: without)."""
    until = datetime.now(UTC) + timedelta(hours=1)
    given = {"sub": subject, "exp": until, **claims}
    kept = {name: value for name, value in given.items() if value is not None}
    return jwt.encode(kept, secret, algorithm="HS256")


def bearer(subject: str = "alice") -> dict[str, str]:
    """Return the headers of a learner."""
    return {"Authorization": f"Bearer {token(subject)}"}


class HandClock:
    """A clock that stands still until a test moves it."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._waiting: list[tuple[float, float, asyncio.Future[None]]] = []

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((seconds, self.seconds + seconds, ended))
        await ended

    def waiting(self, seconds: float) -> int:
        """How many wait who sleep so long at a time."""
        return sum(asked == seconds and not ended.done() for asked, _, ended in self._waiting)

    def move(self, seconds: float) -> None:
        self.seconds += seconds
        for _, until, ended in self._waiting:
            if until <= self.seconds and not ended.done():
                ended.set_result(None)


class HeldModel(ScriptedModel):
    """A scripted model whose streamed replies stop after their first piece until `go` is set."""

    _go: asyncio.Event = PrivateAttr()
    _begun: asyncio.Event = PrivateAttr()

    def __init__(self, *, chunk_size: int = 7, **roles: Sequence[str | AIMessage | Exception]) -> None:
        super().__init__(chunk_size=chunk_size, **roles)
        self._go = asyncio.Event()
        self._begun = asyncio.Event()

    @property
    def go(self) -> asyncio.Event:
        return self._go

    @property
    def begun(self) -> asyncio.Event:
        return self._begun

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # LangChain's signature
    ) -> AsyncIterator[ChatGenerationChunk]:
        first = True
        async for chunk in super()._astream(messages, stop, run_manager, **kwargs):
            yield chunk
            if first:
                self._begun.set()
                await self._go.wait()
            first = False


@dataclass(frozen=True)
class Served:
    """A server, and a client of the learner alice."""

    app: FastAPI
    server: uvicorn.Server
    client: httpx.AsyncClient

    async def ask(self, message: str, conversation: str | None = None, **more: object) -> Json:
        """Return the answer to a message that must be answered."""
        reply = await self.post(message, conversation, "alice", **more)
        assert reply.status_code == 200, reply.text
        return reply.json()

    async def post(
        self, message: str, conversation: str | None = None, learner: str = "alice", **more: object
    ) -> httpx.Response:
        """Send a message."""
        named = {"conversationId": conversation} if conversation else {}
        body = {"message": message, **named, **more}
        return await self.client.post("/api/ai/chat", json=body, headers=bearer(learner))

    @asynccontextmanager
    async def stream(
        self, message: str, conversation: str | None = None, learner: str = "alice"
    ) -> AsyncGenerator[AsyncIterator[ServerSentEvent]]:
        """Send a message and yield the events of its answer; leaving early hangs up."""
        named = {"conversationId": conversation} if conversation else {}
        async with aconnect_sse(
            self.client,
            "POST",
            "/api/ai/chat/stream",
            json={"message": message, **named},
            headers=bearer(learner),
        ) as source:
            yield source.aiter_sse()


def settings_for(folder: Path | None = None, **given: object) -> Settings:
    """Return settings with a secret; the memory is in `folder`, or in this process."""
    store = f"sqlite:///{folder / 'ace.db'}" if folder else "memory://"
    known: Mapping[str, object] = {
        "store": store,
        "store_timeout": PATIENT,
        "jwt_secret": SecretStr(SECRET),
        "learning": "inline",
        "neo4j_graph": False,  # it would draw what all tests have left in the Neo4j of the run
    }
    return Settings.model_validate({**Settings().model_dump(), **known, **given})


@asynccontextmanager
async def serving(
    settings: Settings,
    overrides: Overrides | None = None,
    clock: Clock | None = None,
    limits: SocketLimits | None = None,
) -> AsyncGenerator[Served]:
    """Serve on a free port of this machine until the block ends; with `limits`, as `ace-graph serve` does."""
    app = create_app(settings, overrides, clock=clock)
    async with (
        listening(app, limits) as (server, url),
        httpx.AsyncClient(base_url=url, headers=bearer(), timeout=PATIENT, trust_env=False) as client,
    ):
        yield Served(app, server, client)


@asynccontextmanager
async def listening(
    app: ASGIApp, limits: SocketLimits | None = None, lifespan: Literal["auto", "off"] = "auto"
) -> AsyncGenerator[tuple[uvicorn.Server, str]]:
    """Serve an application on a free port of this machine; yield the server and its address."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=5,
        lifespan=lifespan,
        http="auto" if limits is None else bounded_protocol(limits),
    )
    server = _Server(config)
    # With the protocol named, asyncio sends each event at once; with 0, the default, it takes 40 ms.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        running = asyncio.create_task(server.serve([listener]))
        await server.ready(running)
        try:
            yield server, f"http://127.0.0.1:{port}"
        finally:
            server.end()
            await running


class _Server(uvicorn.Server):
    """A uvicorn that says when it has started, ends at once, and leaves signals to pytest."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._started, self._ending = asyncio.Event(), asyncio.Event()

    async def main_loop(self) -> None:
        """Tick as uvicorn does, ten times a second, until somebody wants the end."""
        ticks = 0
        while not await self.on_tick(ticks):
            ticks = (ticks + 1) % 864_000
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), 0.1)

    def end(self) -> None:
        self.should_exit = True
        self._ending.set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._started.set()

    async def ready(self, running: asyncio.Task[None]) -> None:
        waiting = asyncio.create_task(self._started.wait())
        await asyncio.wait({waiting, running}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        assert self.started, "the server did not start"

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


async def until(condition: Any) -> None:  # Any: a function without arguments, async or not
    """Wait until a condition holds, as long as a busy machine may take."""
    async with asyncio.timeout(PATIENT):
        while True:
            found = condition()
            if await found if asyncio.iscoroutine(found) else found:
                return
            await asyncio.sleep(0.005)
