"""Specifies `forget`: everything is deleted, and no late commit brings a learner back."""

from __future__ import annotations

import asyncio

from ace_graph.base.errors import LearnerForgotten
from ace_graph.memory.commit import Commit, History
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.store import KeyedStore
from ace_graph.testing.conformance.case import StoreUnderTest
from ace_graph.testing.conformance.writing import adding, contents, new_learner, record, touching, write


async def _refused(store: KeyedStore, learner: str, delta: Delta, base: Snapshot) -> bool:
    try:
        await store.commit(learner, delta, base)
    except LearnerForgotten:
        return True
    return False


async def nothing_stays(subject: StoreUnderTest) -> None:
    """After forget there is no state, no history and no turn; forgetting again finds nothing."""
    learner = new_learner()
    async with subject.open() as store:
        await write(store, learner, adding("Draw a bar"), record())
        assert await store.forget(learner) is True
        assert await store.load(learner) == Snapshot()
        assert await store.history(learner) == History(0, Playbook(), ())
        assert await store.turns(learner) == ()
        assert await store.forget(learner) is False


async def a_late_commit_is_refused(subject: StoreUnderTest) -> None:
    """A commit whose base was loaded before is LearnerForgotten, on every store, and creates nothing."""
    learner = new_learner()
    async with subject.open() as one, subject.open() as two:
        base = (await write(one, learner, adding("Draw a bar"))).snapshot
        await two.forget(learner)
        for store in (one, two):
            for delta in (adding("Name the unit"), touching()):
                assert await _refused(store, learner, delta, base)
        assert (await one.load(learner)).absent


async def a_late_commit_does_not_reach_the_next_life(subject: StoreUnderTest) -> None:
    """When the learner was created again meanwhile, a commit from the earlier epoch is still refused."""
    learner = new_learner()
    async with subject.open() as one, subject.open() as two:
        base = (await write(one, learner, adding("Draw a bar"))).snapshot
        await two.forget(learner)
        await write(two, learner, adding("Name the unit"))
        assert await _refused(one, learner, adding("Estimate first"), base)
        assert contents(await one.load(learner)) == ["Name the unit"]


async def an_absent_base_starts_a_new_life(subject: StoreUnderTest) -> None:
    """A commit on a base loaded after forget creates the learner again: another epoch, version 1, clock 1."""
    learner = new_learner()
    async with subject.open() as store:
        before = await write(store, learner, adding("Draw a bar"))
        await store.forget(learner)
        after = await write(store, learner, adding("Name the unit"))
    assert after.version.epoch != before.version.epoch
    assert (after.version.n, after.snapshot.access.access_clock) == (1, 1)
    assert contents(after.snapshot) == ["Name the unit"]


async def a_new_life_begins_while_the_old_one_ends(subject: StoreUnderTest) -> None:
    """A first commit that waits for commits of a learner who is being forgotten is accepted."""
    learner = new_learner()
    async with subject.open() as store:
        base = (await write(store, learner, adding("Draw a bar"))).snapshot
        _, forgotten, born = await asyncio.gather(
            store.commit(learner, adding("Estimate first"), base),
            store.forget(learner),
            store.commit(learner, adding("Name the unit"), Snapshot()),
            return_exceptions=True,
        )
        assert forgotten is True
        assert isinstance(born, Commit)
        assert set(contents(await store.load(learner))) <= {"Name the unit"}


async def op_ids_are_forgotten_too(subject: StoreUnderTest) -> None:
    """An op id of the earlier epoch is applied in the next one."""
    learner, delta = new_learner(), adding("Draw a bar")
    async with subject.open() as store:
        await write(store, learner, delta, record())
        await store.forget(learner)
        assert (await write(store, learner, delta)).status == "applied"
        assert contents(await store.load(learner)) == ["Draw a bar"]


async def others_are_not_touched(subject: StoreUnderTest) -> None:
    """Forgetting one learner leaves another one as it was, also one whose id begins the same."""
    learner = new_learner()
    other = f"{learner}-2"
    async with subject.open() as store:
        await write(store, learner, adding("Draw a bar"), record())
        kept = await write(store, other, adding("Name the unit"), record())
        await store.forget(learner)
        loaded = await store.load(other)
        assert loaded.version == kept.version
        assert contents(loaded) == ["Name the unit"]
        assert len(await store.turns(other)) == 1
        assert len((await store.history(other)).entries) == 1
