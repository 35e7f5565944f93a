"""The projection of bullets as nodes."""

from __future__ import annotations

import pytest

from ace_graph.memory import Bullet, Stated, content_hash
from ace_graph.memory.delta import Add, Remove, Reset
from ace_graph.memory.stores.neo4j import project
from ace_graph.testing.conformance import NOON, adding, new_learner, record, rewriting, write
from tests.memory.stores.neo4j.subject import Neo4jSubject, Rows
from tests.plugins.neo4j_server import Neo4jServer


@pytest.fixture
def subject(neo4j: Neo4jServer) -> Neo4jSubject:
    return Neo4jSubject(neo4j)


async def _drawn(subject: Neo4jSubject, learner: str) -> Rows:
    rows = await subject.cypher(
        "MATCH (:AceMemoryState {user_id: $uid})-[:HAS_BULLET]->(b:AceBullet) "
        "RETURN properties(b) AS b ORDER BY b.id",
        uid=learner,
    )
    return [row["b"] for row in rows]


async def test_every_bullet_is_a_node_with_its_fields(subject: Neo4jSubject, learner: str) -> None:
    async with subject.open() as store:
        await write(store, learner, adding("Draw a bar", "Name the unit"))
        assert await project(store, learner) == 2
        (bar, _) = (await store.load(learner)).playbook.bullets()
    node = (await _drawn(subject, learner))[0]
    assert (node["id"], node["content"], node["section"]) == (bar.id, "Draw a bar", bar.section)
    assert (node["user_id"], node["hash"]) == (learner, content_hash("draw a bar"))
    assert node["created_at"].to_native() == bar.created_at


async def test_a_bullet_is_connected_with_its_trajectories(subject: Neo4jSubject, learner: str) -> None:
    stated = Stated(confidence=0.9, count=5, at=NOON)
    async with subject.open() as store:
        for n in (1, 2):
            lesson = Add(content="Draw a bar", examples=(f"t{n}",), stated=stated, context="With fractions")
            await write(store, learner, rewriting(lesson), record(n, turn_id=f"t{n}"))
        for _ in range(2):
            await project(store, learner)
        rows = await subject.cypher(
            "MATCH (b:AceBullet {user_id: $uid})-[:LEARNED_FROM]->(t:AceTurn) "
            "RETURN b.context AS context, b.stated_confidence AS stated, t.turn_id AS turn ORDER BY turn",
            uid=learner,
        )
        assert [(row["context"], row["stated"], row["turn"]) for row in rows] == [
            ("With fractions", 0.9, "t1"),
            ("With fractions", 0.9, "t2"),
        ]
        assert await store.forget(learner)
    assert await _drawn(subject, learner) == []


async def test_a_second_projection_replaces_the_first(subject: Neo4jSubject, learner: str) -> None:
    async with subject.open() as store:
        (bar,) = (await write(store, learner, adding("Draw a bar"))).report.added
        await project(store, learner)
        await write(store, learner, rewriting(Remove(bullet_id=bar)))
        await write(store, learner, adding("Name the unit", "Estimate first"))
        assert await project(store, learner) == 2
        assert await project(store, learner) == 2
    assert [node["content"] for node in await _drawn(subject, learner)] == ["Name the unit", "Estimate first"]


async def test_an_emptied_playbook_has_no_nodes_left(subject: Neo4jSubject, learner: str) -> None:
    async with subject.open() as store:
        await write(store, learner, adding("Draw a bar"))
        await project(store, learner)
        await write(store, learner, rewriting(Reset()))
        assert await project(store, learner) == 0
    assert await _drawn(subject, learner) == []


async def test_two_learners_may_hold_one_text(subject: Neo4jSubject) -> None:
    one, two = new_learner(), new_learner()
    async with subject.open() as store:
        for learner in (one, two):
            await write(store, learner, adding("Draw a bar"))
            assert await project(store, learner) == 1
    hashes = [(await _drawn(subject, learner))[0]["hash"] for learner in (one, two)]
    assert hashes[0] == hashes[1]


async def test_one_text_in_two_bullets_is_two_nodes(subject: Neo4jSubject, learner: str) -> None:
    twins = tuple(
        Bullet(id=f"fra-0000{n}", section="fractions", content="Draw a bar", topic=f"topic {n}")
        for n in (1, 2)
    )
    async with subject.open() as store:
        await write(store, learner, rewriting(Reset(bullets=twins)))
        assert await project(store, learner) == 2
    assert len({node["hash_key"] for node in await _drawn(subject, learner)}) == 2


async def test_an_absent_learner_has_no_projection(subject: Neo4jSubject, learner: str) -> None:
    async with subject.open() as store:
        assert await project(store, learner) == 0
    rows = await subject.cypher("MATCH (n {user_id: $uid}) RETURN count(n) AS nodes", uid=learner)
    assert rows == [{"nodes": 0}]
