"""Specifies opening and closing."""

from __future__ import annotations

import asyncio

from ace_graph.memory.policy import Policy
from ace_graph.testing.conformance.case import StoreUnderTest
from ace_graph.testing.conformance.writing import adding, contents, new_learner, write


async def it_is_a_store_with_a_name(subject: StoreUnderTest) -> None:
    """It has a name that log lines can print."""
    store = subject.open()
    assert store.name.strip() == store.name != ""
    await store.close()


async def it_has_the_policy_it_was_given(subject: StoreUnderTest) -> None:
    """Its policy is the one it was opened with, the default where none was given."""
    async with subject.open(Policy(max_bullets=7)) as store, subject.open() as other:
        assert store.policy == Policy(max_bullets=7)
        assert other.policy == Policy()


async def entering_gives_the_store(subject: StoreUnderTest) -> None:
    """`async with` gives the store itself."""
    store = subject.open()
    async with store as entered:
        assert entered is store


async def closing_twice_is_fine(subject: StoreUnderTest) -> None:
    """Closing a store that is closed, or was never used, does nothing."""
    store = subject.open()
    await store.close()
    await write(store, new_learner(), adding("Draw a bar"))
    await store.close()
    await store.close()


async def a_call_after_close_opens_it_again(subject: StoreUnderTest) -> None:
    """A store that was closed goes on at the next call, with everything that was committed."""
    learner = new_learner()
    store = subject.open()
    await write(store, learner, adding("Draw a bar"))
    await store.close()
    await write(store, learner, adding("Name the unit"))
    assert contents(await store.load(learner)) == ["Draw a bar", "Name the unit"]
    await store.close()


async def a_cancelled_commit_can_be_made_again(subject: StoreUnderTest) -> None:
    """A commit that was cancelled has happened or not; made again it has happened once."""
    learner, delta = new_learner(), adding("Draw a bar")
    async with subject.open() as store:
        base = await store.load(learner)
        running = asyncio.create_task(store.commit(learner, delta, base))
        await asyncio.sleep(0)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await store.commit(learner, delta, base)
        loaded = await store.load(learner)
    assert contents(loaded) == ["Draw a bar"]
    assert loaded.access.access_clock == 1
