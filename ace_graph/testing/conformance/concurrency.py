"""Specifies concurrent writers, where tasks on several stores stand for processes."""

from __future__ import annotations

import asyncio
from threading import Thread

from ace_graph.memory.commit import playbook_at
from ace_graph.memory.delta.operations import Tag
from ace_graph.memory.serialization import dump_playbook
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.store import KeyedStore
from ace_graph.testing.conformance.case import StoreUnderTest
from ace_graph.testing.conformance.writing import (
    adding,
    contents,
    new_learner,
    record,
    rewriting,
    touching,
    write,
)
from ace_graph.testing.invariants import check

_WRITERS = 20


def _fact(number: int) -> str:
    return f"Fact {number} is about {number * 7}"


async def first_commits_make_one_learner(subject: StoreUnderTest) -> None:
    """Twenty first commits at once, on two stores, make one learner and all twenty are kept (C89)."""
    learner = new_learner()
    async with subject.open() as one, subject.open() as two:
        done = await asyncio.gather(
            *((one, two)[n % 2].commit(learner, adding(_fact(n)), Snapshot()) for n in range(_WRITERS))
        )
        loaded = await one.load(learner)
        problems = await check(one, learner)
    assert len({commit.version.epoch for commit in done}) == 1
    assert sorted(commit.version.n for commit in done) == list(range(1, _WRITERS + 1))
    assert contents(loaded) == sorted(map(_fact, range(_WRITERS)))
    assert loaded.access.access_clock == _WRITERS
    assert problems == []


async def writers_on_one_store_lose_nothing(subject: StoreUnderTest) -> None:
    """Twenty turns at once on one store: every lesson and every record once, versions without a gap."""
    learner = new_learner()
    async with subject.open() as store:
        await asyncio.gather(*(write(store, learner, adding(_fact(n)), record(n)) for n in range(_WRITERS)))
        loaded = await store.load(learner)
        turns = await store.turns(learner)
        problems = await check(store, learner)
    assert contents(loaded) == sorted(map(_fact, range(_WRITERS)))
    assert len({turn.turn_id for turn in turns}) == len(turns) == _WRITERS
    assert problems == []


async def writers_on_many_stores_lose_nothing(subject: StoreUnderTest) -> None:
    """Four stores, each with five votes in a row for one bullet: twenty votes, versions without a gap."""
    learner = new_learner()
    async with subject.open() as one, subject.open() as two, subject.open() as three, subject.open() as four:
        (bar,) = (await write(one, learner, adding("Draw a bar"))).report.added
        await asyncio.gather(*(_vote(store, learner, bar, 5) for store in (one, two, three, four)))
        loaded = await two.load(learner)
        problems = await check(three, learner)
    assert loaded.playbook.entries[bar].helpful == _WRITERS
    assert loaded.access.access_clock == 1 + _WRITERS
    assert problems == []


async def _vote(store: KeyedStore, learner: str, bullet_id: str, times: int) -> None:
    for _ in range(times):
        await write(store, learner, rewriting(Tag(bullet_id=bullet_id, tag="helpful")))


async def lessons_and_turns_mix(subject: StoreUnderTest) -> None:
    """Turns that change nothing, in between those that do, cost neither a lesson nor a step of the clock."""
    learner = new_learner()
    async with subject.open() as one, subject.open() as two:
        await asyncio.gather(
            *(write((one, two)[n % 2], learner, adding(_fact(n)), record(n)) for n in range(8)),
            *(write((two, one)[n % 2], learner, touching(), record(20 + n)) for n in range(8)),
        )
        loaded = await one.load(learner)
        problems = await check(one, learner)
    assert (loaded.version.n, loaded.access.access_clock, len(loaded.playbook)) == (8, 16, 8)
    assert problems == []


async def readers_see_committed_states_only(subject: StoreUnderTest) -> None:
    """A load during writes gives the complete state of one version."""
    learner = new_learner()
    async with subject.open() as one, subject.open() as two:
        await write(one, learner, adding("Draw a bar"))
        writing = asyncio.gather(*(write(one, learner, adding(_fact(n))) for n in range(10)))
        seen = [await two.load(learner) for _ in range(10)]
        await writing
        history = await two.history(learner)
    for snapshot in seen:
        then = playbook_at(history, snapshot.version.n)
        assert dump_playbook(snapshot.playbook) == dump_playbook(then)


async def any_loop_and_any_thread_will_do(subject: StoreUnderTest) -> None:
    """One store serves callers on several threads, each with an event loop of its own."""
    learner = new_learner()
    async with subject.open() as store:
        failed: list[BaseException] = []

        def turns(number: int) -> None:
            try:
                for n in range(3):
                    asyncio.run(_one_turn(store, learner, 10 * number + n))
            except BaseException as error:  # raised again, in effect, on the case's own thread
                failed.append(error)

        threads = [Thread(target=turns, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            await asyncio.to_thread(thread.join)
        assert failed == []
        assert len((await store.load(learner)).playbook) == 12
        assert await check(store, learner) == []


async def _one_turn(store: KeyedStore, learner: str, number: int) -> None:
    await write(store, learner, adding(_fact(number)), record(number))
