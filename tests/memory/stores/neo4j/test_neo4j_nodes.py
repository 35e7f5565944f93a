"""The nodes in the database after turns: one state per learner, its history and its turns."""

from __future__ import annotations

import asyncio
import json
from uuid import UUID

import pytest

from ace_graph.memory import Policy, Snapshot
from ace_graph.memory.delta import Reset
from ace_graph.testing.conformance import NOON, adding, contents, record, rewriting, touching, write
from tests.memory.stores.neo4j.subject import Neo4jSubject
from tests.plugins.neo4j_server import Neo4jServer

_STATE = "MATCH (m:AceMemoryState {user_id: $uid}) RETURN properties(m) AS m"


@pytest.fixture
def subject(neo4j: Neo4jServer) -> Neo4jSubject:
    return Neo4jSubject(neo4j)


async def test_two_turns_leave_one_user_with_one_state(subject: Neo4jSubject, learner: str) -> None:
    async with subject.open() as store:
        await write(store, learner, adding("Draw a bar"), record(1))
        await write(store, learner, touching(), record(2))
    rows = await subject.cypher(
        "MATCH (u:User {id: $uid})-[r:HAS_ACE_MEMORY]->(m:AceMemoryState) "
        "RETURN count(r) AS relations, count(DISTINCT u) AS users, count(DISTINCT m) AS states",
        uid=learner,
    )
    assert rows == [{"relations": 1, "users": 1, "states": 1}]


async def test_a_first_commit_creates_the_documented_node(subject: Neo4jSubject, learner: str) -> None:
    async with subject.open() as store:
        await store.commit(learner, touching(), Snapshot(), record())
    ((state,),) = [row.values() for row in await subject.cypher(_STATE, uid=learner)]
    assert str(UUID(state["id"])) == state["id"]
    assert state["user_id"] == learner
    assert "memory_json" not in state
    assert json.loads(state["access_json"])["access_clock"] == state["access_clock"] == 1
    assert (state["version"], state["content_base"]) == (0, 0)
    assert state["epoch"]
    assert state["etag"]
    assert state["created_at"].to_native() == state["updated_at"].to_native() == NOON


async def test_a_read_creates_nothing(subject: Neo4jSubject, learner: str) -> None:
    async with subject.open() as store:
        assert (await store.load(learner)).absent
        assert await store.turns(learner) == ()
        await store.history(learner)
        await store.export(learner)
    rows = await subject.cypher(
        "MATCH (n) WHERE n.user_id = $uid OR n.id = $uid RETURN count(n) AS nodes", uid=learner
    )
    assert rows == [{"nodes": 0}]


async def test_24_first_commits_at_once_make_one_state_and_keep_all(
    subject: Neo4jSubject, learner: str
) -> None:
    stores = [subject.open() for _ in range(4)]
    await asyncio.gather(
        *(stores[n % 4].commit(learner, adding(f"Fact {n} is about {n * 7}"), Snapshot()) for n in range(24))
    )
    loaded = await stores[0].load(learner)
    for store in stores:
        await store.close()
    assert contents(loaded) == sorted(f"Fact {n} is about {n * 7}" for n in range(24))
    rows = await subject.cypher(
        "MATCH (n) WHERE n.user_id = $uid OR (n:User AND n.id = $uid) "
        "RETURN labels(n)[0] AS label, count(n) AS nodes ORDER BY label",
        uid=learner,
    )
    assert {row["label"]: row["nodes"] for row in rows} == {
        "AceDelta": 24,
        "AceLock": 1,
        "AceMemoryState": 1,
        "AceTouch": 24,
        "User": 1,
    }


async def test_the_clock_property_is_the_clock_of_the_payload_and_only_rises(
    subject: Neo4jSubject, learner: str
) -> None:
    clocks: list[int] = []
    async with subject.open() as store:
        for n in range(5):
            delta = adding(f"Fact {n} is about {n * 7}") if n % 2 else touching()
            done = await write(store, learner, delta, record(n))
            (row,) = await subject.cypher(_STATE, uid=learner)
            assert row["m"]["access_clock"] == json.loads(row["m"]["access_json"])["access_clock"]
            assert row["m"]["access_clock"] == done.snapshot.access.access_clock
            clocks.append(row["m"]["access_clock"])
    assert clocks == sorted(set(clocks))


