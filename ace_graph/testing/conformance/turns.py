"""Specifies `turns`: the records that were stored with commits."""

from __future__ import annotations

from ace_graph.base.errors import LearnerForgotten
from ace_graph.memory.delta.operations import Analyze, Judge
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.turn import PlaybookRead
from ace_graph.testing.conformance.case import StoreUnderTest
from ace_graph.testing.conformance.writing import adding, new_learner, record, rewriting, touching, write


async def an_absent_learner_has_none(subject: StoreUnderTest) -> None:
    """An absent learner has no turns."""
    async with subject.open() as store:
        assert await store.turns(new_learner()) == ()


async def a_record_comes_back_as_it_was(subject: StoreUnderTest) -> None:
    """A record is read as it was written, with evidence and odd text, on another store too."""
    learner = new_learner()
    made = record().model_copy(
        update={
            "task": 'say "it\'s"\n\t{x} \N{GRINNING FACE}',
            "cited": ("gen-00001",),
            "playbooks": (PlaybookRead("a playbook", "1.2"),),
        }
    )
    async with subject.open() as store, subject.open() as other:
        await write(store, learner, adding("Draw a bar"), made)
        assert await other.turns(learner) == (made,)


async def the_newest_comes_first(subject: StoreUnderTest) -> None:
    """Turns are listed the newest first, those with a lesson among those without, at most `limit`."""
    learner = new_learner()
    made = [record(n) for n in range(6)]
    async with subject.open() as store:
        for n, item in enumerate(made):
            delta = adding(f"Fact {n} is about {n * 7}") if n % 2 else touching()
            await write(store, learner, delta, item)
        assert await store.turns(learner) == tuple(reversed(made))
        assert await store.turns(learner, limit=2) == (made[5], made[4])


async def a_commit_without_a_record_is_no_turn(subject: StoreUnderTest) -> None:
    """Commits of the host or of a worker, which bring no record, are not listed."""
    learner = new_learner()
    async with subject.open() as store:
        await write(store, learner, adding("Draw a bar"))
        await write(store, learner, touching())
        assert await store.turns(learner) == ()


async def two_attempts_at_one_turn_are_both_kept(subject: StoreUnderTest) -> None:
    """A fork learns: the second attempt at a turn has a record of its own; the access part holds one."""
    learner = new_learner()
    first, second = record(1, turn_id="t1", answer="1/5"), record(2, turn_id="t1", answer="5/6")
    async with subject.open() as store:
        await write(store, learner, touching(), first)
        await write(store, learner, touching(), second)
        loaded = await store.load(learner)
        assert await store.turns(learner) == (second, first)
    assert loaded.access.recent_turns == (second.recent(),)


async def the_access_part_holds_the_last_turns(subject: StoreUnderTest) -> None:
    """The last 20 turns are in the access part, the oldest first, what was injected and cited with them."""
    learner = new_learner()
    made = [record(n) for n in range(23)]
    async with subject.open() as store:
        snapshot = Snapshot()
        for item in made:
            snapshot = (await store.commit(learner, touching(), snapshot, item)).snapshot
        loaded = await store.load(learner)
    assert loaded.access.recent_turns == tuple(item.recent() for item in made[-20:])


async def a_refused_commit_leaves_no_record(subject: StoreUnderTest) -> None:
    """The record is written with the delta or not at all."""
    learner = new_learner()
    async with subject.open() as store:
        base = (await write(store, learner, adding("Draw a bar"), record(1))).snapshot
        await store.forget(learner)
        try:
            await store.commit(learner, adding("Name the unit"), base, record(2))
        except LearnerForgotten:
            pass
        else:
            raise AssertionError("a commit on a forgotten learner was accepted")
        assert await store.turns(learner) == ()


async def the_use_of_the_playbook_is_counted(subject: StoreUnderTest) -> None:
    """Turns that were shown a bullet are counted with their verdicts; a turn judged anew counts anew."""
    learner = new_learner()
    async with subject.open() as store, subject.open() as other:
        await write(store, learner, adding("Draw a bar"))
        for n, verdict in enumerate(("success", "failure", "success")):
            made = record(n, turn_id=f"t{n}").model_copy(
                update={"injected": ("gen-00001", "base:ab12"), "verdict": verdict}
            )
            await write(store, learner, touching("gen-00001"), made)
        await write(store, learner, touching(), record(9))
        usage = (await other.load(learner)).access.usage
        at = record(2).completed_at
        assert {name: tuple(each) for name, each in usage.items()} == {
            "default": (3, 3, 2, at),
            "base": (3, 3, 2, at),
        }
        again = rewriting(Judge(turn_id="t0", source="learner", verdict="failure", bullet_ids=("gen-00001",)))
        await write(store, learner, again)
        assert tuple((await other.load(learner)).access.own_usage) == (3, 3, 1, at)


async def an_analysed_trajectory_is_counted_once(subject: StoreUnderTest) -> None:
    """A turn that was reflected on counts once, however often it is named while it is recent."""
    learner = new_learner()
    async with subject.open() as store, subject.open() as other:
        await write(store, learner, rewriting(Analyze(turn_ids=("t1",))), record(1, turn_id="t1"))
        await write(store, learner, rewriting(Analyze(turn_ids=("t1", "t2"))), record(2, turn_id="t2"))
        loaded = await other.load(learner)
    assert (loaded.access.analyzed, loaded.version.n) == (2, 0), "counting makes no version"
