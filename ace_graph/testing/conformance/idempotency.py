"""Specifies op ids: a delta is applied once per learner, however often it is committed."""

from __future__ import annotations

import asyncio

from ace_graph.memory.serialization import dump_playbook
from ace_graph.memory.snapshot import Snapshot
from ace_graph.testing.conformance.case import StoreUnderTest
from ace_graph.testing.conformance.writing import adding, contents, new_learner, record, touching, write


async def a_repeated_commit_changes_nothing(subject: StoreUnderTest) -> None:
    """The same op id again is `repeated`: the first report, no new version, the clock where it was."""
    learner, delta = new_learner(), adding("Draw a bar")
    async with subject.open() as store:
        first = await store.commit(learner, delta, Snapshot())
        again = await store.commit(learner, delta, Snapshot())
        loaded = await store.load(learner)
    assert (first.status, again.status) == ("applied", "repeated")
    assert again.report == first.report
    assert again.version == first.version == loaded.version
    assert loaded.access.access_clock == 1
    assert len(loaded.playbook) == 1


async def a_repeat_returns_the_newest_state(subject: StoreUnderTest) -> None:
    """A repeat after others have written gives its own report and the state as it is now."""
    learner, delta = new_learner(), adding("Draw a bar")
    async with subject.open() as one, subject.open() as two:
        first = await one.commit(learner, delta, Snapshot())
        newest = await two.commit(learner, adding("Name the unit"), first.snapshot)
        again = await one.commit(learner, delta, first.snapshot)
    assert again.status == "repeated"
    assert again.report == first.report
    assert again.version == newest.version
    assert dump_playbook(again.snapshot.playbook) == dump_playbook(newest.snapshot.playbook)
    assert again.snapshot.access == newest.snapshot.access


async def another_store_knows_the_op_id(subject: StoreUnderTest) -> None:
    """An op id that one store has applied is repeated on every other one."""
    learner, delta = new_learner(), adding("Draw a bar")
    async with subject.open() as one, subject.open() as two:
        first = await one.commit(learner, delta, Snapshot())
        again = await two.commit(learner, delta, Snapshot())
    assert (again.status, again.report) == ("repeated", first.report)


async def a_turn_that_changed_nothing_is_repeated_too(subject: StoreUnderTest) -> None:
    """A commit without a content change is idempotent as well: one record, one step of the clock."""
    learner, delta, made = new_learner(), touching("nobody"), record()
    async with subject.open() as store:
        await write(store, learner, adding("Draw a bar"))
        first = await write(store, learner, delta, made)
        again = await write(store, learner, delta, made)
        turns = await store.turns(learner)
        clock = (await store.load(learner)).access.access_clock
    assert (first.status, again.status) == ("applied", "repeated")
    assert again.report == first.report
    assert (len(turns), clock) == (1, 2)


async def a_touch_without_a_record_is_repeated_too(subject: StoreUnderTest) -> None:
    """A commit that has neither a content change nor a record is idempotent as well."""
    learner, delta = new_learner(), touching("nobody")
    async with subject.open() as store:
        first = await store.commit(learner, delta, Snapshot())
        again = await store.commit(learner, delta, first.snapshot)
        clock = (await store.load(learner)).access.access_clock
    assert (again.status, again.report, clock) == ("repeated", first.report, 1)


async def at_once_it_is_applied_once(subject: StoreUnderTest) -> None:
    """Ten commits of one delta at once, on two stores: one applies it, nine return its report."""
    learner, delta, made = new_learner(), adding("Draw a bar"), record()
    async with subject.open() as one, subject.open() as two:
        stores = [one, two] * 5
        done = await asyncio.gather(*(s.commit(learner, delta, Snapshot(), made) for s in stores))
        loaded = await one.load(learner)
        turns = await one.turns(learner)
    assert sorted(commit.status for commit in done) == ["applied"] + ["repeated"] * 9
    assert len({commit.report.added for commit in done}) == 1
    assert contents(loaded) == ["Draw a bar"]
    assert loaded.access.access_clock == 1
    assert len(turns) == 1


async def the_op_id_is_the_learners(subject: StoreUnderTest) -> None:
    """Two learners may use one op id: each has it applied."""
    one, two, delta = new_learner(), new_learner(), adding("Draw a bar")
    async with subject.open() as store:
        done = [await store.commit(learner, delta, Snapshot()) for learner in (one, two)]
        assert [commit.status for commit in done] == ["applied", "applied"]
        assert contents(await store.load(two)) == ["Draw a bar"]
