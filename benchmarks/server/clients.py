"""Clients: each has one connection and one learner, and asks again as soon as it has its answer.

Clients send the next request at once, so a hundred of them are far more than a hundred people.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import httpx
import jwt

from benchmarks.corpus import questions
from benchmarks.server.server_process import SECRET
from benchmarks.server.servers import Server

__all__ = ["Answer", "Client", "Heard", "Load", "connected", "load"]

_TURNS_OF_A_CONVERSATION = 5
_TIMEOUT = 120.0


@dataclass(frozen=True)
class Answer:
    """One request: when it was sent and answered, by the clock of this process, and its status (0: none)."""

    began: float
    ended: float
    status: int

    @property
    def ms(self) -> float:
        return (self.ended - self.began) * 1000


@dataclass(frozen=True)
class Heard:
    """Milliseconds from the request to a stream's first and last token and to its end."""

    first: float
    last: float
    done: float


@dataclass(frozen=True)
class Load:
    """All requests of some clients at once, the seconds they took, and the server's processor time."""

    answers: tuple[Answer, ...]
    seconds: float
    cpu_seconds: float

    @property
    def failed(self) -> int:
        return sum(answer.status != 200 for answer in self.answers)


class Client:
    """One learner's connection to one server. A conversation lasts five turns."""

    def __init__(self, http: httpx.AsyncClient, learner: str, asked: Sequence[str]) -> None:
        self._http = http
        self._headers = {"Authorization": f"Bearer {_token(learner)}", "X-Learner": learner}
        self._asked = asked
        self._turns = 0
        self._conversation: str | None = None
        self.learner = learner

    async def ask(self) -> Answer:
        """Send the next question and wait for the whole answer; nothing is raised."""
        body = self._body()
        began = time.perf_counter()
        try:
            reply = await self._http.post("/api/ai/chat", json=body, headers=self._headers)
        except httpx.HTTPError:
            self._conversation = None
            return Answer(began, time.perf_counter(), 0)
        ended = time.perf_counter()
        self._conversation = reply.json()["conversationId"] if reply.status_code == 200 else None
        return Answer(began, ended, reply.status_code)

    async def listen(self) -> Heard:
        """Send the next question and listen to its stream. Raises RuntimeError for a failed one."""
        body = {"message": self._body()["message"]}
        began, times = time.perf_counter(), list[float]()
        path = "/api/ai/chat/stream"
        async with self._http.stream("POST", path, json=body, headers=self._headers) as reply:
            event = ""
            async for line in reply.aiter_lines():
                if line.startswith("event: "):
                    event = line.removeprefix("event: ")
                elif line.startswith("data: ") and event == "token":
                    times.append(time.perf_counter())
        if not times or event != "done":
            raise RuntimeError(f"a stream ended with {event or reply.status_code}")
        ended = time.perf_counter()
        first, last, done = ((at - began) * 1000 for at in (times[0], times[-1], ended))
        return Heard(first, last, done)

    def _body(self) -> dict[str, str]:
        if self._turns % _TURNS_OF_A_CONVERSATION == 0:
            self._conversation = None
        message = self._asked[self._turns % len(self._asked)]
        self._turns += 1
        named = {"conversationId": self._conversation} if self._conversation else {}
        return {"message": message, **named}


@asynccontextmanager
async def connected(server: Server, learners: Sequence[str]) -> AsyncGenerator[list[Client]]:
    """A client of each learner; each has asked once, so that connections and caches are warm."""
    asked = questions(50)
    opened = [
        httpx.AsyncClient(base_url=server.url, timeout=_TIMEOUT, trust_env=False, verify=False)
        for _ in learners
    ]
    clients = [Client(http, learner, asked) for http, learner in zip(opened, learners, strict=True)]
    try:
        for answer in await asyncio.gather(*(client.ask() for client in clients)):
            if answer.status != 200:
                raise RuntimeError(f"{server.name} answers with {answer.status or 'nothing'}")
        yield clients
    finally:
        for http in opened:
            await http.aclose()


async def load(server: Server, clients: Sequence[Client], requests: int) -> Load:
    """Let the clients ask, all at once, `requests` times in all; return what came of it."""
    each = max(1, requests // len(clients))
    cpu, began = server.cpu_seconds(), time.perf_counter()

    async def one(client: Client) -> list[Answer]:
        return [await client.ask() for _ in range(each)]

    answers = await asyncio.gather(*map(one, clients))
    seconds = time.perf_counter() - began
    return Load(tuple(a for some in answers for a in some), seconds, server.cpu_seconds() - cpu)


def _token(learner: str) -> str:
    until = datetime.now(UTC) + timedelta(hours=12)
    return jwt.encode({"sub": learner, "exp": until}, SECRET, algorithm="HS256")
