"""A turn costs one round trip to load and one to commit, and unchanged content is never sent."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace

from ace_graph.memory import Snapshot
from ace_graph.memory.stores import Store
from ace_graph.testing.conformance import adding, record, touching, write
from tests.memory.stores.neo4j.counting_proxy import counted
from tests.memory.stores.neo4j.subject import Neo4jSubject
from tests.plugins.neo4j_server import Neo4jServer


async def test_a_load_and_a_commit_are_one_round_trip_each(neo4j: Neo4jServer, learner: str) -> None:
    async with counted(neo4j.uri) as traffic, _through(neo4j, traffic.uri).open() as store:
        await store.load(learner)
        traffic.reset()
        base = await store.load(learner)
        assert traffic.round_trips == 1
        for delta in (adding("Draw a bar"), touching(), adding("Name the unit")):
            traffic.reset()
            base = (await store.commit(learner, delta, base, record())).snapshot
            assert traffic.round_trips == 1
        traffic.reset()
        await store.load(learner, base)
        assert traffic.round_trips == 1


async def test_content_that_is_known_is_not_sent(neo4j: Neo4jServer, learner: str) -> None:
    facts = [f"Fact {n} is about {n * 7}, at the length of a real lesson in words" for n in range(200)]
    async with counted(neo4j.uri) as traffic, _through(neo4j, traffic.uri).open() as store:
        known = (await store.commit(learner, adding(*facts), Snapshot())).snapshot
        traffic.reset()
        assert len((await store.load(learner)).playbook) == 200
        assert traffic.from_server > 20_000
        traffic.reset()
        await store.load(learner, known)
        await store.commit(learner, touching(), known, record())
        assert traffic.from_server < 20_000
        assert traffic.to_server < 20_000


async def test_a_conflict_ends_in_one_more_transaction(neo4j: Neo4jServer, learner: str) -> None:
    async with (
        counted(neo4j.uri) as traffic,
        _through(neo4j, traffic.uri).open() as store,
        Neo4jSubject(neo4j).open() as other,
    ):
        base = (await write(store, learner, adding("Draw a bar"))).snapshot
        await write(other, learner, adding("Name the unit"))
        traffic.reset()
        await store.commit(learner, adding("Estimate first"), base)
        assert traffic.round_trips == 5  # the try; begin, lock and read, write, commit
        assert len((await other.load(learner)).playbook) == 3


async def test_writers_of_one_process_never_conflict_in_the_database(
    neo4j: Neo4jServer, learner: str
) -> None:
    writers = 20
    async with counted(neo4j.uri) as traffic, _through(neo4j, traffic.uri).open() as store:
        base = (await write(store, learner, adding("Draw a bar"))).snapshot
        traffic.reset()
        await asyncio.gather(
            *(store.commit(learner, adding(f"Fact {n} is about {n * 7}"), base) for n in range(writers))
        )
        assert traffic.round_trips == writers


async def test_writers_of_many_processes_never_deadlock(neo4j: Neo4jServer, learner: str) -> None:
    async with counted(neo4j.uri) as traffic, AsyncExitStack() as opened:
        stores = [await opened.enter_async_context(_through(neo4j, traffic.uri).open()) for _ in range(8)]
        await write(stores[0], learner, adding("Draw a bar"))
        await asyncio.gather(*(_write_often(store, learner, n) for n, store in enumerate(stores)))
        loaded = await stores[0].load(learner)
    assert len(loaded.playbook) == 1 + 8 * 5
    assert traffic.transient == 0


async def _write_often(store: Store, learner: str, number: int) -> None:
    for n in range(5):
        fact = 10 * number + n
        await write(store, learner, adding(f"Fact {fact} is about {fact * 7}"), record(fact))


def _through(server: Neo4jServer, uri: str) -> Neo4jSubject:
    return Neo4jSubject(replace(server, uri=uri))
