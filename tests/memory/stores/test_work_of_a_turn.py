"""What a turn asks of each store, in exact numbers: statements, transactions, round trips and bytes.

A turn loads the memory that it knows, and commits: its record, and what it learned, if anything. A number
that grows here is work that every turn of every learner does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from ace_graph.memory import Snapshot
from ace_graph.memory.delta import Add, Delta
from ace_graph.testing.conformance import MeteredSubject, adding, new_learner, record, rewriting, touching
from tests.memory.stores.neo4j.counting_proxy import counted
from tests.memory.stores.neo4j.subject import Neo4jSubject
from tests.memory.stores.postgres.subject import PostgresSubject
from tests.memory.stores.stores_under_test import SQLiteSubject
from tests.plugins.neo4j_server import Neo4jServer

_FRAME, _HEADER = 4_096 + 24, 32


class Work(NamedTuple):
    """What a call asked of its store; `trips` are round trips to a server, transactions of SQLite."""

    statements: int
    trips: int
    read: int
    written: int


async def _turns(
    subject: MeteredSubject, trips: Callable[[], int], reset: Callable[[], None] = lambda: None
) -> dict[str, Work]:
    """The work of a load, of a commit that learned nothing, and of one that adds a bullet."""
    learner, found = new_learner(), dict[str, Work]()
    async with subject.open() as store:
        texts = [f"Fact {n} is about {n * 7}" for n in range(40)]
        base = (await store.commit(learner, adding(*texts), Snapshot(), record(0))).snapshot
        ids = tuple(bullet.id for bullet in base.playbook.bullets())[:5]
        base = (await store.commit(learner, touching(*ids), base, record(1))).snapshot
        await store.load(learner, base)  # the first read of a process opens its connection

        async def measure(name: str, job: Callable[[], Awaitable[Snapshot]]) -> Snapshot:
            done = Snapshot()

            async def measured() -> None:
                nonlocal done
                done = await job()

            reset()
            traffic = await subject.measured(measured)
            found[name] = Work(traffic.statements, trips(), traffic.read, traffic.written)
            return done

        async def commit(delta: Delta, base: Snapshot, number: int) -> Snapshot:
            return (await store.commit(learner, delta, base, record(number))).snapshot

        base = await measure("load", lambda: store.load(learner, base))
        base = await measure("nothing learned", lambda: commit(touching(*ids), base, 2))
        await measure("one added", lambda: commit(rewriting(Add(content="Name the unit")), base, 3))
    return found


async def test_sqlite_writes_a_turn_in_one_transaction(tmp_path: Path) -> None:
    path = tmp_path / "ace.db"

    def transactions() -> int:
        """Frames of the write-ahead log that end a transaction: they name the size of the database."""
        log = path.with_name("ace.db-wal").read_bytes()[_HEADER:]
        return sum(any(log[at + 4 : at + 8]) for at in range(0, len(log), _FRAME))

    assert await _turns(SQLiteSubject(path), transactions) == {
        "load": Work(1, 0, 494, 0),
        "nothing learned": Work(5, 1, 368, 61_832),
        "one added": Work(6, 1, 368, 65_952),
    }


async def test_postgresql_answers_a_load_and_a_commit_in_one_round_trip_each(postgres: str) -> None:
    async with counted(postgres) as traffic:
        found = await _turns(PostgresSubject(traffic.uri), lambda: traffic.round_trips, traffic.reset)
    assert found == {
        "load": Work(1, 1, 494, 0),
        "nothing learned": Work(1, 1, 8, 2_312),
        "one added": Work(1, 1, 8, 3_884),
    }


async def test_neo4j_takes_two_round_trips_for_a_turn(neo4j: Neo4jServer) -> None:
    async with counted(neo4j.uri) as traffic:
        through = Neo4jSubject(replace(neo4j, uri=traffic.uri))
        found = await _turns(through, lambda: traffic.round_trips, traffic.reset)
    assert found == {
        "load": Work(1, 1, 706, 203),
        "nothing learned": Work(1, 1, 17, 3_527),
        "one added": Work(1, 1, 17, 5_675),
    }
