"""The Neo4j store with a server that is up but misbehaves."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import LiteralString

import pytest

from ace_graph.base import IncompleteState, StoreUnavailable
from ace_graph.memory import Playbook, Policy, Snapshot
from ace_graph.memory.stores import Store, Timeouts, base_checksum
from ace_graph.memory.stores.neo4j import LOAD, AttachedRow, Reply
from ace_graph.testing import check
from ace_graph.testing.conformance import adding, contents, write
from tests.memory.stores.neo4j.counting_proxy import counted
from tests.memory.stores.neo4j.subject import Neo4jSubject
from tests.plugins.neo4j_server import Neo4jServer
from tests.plugins.neo4j_source import VERSIONS
from tests.plugins.sizes import PATIENT


@pytest.mark.parametrize("scheme", ["bolt", "neo4j"])
async def test_a_missing_database_is_named(neo4j: Neo4jServer, learner: str, scheme: str) -> None:
    uri = neo4j.uri.replace("bolt://", f"{scheme}://")
    async with Neo4jSubject(replace(neo4j, uri=uri, database="missing")).open() as store:
        with pytest.raises(StoreUnavailable, match=r"'missing': check NEO4J_DATABASE"):
            await store.load(learner)


@pytest.mark.parametrize("neo4j", VERSIONS[:1], indirect=True)
async def test_a_server_that_stops_answering_times_out(neo4j: Neo4jServer, learner: str) -> None:
    async with counted(neo4j.uri) as traffic, Neo4jSubject(replace(neo4j, uri=traffic.uri)).open() as store:
        await write(store, learner, adding("Draw a bar"))
        traffic.pause()
        store.backend.timeouts = Timeouts(0.5)
        async with asyncio.timeout(PATIENT):
            with pytest.raises(StoreUnavailable, match="did not answer in time"):
                await store.load(learner)
        traffic.resume()
        store.backend.timeouts = Timeouts(PATIENT)
        assert contents(await store.load(learner)) == ["Draw a bar"]


async def test_a_read_of_several_commits_is_repeated_under_the_lock(neo4j: Neo4jServer, learner: str) -> None:
    """Readers take no lock: one may get the state of one commit and the effects of another."""
    subject = Neo4jSubject(neo4j)
    async with subject.open() as store, counted(neo4j.uri) as traffic:
        known = (await write(store, learner, adding("Draw a bar"))).snapshot
        written = (await write(store, learner, adding("Name the unit"))).snapshot
        torn = {"epoch": known.version.epoch, "n": 1, "etag": "x", "clock": 1, "mark": known.access.mark}
        (row,) = await subject.cypher(LOAD, uid=learner, known=torn)
        reply = Reply.model_validate(row)
        assert reply.parts is not None
        without = reply.model_copy(update={"parts": reply.parts.model_copy(update={"effects": ()})})
        with pytest.raises(IncompleteState):
            without.snapshot(known)
        lost = Snapshot(known.playbook, known.access, known.version._replace(etag="of another history"))
        async with Neo4jSubject(replace(neo4j, uri=traffic.uri)).open() as reader:
            await reader.load(learner, written)
            traffic.reset()
            assert await reader.load(learner, lost) == written
            assert traffic.round_trips > 1


_DAMAGES: dict[str, LiteralString] = {
    "a missing effect": "MATCH (d:AceDelta {user_id: $uid, version: 2}) DETACH DELETE d",
    "a base that is newer": "MATCH (m:AceMemoryState {user_id: $uid}) SET m.content_base = 9",
    "an effect of another history": "MATCH (d:AceDelta {user_id: $uid, version: 2}) SET d.etag = 'x'",
    "missing touches": "MATCH (t:AceTouch {user_id: $uid, clock: 2}) DETACH DELETE t",
}


@pytest.mark.parametrize("damage", _DAMAGES)
async def test_an_incomplete_state_is_an_error_that_a_fold_does_not_hide(
    neo4j: Neo4jServer, learner: str, damage: str
) -> None:
    subject = Neo4jSubject(neo4j)
    async with subject.open(Policy(history_kept=5)) as store:
        held = Snapshot()
        for n in range(3):
            held = (await write(store, learner, adding(f"Fact {n} is about {n * 7}"))).snapshot
        await subject.cypher(_DAMAGES[damage], uid=learner)
        with pytest.raises(IncompleteState, match="restore the database from a backup"):
            await store.load(learner)
        with pytest.raises(IncompleteState, match="restore the database from a backup"):
            await store.commit(learner, adding("Draw a bar"), Snapshot())
        if damage != "missing touches":
            await store.commit(learner, adding("Draw a bar"), held)
            with pytest.raises(IncompleteState, match="restore the database from a backup"):
                await write_on(store, learner, 3)


async def write_on(store: Store, learner: str, commits: int) -> None:
    """Commit from what the store holds, until a fold is due."""
    known = None
    for n in range(commits):
        known = (await store.commit(learner, adding(f"Rule {n} says {n * 3}"), known or Snapshot())).snapshot


async def test_a_damaged_base_is_an_error(neo4j: Neo4jServer, learner: str) -> None:
    subject = Neo4jSubject(neo4j)
    async with subject.open(Policy(history_kept=1)) as store:
        await write(store, learner, adding("Draw a bar"))
        await subject.cypher(
            "MATCH (b:AceBase {user_id: $uid}) SET b.memory_json = b.memory_json + ' '", uid=learner
        )
        with pytest.raises(IncompleteState, match="is damaged"):
            await store.load(learner)


async def test_a_fold_is_part_of_its_commit(neo4j: Neo4jServer, learner: str) -> None:
    subject = Neo4jSubject(neo4j)
    async with subject.open(Policy(history_kept=1)) as store:
        await write(store, learner, adding("Draw a bar"))
        assert '"Draw a bar"' in (await subject.read_content(learner) or "")
        done = (await write(store, learner, adding("Name the unit"))).snapshot
        assert '"Name the unit"' in (await subject.read_content(learner) or "")
        assert await store.load(learner) == done
        assert await check(store, learner) == []


def test_a_playbook_read_beside_a_writer_is_seen_by_its_chain() -> None:
    base = [1, "a", base_checksum(1, "a", "{}"), "{}"]
    row = {"playbook_id": "p", "name": "maths", "epoch": "e", "version": 1, "etag": "a", "place": 0}
    read = {**row, "major": 1, "minor": 0, "content_base": 1, "owner": "ada", "grants": ()}
    parts = {"base": base, "effects": []}
    assert AttachedRow.model_validate({**read, "parts": parts}).attached().playbook == Playbook()
    assert AttachedRow.model_validate({**read, "parts": None}).attached().playbook is None
    for torn in ({**read, "etag": "b"}, {**read, "version": 2}):
        with pytest.raises(IncompleteState):
            AttachedRow.model_validate({**torn, "parts": parts}).attached()
