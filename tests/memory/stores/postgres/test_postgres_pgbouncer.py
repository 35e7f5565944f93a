"""The PostgreSQL store works through pgbouncer in transaction mode: no session is a connection's own."""

from __future__ import annotations

import asyncio

import pytest

from ace_graph.memory import Policy
from ace_graph.memory.stores.sql import PostgresStore
from ace_graph.testing import check
from ace_graph.testing.conformance import Case, adding, cases, contents, new_learner, write
from tests.memory.stores.large_cases import is_of_many_at_once
from tests.memory.stores.postgres.subject import PostgresSubject
from tests.plugins.heavy import some_heavy
from tests.plugins.sizes import PATIENT


@pytest.mark.parametrize(
    "case", some_heavy(cases("load", "concurrency", "pending"), is_of_many_at_once), ids=str
)
async def test_a_store_behind_pgbouncer_keeps_the_promises(case: Case, pgbouncer: str) -> None:
    await case(PostgresSubject(pgbouncer))


async def test_twenty_writers_share_two_sessions_and_lose_nothing(postgres: str, pgbouncer: str) -> None:
    learner = new_learner()
    stores = [
        PostgresStore(pgbouncer, Policy(max_bullets=500), connections=2, timeout=PATIENT) for _ in range(20)
    ]
    lessons = [f"Fact {number} is about {number * 7}" for number in range(40)]
    await asyncio.gather(
        *(write(store, learner, adding(lesson)) for store, lesson in zip(stores * 2, lessons, strict=True))
    )
    assert contents(await stores[0].load(learner)) == sorted(lessons)
    assert await check(stores[0], learner) == []
    await asyncio.gather(*(store.close() for store in stores))
    left = await PostgresSubject(postgres).sql(
        "SELECT (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'), "
        "(SELECT count(*) FROM pg_class WHERE relpersistence = 't')"
    )
    assert left == [(0, 0)], "neither a lock nor a table outlives its transaction"
