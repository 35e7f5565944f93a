"""Specifies `commit` without concurrent writers; the verbs `conflict` and `concurrency` specify the rest."""

from __future__ import annotations

from ace_graph.memory.delta.operations import Add, Remove, Reset, Tag, Touch
from ace_graph.memory.policy import Policy
from ace_graph.memory.serialization import dump_access, dump_playbook
from ace_graph.memory.snapshot import Snapshot
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


async def first_commit_creates_the_learner(subject: StoreUnderTest) -> None:
    """The first commit gives the learner an epoch, an etag, version 1 and clock 1."""
    async with subject.open() as store:
        done = await store.commit(new_learner(), adding("Draw a bar"), Snapshot())
    assert done.status == "applied"
    assert done.version.epoch
    assert done.version.etag
    assert done.version.n == 1
    assert done.snapshot.access.access_clock == 1
    assert done.snapshot.version == done.version


async def a_first_turn_without_a_lesson_is_kept(subject: StoreUnderTest) -> None:
    """A learner can begin with a turn that changes no bullet: the clock runs, the version stays 0."""
    learner = new_learner()
    async with subject.open() as store:
        done = await store.commit(learner, touching(), Snapshot(), record())
        loaded = await store.load(learner)
        turns = await store.turns(learner)
    assert not loaded.absent
    assert loaded.version == done.version
    assert (done.version.n, loaded.access.access_clock, len(loaded.playbook)) == (0, 1, 0)
    assert len(turns) == 1


async def content_gets_a_new_version(subject: StoreUnderTest) -> None:
    """A commit that changes a bullet moves n by one and the etag, and keeps the epoch."""
    learner = new_learner()
    async with subject.open() as store:
        first = (await write(store, learner, adding("Draw a bar"))).version
        second = (await write(store, learner, adding("Name the unit"))).version
    assert second.n == first.n + 1
    assert second.etag != first.etag
    assert second.epoch == first.epoch


async def untouched_content_keeps_its_version(subject: StoreUnderTest) -> None:
    """A commit that changes no bullet moves the clock only: version and content stay what they were."""
    learner = new_learner()
    async with subject.open() as store:
        first = await write(store, learner, adding("Draw a bar"))
        second = await write(store, learner, touching(*first.report.added), record())
        loaded = await store.load(learner, first.snapshot)
    assert second.version == first.version == loaded.version
    assert loaded.playbook is first.snapshot.playbook
    assert loaded.access.access_clock == first.snapshot.access.access_clock + 1


async def the_clock_moves_with_every_commit(subject: StoreUnderTest) -> None:
    """The access clock is one further after every commit, whatever it changed (C99)."""
    learner = new_learner()
    deltas = [adding("Draw a bar"), touching(), adding("Name the unit"), rewriting(), touching("nobody")]
    async with subject.open() as store:
        clocks = [(await write(store, learner, delta)).snapshot.access.access_clock for delta in deltas]
        assert clocks == [1, 2, 3, 4, 5]
        assert (await store.load(learner)).access.access_clock == 5


async def used_bullets_are_stamped(subject: StoreUnderTest) -> None:
    """A Touch stamps the bullets it names with the clock, the others keep their stamp."""
    learner = new_learner()
    async with subject.open() as store:
        first, second = (await write(store, learner, adding("Draw a bar", "Name the unit"))).report.added
        await write(store, learner, touching(first))
        access = (await store.load(learner)).access
    assert access.stamps[first] == access.access_clock == 2
    assert access.stamps[second] == 1


async def the_outcome_is_what_is_stored(subject: StoreUnderTest) -> None:
    """The snapshot and the ids of the report that a commit returns are those that a load then gives."""
    learner = new_learner()
    async with subject.open() as store, subject.open() as other:
        (bar,) = (await write(store, learner, adding("Draw a bar"))).report.added
        delta = rewriting(Tag(bullet_id=bar, tag="helpful"), Add(content="Name the unit", ref="n1"))
        done = await write(store, learner, delta)
        loaded = await other.load(learner)
    assert dump_playbook(loaded.playbook) == dump_playbook(done.snapshot.playbook)
    assert dump_access(loaded.access) == dump_access(done.snapshot.access)
    assert done.report.tagged == (bar,)
    assert loaded.playbook.entries[done.report.refs["n1"]].content == "Name the unit"
    assert loaded.playbook.entries[bar].helpful == 1


async def a_refused_operation_stops_no_other(subject: StoreUnderTest) -> None:
    """An operation on an unknown id is reported with the reason; the others of its delta are applied."""
    learner = new_learner()
    async with subject.open() as store:
        done = await write(
            store, learner, rewriting(Remove(bullet_id="gen-99999"), Add(content="Draw a bar"))
        )
        loaded = await store.load(learner)
    assert [(r.op, r.id, r.why) for r in done.report.rejected] == [("remove", "gen-99999", "unknown id")]
    assert contents(loaded) == ["Draw a bar"]


async def a_clear_leaves_nothing_and_clock_zero(subject: StoreUnderTest) -> None:
    """After a Reset without bullets a load gives no bullet and clock 0, in a version of its own (C66)."""
    learner = new_learner()
    async with subject.open() as store:
        before = await write(store, learner, adding("Draw a bar"), record())
        cleared = await write(store, learner, rewriting(Reset()))
        loaded = await store.load(learner)
    assert len(loaded.playbook) == 0
    assert loaded.access.access_clock == 0
    assert loaded.version == cleared.version
    assert loaded.version.n == before.version.n + 1
    assert loaded.version.epoch == before.version.epoch


async def the_policy_of_the_store_holds(subject: StoreUnderTest) -> None:
    """Commits are resolved under the policy the store was opened with: its cap archives the weakest."""
    learner = new_learner()
    async with subject.open(Policy(max_bullets=3)) as store:
        done = await write(store, learner, adding(*(f"Fact {n} is about {n * 7}" for n in range(5))))
        assert store.policy.max_bullets == 3
        assert len((await store.load(learner)).playbook) == 3
    assert len(done.report.pruned) == 2


async def any_text_can_be_stored(subject: StoreUnderTest) -> None:
    """Controls, right-to-left marks, lone surrogates and quotes come back, or are folded; nothing breaks."""
    learner = new_learner()
    odd = 'say "it\'s" \\ {x} $1 \u202eabc \x07 \ud83d end \N{GRINNING FACE} \x00 . \u2028 ;--'
    delta = rewriting(Add(content=odd, topic=odd, section=odd, tags=(odd,)), Touch(bullet_ids=(odd,)))
    async with subject.open() as store:
        await write(store, learner, delta)
        (bullet,) = (await store.load(learner)).playbook.bullets()
        (entry,) = (await store.history(learner)).entries
    assert "it's" in bullet.content
    assert "\ud83d" not in bullet.content
    assert "\N{GRINNING FACE}" in bullet.content
    assert entry.report.rejected[0].op == "touch"
