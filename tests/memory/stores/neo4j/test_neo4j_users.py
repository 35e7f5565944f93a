"""The host application's nodes are left as they are; nodes of this project are deleted by `forget`."""

from __future__ import annotations

import pytest

from ace_graph.learning import hides
from ace_graph.memory import Snapshot
from ace_graph.testing.conformance import adding, record, write
from tests.memory.stores.neo4j.subject import Neo4jSubject, Rows
from tests.plugins.neo4j_server import Neo4jServer


@pytest.fixture
def subject(neo4j: Neo4jServer) -> Neo4jSubject:
    return Neo4jSubject(neo4j)


async def _user(subject: Neo4jSubject, learner: str) -> Rows:
    return await subject.cypher(
        "MATCH (u:User {id: $uid}) OPTIONAL MATCH (u)-[r]->() "
        "RETURN elementId(u) AS node, labels(u) AS labels, properties(u) AS properties, "
        "collect(type(r)) AS relations",
        uid=learner,
    )


async def test_a_user_of_the_host_is_used_and_left_as_it_was(subject: Neo4jSubject, learner: str) -> None:
    await subject.cypher(
        "CREATE (:User:Pupil {id: $uid, name: 'Ada'})-[:IN]->(:HostClass {user_id: $uid})", uid=learner
    )
    before = await _user(subject, learner)
    async with subject.open() as store:
        await write(store, learner, adding("Draw a bar"), record())
        during = await _user(subject, learner)
        await store.forget(learner)
    assert sorted(during[0]["relations"]) == ["HAS_ACE_MEMORY", "IN"]
    assert during[0]["properties"] == before[0]["properties"]
    assert during[0]["labels"] == before[0]["labels"]
    assert await _user(subject, learner) == before


async def test_two_users_of_the_host_with_one_id_still_make_one_state(
    subject: Neo4jSubject, learner: str
) -> None:
    await subject.cypher("CREATE (:User {id: $uid}), (:User {id: $uid})", uid=learner)
    async with subject.open() as store:
        await write(store, learner, adding("Draw a bar"))
        await write(store, learner, adding("Name the unit"))
        assert len((await store.load(learner)).playbook) == 2
        await store.forget(learner)
    assert len(await _user(subject, learner)) == 2


async def test_a_user_created_by_the_store_is_deleted_with_the_learner(
    subject: Neo4jSubject, learner: str
) -> None:
    async with subject.open() as store:
        await write(store, learner, adding("Draw a bar"), record())
        await store.draw(learner, hides)
        assert len(await _user(subject, learner)) == 1
        assert await store.forget(learner)
    left = await subject.cypher("MATCH (n) WHERE n.user_id = $uid OR n.id = $uid RETURN n", uid=learner)
    assert left == []


@pytest.mark.parametrize(
    "addition",
    [
        "MATCH (u:User {id: $uid}) CREATE (u)-[:WROTE]->(:HostEssay {of: $uid})",
        "MATCH (u:User {id: $uid}) CREATE (u)<-[:TEACHES]-(:HostTeacher {of: $uid})",
        "MATCH (u:User {id: $uid}) SET u.name = 'Ada'",
        "MATCH (u:User {id: $uid}) SET u:Pupil",
    ],
    ids=["a relation from it", "a relation to it", "a property", "a label"],
)
async def test_a_user_created_by_the_store_stays_if_the_host_added_to_it(
    subject: Neo4jSubject, learner: str, addition: str
) -> None:
    async with subject.open() as store:
        await write(store, learner, adding("Draw a bar"))
        async with subject.driver() as driver:
            await driver.execute_query(addition, uid=learner)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType] a literal of the list above
        assert await store.forget(learner)
        assert (await store.load(learner)).absent
    assert len(await _user(subject, learner)) == 1


async def test_a_learner_can_come_back_to_the_host_s_user(subject: Neo4jSubject, learner: str) -> None:
    await subject.cypher("CREATE (:User {id: $uid})", uid=learner)
    async with subject.open() as store:
        for _ in range(2):
            await store.commit(learner, adding("Draw a bar"), Snapshot())
            await store.forget(learner)
    (user,) = await _user(subject, learner)
    assert user["properties"] == {"id": learner}


async def test_no_constraint_and_no_index_is_put_on_users(subject: Neo4jSubject, learner: str) -> None:
    async with subject.open() as store:
        await write(store, learner, adding("Draw a bar"))
    for query in ("SHOW CONSTRAINTS YIELD labelsOrTypes AS on", "SHOW INDEXES YIELD labelsOrTypes AS on"):
        async with subject.driver() as driver:
            found = (await driver.execute_query(query, database_=subject.server.database)).records
        assert all("User" not in (row["on"] or []) for row in found)
