"""Specifies `load`."""

from __future__ import annotations

from ace_graph.memory.serialization import dump_access, dump_playbook
from ace_graph.memory.snapshot import Snapshot
from ace_graph.testing.conformance.case import StoreUnderTest
from ace_graph.testing.conformance.writing import adding, contents, new_learner, record, touching, write


async def absent_learner_is_empty(subject: StoreUnderTest) -> None:
    """A learner of whom nothing is stored has an empty playbook, clock 0 and no epoch."""
    async with subject.open() as store:
        snapshot = await store.load(new_learner())
    assert snapshot == Snapshot()
    assert snapshot.absent


async def a_load_creates_nothing(subject: StoreUnderTest) -> None:
    """Loading an absent learner, even twice, stores nothing that could be forgotten."""
    learner = new_learner()
    async with subject.open() as store:
        await store.load(learner)
        assert (await store.load(learner)).absent
        assert not await store.forget(learner)


async def what_was_committed_is_loaded(subject: StoreUnderTest) -> None:
    """A load gives the content, the access part and the version that the commit returned, byte for byte."""
    learner = new_learner()
    async with subject.open() as store:
        committed = (await write(store, learner, adding("Draw a bar", "Name the unit"), record())).snapshot
        loaded = await store.load(learner)
    assert dump_playbook(loaded.playbook) == dump_playbook(committed.playbook)
    assert dump_access(loaded.access) == dump_access(committed.access)
    assert loaded.version == committed.version


async def another_store_sees_it(subject: StoreUnderTest) -> None:
    """What one store committed, another one on the same database loads (C90)."""
    learner = new_learner()
    async with subject.open() as writer, subject.open() as reader:
        assert (await reader.load(learner)).absent
        written = await write(writer, learner, adding("Draw a bar"))
        seen = await reader.load(learner)
    assert contents(seen) == ["Draw a bar"]
    assert seen.version == written.version


async def it_outlives_the_store(subject: StoreUnderTest) -> None:
    """What was committed is there after the store was closed and opened again."""
    learner = new_learner()
    async with subject.open() as store:
        before = (await write(store, learner, adding("Draw a bar"))).snapshot
    async with subject.open() as store:
        after = await store.load(learner)
    assert dump_playbook(after.playbook) == dump_playbook(before.playbook)
    assert after.version == before.version


async def known_content_is_used_again(subject: StoreUnderTest) -> None:
    """With `known`, unchanged content is the very same object, and the access part is the newest."""
    learner = new_learner()
    async with subject.open() as store, subject.open() as other:
        await write(store, learner, adding("Draw a bar"))
        known = await store.load(learner)
        await write(other, learner, touching(), record())
        loaded = await store.load(learner, known)
    assert loaded.playbook is known.playbook
    assert loaded.access.access_clock == known.access.access_clock + 1
    assert len(loaded.access.recent_turns) == 1


async def changed_content_is_read_anew(subject: StoreUnderTest) -> None:
    """With `known`, content that another writer changed since is read."""
    learner = new_learner()
    async with subject.open() as store, subject.open() as other:
        await write(store, learner, adding("Draw a bar"))
        known = await store.load(learner)
        newer = await write(other, learner, adding("Name the unit"))
        loaded = await store.load(learner, known)
    assert contents(loaded) == ["Draw a bar", "Name the unit"]
    assert loaded.version == newer.version


async def known_of_nothing_is_no_obstacle(subject: StoreUnderTest) -> None:
    """With a `known` from before the learner existed, the learner's content is read."""
    learner = new_learner()
    async with subject.open() as store:
        known = await store.load(learner)
        await write(store, learner, adding("Draw a bar"))
        loaded = await store.load(learner, known)
    assert contents(loaded) == ["Draw a bar"]


async def known_of_an_earlier_life_is_not_used(subject: StoreUnderTest) -> None:
    """A `known` from before the learner was forgotten gives nothing of the forgotten memory."""
    learner = new_learner()
    async with subject.open() as store:
        await write(store, learner, adding("Draw a bar"))
        known = await store.load(learner)
        await store.forget(learner)
        assert (await store.load(learner, known)).absent
        await write(store, learner, adding("Name the unit"))
        assert contents(await store.load(learner, known)) == ["Name the unit"]
