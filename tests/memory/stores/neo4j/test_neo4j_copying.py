"""A memory is written to Neo4j in batches, which nothing finds until all are there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ace_graph.base import StoreError
from ace_graph.memory.stores import WholeMemory
from ace_graph.testing.conformance import adding, record, touching, write
from tests.memory.stores.neo4j.subject import Neo4jSubject
from tests.plugins.neo4j_server import Neo4jServer

_STAGED = "MATCH (n:AceStaged {user_id: $uid}) RETURN count(n) AS staged"


async def _whole(subject: Neo4jSubject, learner: str) -> WholeMemory:
    """A memory with more turns than a batch has."""
    async with subject.open() as store:
        await write(store, learner, adding("Draw a bar"), record(1))
        await write(store, learner, touching(), record(2))
        found = await store.whole(learner)
        await store.forget(learner)
    assert found is not None
    turns = [each._replace(op_id=f"{each.op_id}-{n}") for n in range(150) for each in found.turns]
    return replace(found, turns=tuple(turns))


async def test_a_large_memory_keeps_its_order_and_leaves_nothing(neo4j: Neo4jServer, learner: str) -> None:
    subject = Neo4jSubject(neo4j)
    whole = await _whole(subject, learner)
    async with subject.open() as store:
        assert await store.put_whole(learner, whole)
        assert await store.whole(learner) == whole
        await store.forget(learner)
    assert await subject.cypher(_STAGED, uid=learner) == [{"staged": 0}]


async def test_what_a_killed_copy_left_is_deleted_by_the_next(neo4j: Neo4jServer, learner: str) -> None:
    subject = Neo4jSubject(neo4j)
    whole = await _whole(subject, learner)
    await subject.cypher("CREATE (:AceStaged {user_id: $uid, part: 'turns', key: 'left'})", uid=learner)
    async with subject.open() as store:
        assert (await store.load(learner)).absent
        assert await store.put_whole(learner, whole)
        assert await store.whole(learner) == whole
        await store.forget(learner)
    assert await subject.cypher(_STAGED, uid=learner) == [{"staged": 0}]


async def test_a_copy_that_fails_leaves_nothing(neo4j: Neo4jServer, learner: str) -> None:
    subject = Neo4jSubject(neo4j)
    whole = await _whole(subject, learner)
    twice = replace(whole, turns=(*whole.turns, whole.turns[0]))
    async with subject.open() as store:
        with pytest.raises(StoreError, match="refused"):
            await store.put_whole(learner, twice)
        assert await store.whole(learner) is None
    assert await subject.cypher(_STAGED, uid=learner) == [{"staged": 0}]