async def test_the_content_is_not_written_again(subject: Neo4jSubject, learner: str) -> None:
    async with subject.open() as store:
        snapshot = (await write(store, learner, adding("Draw a bar"))).snapshot
        marked = '{"note": "whoever rewrites the content removes this"}'
        await subject.write_content(learner, marked)
        for n in range(3):
            delta = touching() if n else adding("Name the unit")
            snapshot = (await store.commit(learner, delta, snapshot, record(n))).snapshot
        assert await subject.read_content(learner) == marked
    (row,) = await subject.cypher(_STATE, uid=learner)
    assert (row["m"]["version"], row["m"]["content_base"]) == (2, 1)
    assert row["m"]["access_clock"] == 4


async def test_a_base_is_readable_beside_its_version(subject: Neo4jSubject, learner: str) -> None:
    async with subject.open(Policy(history_kept=2)) as store:
        for n in range(3):
            await write(store, learner, adding(f"Fact {n} is about {n * 7}"))
    (row,) = await subject.cypher(
        "MATCH (:AceMemoryState {user_id: $uid})-[:HAS_BASE]->(b:AceBase) RETURN properties(b) AS b",
        uid=learner,
    )
    assert row["b"]["version"] == 2
    texts = [bullet["content"] for bullet in json.loads(row["b"]["memory_json"])["bullets"]]
    assert texts == ["Fact 0 is about 0", "Fact 1 is about 7"]


async def test_deltas_and_turns_are_linked_to_the_state_with_unique_keys(
    subject: Neo4jSubject, learner: str
) -> None:
    delta, made = adding("Draw a bar"), record()
    async with subject.open() as store:
        await write(store, learner, delta, made)
        await write(store, learner, touching(), record(2))
        await write(store, learner, touching())
    rows = await subject.cypher(
        "MATCH (:AceMemoryState {user_id: $uid})-[r:HAS_DELTA|HAS_TURN]->(n) "
        "RETURN type(r) AS type, properties(n) AS n ORDER BY n.seq, type",
        uid=learner,
    )
    assert [row["type"] for row in rows] == ["HAS_DELTA", "HAS_TURN", "HAS_TURN", "HAS_DELTA"]
    assert all(row["n"]["user_id"] == learner for row in rows)
    first, turn = rows[0]["n"], rows[1]["n"]
    assert first["key"] == turn["key"] == f"{learner}:{delta.op_id}"
    assert (first["version"], first["author"]) == (1, delta.author)
    assert (turn["turn_id"], turn["mode"], turn["status"]) == (made.turn_id, "cot", "success")
    assert (turn["input_tokens"], turn["output_tokens"]) == (120, 40)
    assert turn["completed_at"].to_native() == made.completed_at


async def test_a_clear_keeps_the_order_of_the_turns(subject: Neo4jSubject, learner: str) -> None:
    made = [record(n) for n in range(4)]
    async with subject.open() as store:
        for n, item in enumerate(made):
            await write(store, learner, rewriting(Reset()) if n == 1 else touching(), item)
        assert await store.turns(learner) == tuple(reversed(made))


async def test_old_effects_become_one_base_and_their_keys_stay(subject: Neo4jSubject, learner: str) -> None:
    async with subject.open(Policy(history_kept=2)) as store:
        for n in range(9):
            await write(store, learner, adding(f"Fact {n} is about {n * 7}"))
        base = (await store.history(learner)).base_n
    rows = await subject.cypher(
        "MATCH (m:AceMemoryState {user_id: $uid})-[:HAS_BASE]->(b:AceBase) "
        "RETURN b.version AS version ORDER BY version",
        uid=learner,
    )
    assert [row["version"] for row in rows] == [base, base + 2]
    rows = await subject.cypher(
        "MATCH (d:AceDelta {user_id: $uid}) "
        "RETURN d.key IS NOT NULL AS key, d.effect_json IS NULL AS dropped ORDER BY d.version",
        uid=learner,
    )
    assert [row["dropped"] for row in rows] == [n <= base for n in range(1, 10)]
    assert all(row["key"] for row in rows)
