"""Forget with concurrent writers: the learner is deleted as a whole, and later commits start a new epoch."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress

import pytest

from ace_graph.base import LearnerForgotten
from ace_graph.learning import hides
from ace_graph.memory.stores import Store
from ace_graph.testing import check
from ace_graph.testing.conformance import adding, record, write
from tests.memory.stores.neo4j.subject import Neo4jSubject
from tests.plugins.neo4j_server import Neo4jServer


@pytest.mark.slow
@pytest.mark.heavy
async def test_forget_with_concurrent_writers_leaves_all_or_nothing(neo4j: Neo4jServer, learner: str) -> None:
    subject = Neo4jSubject(neo4j)
    async with AsyncExitStack() as opened:
        stores = [await opened.enter_async_context(subject.open()) for _ in range(5)]
        await write(stores[0], learner, adding("Draw a bar"), record())
        writing = asyncio.gather(*(_write_often(store, learner, n) for n, store in enumerate(stores[1:])))
        forgotten = [await stores[0].forget(learner) for _ in range(3)]
        await writing
        assert forgotten[0] is True
        assert await check(stores[0], learner) == []
        await stores[0].draw(learner, hides)
        await stores[0].forget(learner)
    left = await subject.cypher(
        "MATCH (n) WHERE n.user_id = $uid OR n.id = $uid RETURN labels(n)", uid=learner
    )
    assert left == []


async def _write_often(store: Store, learner: str, number: int) -> None:
    for n in range(6):
        fact = 10 * number + n
        with suppress(LearnerForgotten):
            await write(store, learner, adding(f"Fact {fact} is about {fact * 7}"), record(fact))
