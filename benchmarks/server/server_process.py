"""One server as a process of its own: it prints its port, and serves until its standard input ends.

    python -m benchmarks.server.server_process KIND STORE FOLDER OPTIONS

It ends with the process that started it, which holds the other end of its standard input.
"""

# LangGraph leaves type arguments of its own signatures open.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import asyncio
import gc
import os
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import uvicorn
from fastapi import FastAPI
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from pydantic import BaseModel, ConfigDict, SecretStr

from benchmarks.corpus import bullets
from benchmarks.server.baseline import bare_app, bare_graph
from benchmarks.server.model import ServedModel
from benchmarks.server.recall import Nothing

__all__ = ["SECRET", "Kind", "Options", "stranger"]

SECRET = "the secret of a benchmark, which guards nothing"
Kind = Literal["bare", "checkpointed", "ours", "langmem", "mem0"]


class Options(BaseModel):
    """What a server is to do differently.

    The first two concern ours; the others langmem and mem0: so many users have so many texts each.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    learning: Literal["inline", "background", "off"] = "background"
    reflect_seconds: float = 0.0
    strangers: int = 0
    texts: int = 0


def stranger(number: int) -> str:
    """Return the name of somebody whom our stores do not know."""
    return f"stranger-{number}"


@asynccontextmanager
async def _application(kind: str, store: str, folder: Path, options: Options) -> AsyncGenerator[FastAPI]:
    model = ServedModel(reflect_seconds=options.reflect_seconds)
    if kind == "bare":
        yield bare_app(bare_graph(model, Nothing()))
    elif kind == "checkpointed":
        async with AsyncSqliteSaver.from_conn_string(str(folder / f"{kind}.db")) as saver:
            await saver.setup()
            yield bare_app(bare_graph(model, Nothing(), saver))
    elif kind == "ours":
        yield _ours(model, store, folder, options)
    else:
        from benchmarks.server.other_memories import recall_of

        recall = recall_of(kind, folder)
        for n in range(options.strangers):
            for bullet in bullets(options.texts):
                await recall.keep(stranger(n), bullet.content)
        yield bare_app(bare_graph(model, recall))


def _ours(model: ServedModel, store: str, folder: Path, options: Options) -> FastAPI:
    from ace_graph.base.settings import Settings
    from ace_graph.server import Overrides, create_app

    password = os.environ.get("NEO4J_TEST_PASSWORD")
    settings = Settings.model_construct(  # nothing of this machine's environment
        store=store,
        neo4j_password=SecretStr(password) if password else None,
        # On PostgreSQL they are beside the memory, as there they are without a setting.
        conversations=None
        if store.startswith("postgres")
        else str(folder / f"conversations-{os.getpid()}.db"),
        jwt_secret=SecretStr(SECRET),
        learning=options.learning,
        server_rate=1_000_000,
        server_turns=1_000,
    )
    return create_app(settings, Overrides(model=model))


class _Server(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and sockets:
            gc.freeze()  # as `ace-graph serve` does, for all kinds
            gc.set_threshold(10_000, *gc.get_threshold()[1:])
            print(sockets[0].getsockname()[1], flush=True)


async def _serve(kind: str, store: str, folder: Path, options: Options) -> None:
    async with _application(kind, store, folder, options) as app:
        config = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=5)
        server = _Server(config)
        # asyncio sends small pieces at once only where the protocol is named; 0, the default, costs 40 ms.
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
            listening.bind(("127.0.0.1", 0))
            serving = asyncio.create_task(server.serve([listening]))
            ending = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
            await asyncio.wait((serving, ending), return_when=asyncio.FIRST_COMPLETED)
            server.should_exit = True
            await serving
            if not server.started:
                sys.exit(1)


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], sys.argv[2], Path(sys.argv[3]), Options.model_validate_json(sys.argv[4])))
