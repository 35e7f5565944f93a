"""Specifies `commit` on a stored state that is newer than the base; two stores stand for two processes."""

from __future__ import annotations

from ace_graph.memory.delta.operations import Add, Remove, Tag
from ace_graph.memory.snapshot import Snapshot
from ace_graph.testing.conformance.case import StoreUnderTest
from ace_graph.testing.conformance.writing import adding, contents, new_learner, record, rewriting, touching


async def both_additions_are_kept(subject: StoreUnderTest) -> None:
    """Two writers who loaded the same state both keep what they add, under ids of their own (C98)."""
    learner = new_learner()
    async with subject.open() as one, subject.open() as two:
        base = (await one.commit(learner, adding("Draw a bar"), Snapshot())).snapshot
        first = await one.commit(learner, adding("Name the unit"), base)
        second = await two.commit(learner, adding("Estimate first"), base)
        loaded = await one.load(learner)
    assert contents(loaded) == ["Draw a bar", "Estimate first", "Name the unit"]
    assert first.report.added != second.report.added
    assert (first.version.n, second.version.n) == (2, 3)


async def both_votes_count(subject: StoreUnderTest) -> None:
    """Two writers who vote for one bullet from the same state move its counter by two."""
    learner = new_learner()
    async with subject.open() as one, subject.open() as two:
        created = await one.commit(learner, adding("Draw a bar"), Snapshot())
        (bar,) = created.report.added
        for store in (one, two):
            await store.commit(learner, rewriting(Tag(bullet_id=bar, tag="helpful")), created.snapshot)
        assert (await two.load(learner)).playbook.entries[bar].helpful == 2


async def both_turns_move_the_clock(subject: StoreUnderTest) -> None:
    """Two turns that changed no bullet, made from one state, move the clock twice and are both kept."""
    learner = new_learner()
    async with subject.open() as one, subject.open() as two:
        created = await one.commit(learner, adding("Draw a bar"), Snapshot())
        for number, store in enumerate((one, two)):
            done = await store.commit(learner, touching(), created.snapshot, record(number))
            assert done.version == created.version
        loaded = await one.load(learner)
        turns = await one.turns(learner)
    assert loaded.access.access_clock == created.snapshot.access.access_clock + 2
    assert len(turns) == len(loaded.access.recent_turns) == 2


async def content_meets_a_newer_clock(subject: StoreUnderTest) -> None:
    """A lesson made from a state whose clock moved since is kept, and so is the stamp of the other turn."""
    learner = new_learner()
    async with subject.open() as one, subject.open() as two:
        created = await one.commit(learner, adding("Draw a bar"), Snapshot())
        (bar,) = created.report.added
        await one.commit(learner, touching(bar), created.snapshot)
        await two.commit(learner, adding("Name the unit"), created.snapshot)
        loaded = await one.load(learner)
    assert contents(loaded) == ["Draw a bar", "Name the unit"]
    assert loaded.access.access_clock == 3
    assert loaded.access.stamps[bar] == 2


async def a_base_of_nothing_meets_a_learner(subject: StoreUnderTest) -> None:
    """A first commit that comes second is an ordinary conflict: it joins the learner that is there."""
    learner = new_learner()
    async with subject.open() as one, subject.open() as two:
        first = await one.commit(learner, adding("Draw a bar"), Snapshot())
        second = await two.commit(learner, adding("Name the unit"), Snapshot())
        loaded = await one.load(learner)
    assert second.version.epoch == first.version.epoch
    assert contents(loaded) == ["Draw a bar", "Name the unit"]


async def an_old_base_never_undoes(subject: StoreUnderTest) -> None:
    """A commit from a base many versions old changes what it names and nothing else."""
    learner = new_learner()
    async with subject.open() as one, subject.open() as two:
        old = (await one.commit(learner, adding("Fact 0 is about 0"), Snapshot())).snapshot
        newest = old
        for n in range(1, 6):
            newest = (await one.commit(learner, adding(f"Fact {n} is about {n * 7}"), newest)).snapshot
        done = await two.commit(learner, adding("Draw a bar"), old)
    assert contents(done.snapshot) == sorted([*contents(newest), "Draw a bar"])
    assert done.version.n == newest.version.n + 1


async def the_report_is_of_the_attempt_that_was_kept(subject: StoreUnderTest) -> None:
    """After a conflict the report holds the ids that the second attempt gave, and its refusals."""
    learner = new_learner()
    async with subject.open() as one, subject.open() as two:
        created = await one.commit(learner, adding("Draw a bar"), Snapshot())
        (bar,) = created.report.added
        await one.commit(learner, rewriting(Remove(bullet_id=bar), Add(content="Estimate")), created.snapshot)
        delta = rewriting(Tag(bullet_id=bar, tag="helpful"), Add(content="Name the unit"))
        done = await two.commit(learner, delta, created.snapshot)
        loaded = await one.load(learner)
        (*_, entry) = (await one.history(learner)).entries
    assert [(r.op, r.id, r.why) for r in done.report.rejected] == [("tag", bar, "unknown id")]
    assert [loaded.playbook.entries[key].content for key in done.report.added] == ["Name the unit"]
    assert entry.report == done.report


async def a_base_of_its_own_past_is_fine(subject: StoreUnderTest) -> None:
    """One store may commit from a base that it has itself moved past."""
    learner = new_learner()
    async with subject.open() as store:
        base = (await store.commit(learner, adding("Draw a bar"), Snapshot())).snapshot
        await store.commit(learner, adding("Name the unit"), base)
        await store.commit(learner, adding("Estimate first"), base)
        assert contents(await store.load(learner)) == ["Draw a bar", "Estimate first", "Name the unit"]
