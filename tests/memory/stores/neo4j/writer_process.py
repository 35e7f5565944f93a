"""Processes that write for one learner: `-m tests.memory.stores.neo4j.writer_process JSON`, see `Work`.

Each votes for the bullet that all share and adds a lesson of its own in each of `turns` commits, under op
ids that tell who and which, and says `began N` before and `done N` after each. A patient one makes a
commit again that failed because the server was away. Several are forked from one, which is quicker than
to import everything in each.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import asdict, dataclass

from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_delay, wait_fixed

from ace_graph.base import CommitContention, StoreUnavailable
from ace_graph.memory.delta import Add, Tag
from ace_graph.memory.stores import Store
from ace_graph.memory.stores.neo4j import Neo4jStore
from ace_graph.memory.stores.sql import PostgresStore
from ace_graph.testing.conformance import record, rewriting
from tests.plugins.sizes import PATIENT
from tests.plugins.warm_python import WarmPython, cold_python

__all__ = ["SHARED", "Work", "command", "lesson"]

SHARED = "gen-00001"


@dataclass(frozen=True)
class Work:
    """What `writers` processes, numbered from 0, have to do."""

    uri: str
    learner: str
    writers: int = 1
    turns: int = 4
    username: str | None = None
    password: str | None = None
    patient: bool = False


def command(work: Work, python: WarmPython = cold_python) -> list[str]:
    """Return the command that does the work, with warnings as errors."""
    return python("-W", "error", "-m", "tests.memory.stores.neo4j.writer_process", json.dumps(asdict(work)))


def lesson(writer: int, turn: int) -> str:
    """Return the text that this writer adds in this turn, unlike any other's."""
    return f"Fact {writer * 100 + turn} is about {(writer * 100 + turn) * 7}"


async def write_all(work: Work, writer: int) -> None:
    """Do the work of one process; the store is left open, as a program that just ends leaves it."""
    store = _store(work)
    for turn in range(work.turns):
        say(f"began {turn}")
        await _until_written(store, work, writer, turn)
        say(f"done {turn}")


def _store(work: Work) -> Store:
    if work.uri.startswith("postgresql://"):
        return PostgresStore(work.uri, connections=2, timeout=PATIENT)
    return Neo4jStore(work.uri, username=work.username, password=work.password, timeout=PATIENT)


async def _until_written(store: Store, work: Work, writer: int, turn: int) -> None:
    tries = AsyncRetrying(
        retry=retry_if_exception_type((StoreUnavailable, CommitContention)),
        stop=stop_after_delay(300 if work.patient else 0),
        wait=wait_fixed(0.2),
        reraise=True,
    )
    await tries(_write, store, work.learner, writer, turn)


async def _write(store: Store, learner: str, writer: int, turn: int) -> None:
    delta = rewriting(
        Tag(bullet_id=SHARED, tag="helpful"),
        Add(content=lesson(writer, turn)),
        op_id=f"writer-{writer}-turn-{turn}",
    )
    await store.commit(learner, delta, await store.load(learner), record(turn))


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def write_in_processes(work: Work) -> int:
    """Do the work; return how many of the processes failed."""
    if work.writers == 1:
        asyncio.run(write_all(work, 0))
        return 0
    children: list[int] = []
    for writer in range(work.writers):
        child = os.fork()
        if child == 0:
            asyncio.run(write_all(work, writer))
            sys.exit(0)
        children.append(child)
    return sum(os.waitpid(child, 0)[1] != 0 for child in children)


if __name__ == "__main__":
    sys.exit(write_in_processes(Work(**json.loads(sys.argv[1]))))
