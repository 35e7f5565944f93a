"""The Neo4j store with a server that is up but misbehaves."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from ace_graph.errors import StoreUnavailable
from ace_graph.memory.snapshot import Snapshot, Version
from ace_graph.memory.stores.neo4j.catalogue import AttachedRow
from ace_graph.memory.stores.neo4j.rows import Reply, checksum
from ace_graph.testing.conformance.writing import adding, contents, write
from tests.memory.stores.neo4j.counting_proxy import counted
from tests.memory.stores.neo4j.subject import Neo4jSubject
from tests.plugins.neo4j_server import Neo4jServer
from tests.plugins.neo4j_source import VERSIONS


@pytest.mark.parametrize("scheme", ["bolt", "neo4j"])
async def test_a_missing_database_is_named(neo4j: Neo4jServer, learner: str, scheme: str) -> None:
    uri = neo4j.uri.replace("bolt://", f"{scheme}://")
    async with Neo4jSubject(replace(neo4j, uri=uri, database="missing")).open() as store:
        with pytest.raises(StoreUnavailable, match=r"'missing': check NEO4J_DATABASE"):
            await store.load(learner)


@pytest.mark.parametrize("neo4j", VERSIONS[:1], indirect=True)
async def test_a_server_that_stops_answering_times_out_in_ten_seconds(
    neo4j: Neo4jServer, learner: str
) -> None:
    async with counted(neo4j.uri) as traffic, Neo4jSubject(replace(neo4j, uri=traffic.uri)).open() as store:
        await write(store, learner, adding("Draw a bar"))
        traffic.pause()
        async with asyncio.timeout(10):
            with pytest.raises(StoreUnavailable, match="did not answer in time"):
                await store.load(learner)
        traffic.resume()
        assert contents(await store.load(learner)) == ["Draw a bar"]


async def test_an_inconsistent_read_is_repeated_under_the_lock(neo4j: Neo4jServer, learner: str) -> None:
    subject = Neo4jSubject(neo4j)
    async with subject.open() as store, counted(neo4j.uri) as traffic:
        written = (await write(store, learner, adding("Draw a bar"))).snapshot
        await subject.cypher(
            "MATCH (m:AceMemoryState {user_id: $uid}) SET m.checksum = m.checksum + 1", uid=learner
        )
        async with Neo4jSubject(replace(neo4j, uri=traffic.uri)).open() as reader:
            await reader.load(learner, written)
            traffic.reset()
            loaded = await reader.load(learner)
            assert traffic.round_trips > 1
    assert loaded == written


def test_the_checksum_tells_content_of_another_commit() -> None:
    old, new = '{"next_id":1}', '{"next_id":2}'
    whole = checksum(Version("e", 1, "a"), old)
    for content, etag, n in ((new, "a", 1), (old, "b", 1), (old, "a", 2)):
        assert _reply(content, etag, n, whole).snapshot(Snapshot()) is None
    assert _reply(old, "a", 1, whole).snapshot(Snapshot()) is not None


def test_a_playbook_read_beside_a_writer_is_seen_by_its_checksum() -> None:
    whole = checksum(Version("e", 1, "a"), "{}")
    row = {"playbook_id": "p", "name": "maths", "epoch": "e", "version": 1, "etag": "a", "place": 0}
    read = {**row, "major": 1, "minor": 0, "checksum": whole, "owner": "ada", "grants": ()}
    assert not AttachedRow.model_validate({**read, "memory_json": "{}"}).is_torn
    assert not AttachedRow.model_validate({**read, "memory_json": None}).is_torn
    assert AttachedRow.model_validate({**read, "memory_json": '{"bullets": []}'}).is_torn
    assert AttachedRow.model_validate({**read, "etag": "b", "memory_json": "{}"}).is_torn


def _reply(content: str, etag: str, n: int, whole: int) -> Reply:
    return Reply(
        epoch="e",
        version=n,
        etag=etag,
        checksum=whole,
        access_clock=1,
        access_json="{}",
        base_version=0,
        next_base_version=None,
        memory_json=content,
    )
