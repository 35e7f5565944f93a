"""A worker, or a turn, in a process of its own that kills itself at one call of its store.

    python -m tests.background.killed JSON

JSON says: `server` or `path`, `learner`, `what` (worker, turn, into or everything), `method`, `when` (before,
during or after the call), `minutes` (how far its clock is ahead), `spared` (so many calls come back).

Does not: come back, unless the call never happens.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

from ace_graph import ACEContext
from ace_graph.base import Settings
from ace_graph.graph import build_ace_graph
from ace_graph.learning import RetryPolicy, build_worker, learning_resources, process_item
from ace_graph.memory.stores import Store
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import ask
from tests.memory.stores.neo4j.subject import Neo4jSubject
from tests.plugins.neo4j_server import Neo4jServer

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
RULE = "Make the denominators equal first"
LESSONS = json.dumps({"reasoning": "r", "lessons": [{"content": RULE, "topic": "fraction_addition"}]})

Job = dict[str, object]


class Mortal:
    """Hands every call on to a store; at one of them the process dies."""

    def __init__(self, inner: Store, method: str, when: str, spared: int = 0) -> None:
        self._inner, self._method, self._when, self._spared = inner, method, when, spared

    def __getattr__(self, name: str) -> object:
        found = getattr(self._inner, name)
        return self._fatal(found) if name == self._method else found

    def _fatal(self, call: Callable[..., Awaitable[object]]) -> Callable[..., Awaitable[object]]:
        async def called(*args: object, **more: object) -> object:
            self._spared -= 1
            if self._spared >= 0:
                return await call(*args, **more)
            if self._when == "before":
                die()
            if self._when == "during":
                threading.Timer(0.001, die).start()
            result = await call(*args, **more)
            die()
            return result

        return called


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def opened(job: Job) -> Store:
    """The store that a job names."""
    if "path" in job:
        return SQLiteStore(Path(str(job["path"])))
    return Neo4jSubject(Neo4jServer(**cast("dict[str, str]", job["server"]))).open()  # type: ignore[arg-type]


async def take_turn(store: Store, learner: str, question: str = "What is 1/2 + 1/3?") -> object:
    """One turn that leaves its learning to a worker."""
    graph = build_ace_graph(
        model=ScriptedModel(solver=["<final>5/6</final>"]),
        store=store,
        settings=Settings(),
        learning="background",
        clock=lambda: NOON,
    )
    return await graph.ainvoke(ask(question), context=ACEContext(learner_id=learner, reflect_when="always"))


async def teach(store: Store, learner: str, reply: str = LESSONS) -> object:
    """One turn that learns at once, for the playbook of ada's that has the learner's name."""
    graph = build_ace_graph(
        model=ScriptedModel(solver=["<final>5/6</final>"], reflector=[reply]),
        store=store,
        settings=Settings(),
        learning="inline",
        clock=lambda: NOON,
    )
    context = ACEContext(learner_id=learner, reflect_when="always", learn_into=f"ada/{learner}")
    return await graph.ainvoke(ask("What is 1/2 + 1/3?"), context=context)


async def work(store: Store, learner: str, minutes: float) -> None:
    """Work on one learner's items until none may be had; others' are in the same database."""
    model, now = ScriptedModel(reflector=[LESSONS] * 10), NOON + timedelta(minutes=minutes)
    resources, own = learning_resources(model=model, store=store, settings=Settings(), clock=lambda: now)
    while (item := await own.claim("w", now, 30, learner)) is not None:
        await process_item(item, own, resources, RetryPolicy())


async def drain(store: Store, minutes: float) -> None:
    """A worker until nothing is left to do for anybody."""
    now = NOON + timedelta(minutes=minutes)
    model = ScriptedModel(reflector=[LESSONS] * 10)
    await build_worker(model=model, store=store, settings=Settings(), clock=lambda: now).drain()


async def main(job: Job) -> None:
    store = cast(
        "Store", Mortal(opened(job), str(job["method"]), str(job["when"]), int(str(job.get("spared", 0))))
    )
    if job["what"] == "everything":
        await drain(opened(job), float(str(job["minutes"])))
    elif job["what"] == "into":
        await teach(store, str(job["learner"]))
    elif job["what"] == "turn":
        await take_turn(store, str(job["learner"]))
    else:
        await work(store, str(job["learner"]), float(str(job["minutes"])))


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
