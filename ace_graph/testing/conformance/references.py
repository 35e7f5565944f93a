"""Specifies the references from bullets to trajectories: they are checked, and lead there in one read."""

from __future__ import annotations

from ace_graph.memory.commit import Amend
from ace_graph.memory.delta.operations import Add, Remove, Update
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.trajectory import TrajectoryFilter, deleted
from ace_graph.testing.conformance.case import StoreUnderTest, opened
from ace_graph.testing.conformance.writing import new_learner, record, rewriting, touching, write

_MORE_THAN_RECENT = 25
"""More turns than the access part keeps."""


async def a_dangling_reference_is_refused(subject: StoreUnderTest) -> None:
    """An Add or an Update that names an unknown trajectory is rejected; the others of its delta apply."""
    learner = new_learner()
    async with subject.open() as store:
        base = (await write(store, learner, touching(), record(1, turn_id="t1"))).snapshot
        known = Add(content="Draw a bar", ref="n1", examples=("t1",))
        dangling = Add(content="Name the unit", examples=("t1", "nobody"))
        more = Update(bullet_id="n1", examples=("nobody",))
        commit = await store.commit(learner, rewriting(known, dangling, more), base)
        loaded = await store.load(learner)
    assert [(each.op, each.why) for each in commit.report.rejected] == [
        ("add", "unknown trajectory nobody"),
        ("update", "unknown trajectory nobody"),
    ]
    assert [(b.content, b.examples) for b in loaded.playbook.bullets()] == [("Draw a bar", ("t1",))]


async def the_turn_of_the_same_commit_is_known(subject: StoreUnderTest) -> None:
    """A turn's lesson names its own turn, also in the first commit of a learner."""
    learner = new_learner()
    lesson = rewriting(Add(content="Draw a bar", examples=("t1",)))
    async with subject.open() as store:
        commit = await store.commit(learner, lesson, Snapshot(), record(1, turn_id="t1"))
    assert commit.report.rejected == ()
    assert [b.examples for b in commit.snapshot.playbook.bullets()] == [("t1",)]


async def an_old_turn_is_looked_up(subject: StoreUnderTest) -> None:
    """A turn that is not among the recent ones any more is found, from a snapshot of any age."""
    learner = new_learner()
    async with subject.open() as store:
        first = (await write(store, learner, touching(), record(0, turn_id="t0"))).snapshot
        base = first
        for n in range(1, _MORE_THAN_RECENT):
            base = (await store.commit(learner, touching(), base, record(n, turn_id=f"t{n}"))).snapshot
        assert "t0" not in [turn.turn_id for turn in base.access.recent_turns]
        for text, seen in (("Draw a bar", base), ("Name the unit", first)):
            commit = await store.commit(learner, rewriting(Add(content=text, examples=("t0",))), seen)
            assert commit.report.rejected == (), text


async def the_turns_of_others_are_unknown(subject: StoreUnderTest) -> None:
    """A bullet names trajectories of its own learner only."""
    learner, other = new_learner(), new_learner()
    async with subject.open() as store:
        await write(store, other, touching(), record(1, turn_id="theirs"))
        commit = await write(store, learner, rewriting(Add(content="Draw a bar", examples=("theirs",))))
    assert [each.why for each in commit.report.rejected] == ["unknown trajectory theirs"]


async def from_a_file_what_is_unknown_becomes_a_source(subject: StoreUnderTest) -> None:
    """A bullet from a file keeps the ids of another memory as sources, and all of its evidence count."""
    learner = new_learner()
    async with subject.open() as store:
        base = (await write(store, learner, touching(), record(1, turn_id="t1"))).snapshot
        read = Add(content="Draw a bar", examples=("t0", "t1"), evidence_count=7, foreign=True)
        commit = await store.commit(learner, rewriting(read), base)
    (bullet,) = commit.snapshot.playbook.bullets()
    assert commit.report.rejected == ()
    assert (bullet.examples, bullet.sources, bullet.evidence_count) == (("t1",), ("t0",), 7)


async def one_read_leads_from_a_bullet_to_its_trajectories(subject: StoreUnderTest) -> None:
    """The lesson of two turns names both, and one filter finds their records; a deleted one has none."""
    learner = new_learner()
    lesson = "Check the rate limit of an API before the first call"
    async with opened(subject) as store:
        for n in (1, 2):
            await write(
                store,
                learner,
                rewriting(Add(content=lesson, examples=(f"t{n}",))),
                record(n, turn_id=f"t{n}"),
            )
        (bullet,) = (await store.load(learner)).playbook.bullets()
        assert (bullet.examples, bullet.evidence_count) == (("t1", "t2"), 2)
        wanted = TrajectoryFilter(turn_ids=frozenset(bullet.examples))
        assert [turn.turn_id for turn in await store.find_turns(learner, wanted)] == ["t2", "t1"]
        await store.amend(learner, Amend("t1", deleted))
        assert [turn.turn_id for turn in await store.find_turns(learner, wanted)] == ["t2"]
        again = await write(store, learner, rewriting(Add(content="Name the unit", examples=("t1",))))
        assert again.report.rejected == (), "a deleted trajectory keeps its row"
        await write(store, learner, rewriting(Remove(bullet_id=bullet.id)))


async def a_bullet_remembers_the_turn_it_came_from(subject: StoreUnderTest) -> None:
    """The turn, its conversation and its words survive a merge and another handle; the text is not stored."""
    learner = new_learner()
    said = "At the swimming pool in Riverside Grace dived from the high board"
    async with subject.open() as store:
        first = Add(content="Grace can dive", source_text=said, turn_id="t1", conversation_id="c1")
        (name,) = (await write(store, learner, rewriting(first))).report.added
        again = Add(
            content="Grace can dive", source_text="The diving tower", turn_id="t2", conversation_id="c2"
        )
        merged = await write(store, learner, rewriting(again, minute=1))
        assert merged.report.reinforced == (name,)
        history = await store.history(learner)
    assert said not in "".join(repr(entry.effect) for entry in history.entries)
    async with subject.open() as store:
        (bullet,) = (await store.load(learner)).playbook.bullets()
    assert (bullet.turn_id, bullet.conversation_id) == ("t1", "c1")
    assert (bullet.source_words[0], "riverside" in bullet.source_words) == ("tower", True)
