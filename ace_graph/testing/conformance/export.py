"""Specifies `export`: everything stored about one learner, read at one moment."""

from __future__ import annotations

import asyncio

from ace_graph.memory.commit import History, playbook_at
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.policy import Policy
from ace_graph.memory.serialization import dump_access, dump_playbook
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import LearnerExport
from ace_graph.testing.conformance.case import StoreUnderTest
from ace_graph.testing.conformance.writing import adding, new_learner, record, touching, write
from ace_graph.testing.invariants import problems


async def an_absent_learner_is_empty(subject: StoreUnderTest) -> None:
    """The export of an absent learner holds the empty snapshot, no history and no turn."""
    learner = new_learner()
    async with subject.open() as store:
        empty = LearnerExport(learner, Snapshot(), History(0, Playbook(), ()), ())
        assert await store.export(learner) == empty


async def it_holds_what_the_others_read(subject: StoreUnderTest) -> None:
    """It holds what `load`, `history` and `turns` give, and the commits that changed no bullet."""
    learner = new_learner()
    async with subject.open() as store:
        await write(store, learner, adding("Draw a bar"), record(1))
        await write(store, learner, touching("nobody"))
        await write(store, learner, touching(), record(2))
        await write(store, learner, adding("Name the unit"))
        exported = await store.export(learner)
        loaded, history = await store.load(learner), await store.history(learner)
        turns = await store.turns(learner)
    assert exported.learner_id == learner
    assert dump_playbook(exported.snapshot.playbook) == dump_playbook(loaded.playbook)
    assert dump_access(exported.snapshot.access) == dump_access(loaded.access)
    assert exported.snapshot.version == loaded.version
    assert exported.turns == turns
    assert [entry.n for entry in exported.history.entries] == [1, 1, 2]
    assert [entry.report for entry in exported.history.entries][::2] == [e.report for e in history.entries]


async def it_holds_all_turns(subject: StoreUnderTest) -> None:
    """It holds every turn, also where `turns` with its usual limit would give fewer."""
    learner, many = new_learner(), 105
    async with subject.open() as store:
        snapshot = Snapshot()
        for n in range(many):
            snapshot = (await store.commit(learner, touching(), snapshot, record(n))).snapshot
        assert len((await store.export(learner)).turns) == many


async def compacted_changes_are_in_it(subject: StoreUnderTest) -> None:
    """Changes whose effect was compacted away are listed without the effect, and the rest still folds."""
    learner = new_learner()
    async with subject.open(Policy(history_kept=2)) as store:
        for n in range(1, 9):
            await write(store, learner, adding(f"Fact {n} is about {n * 7}"))
        exported = await store.export(learner)
    history = exported.history
    assert history.base_n > 0
    assert [entry.n for entry in history.entries] == list(range(1, 9))
    assert [entry.effect is None for entry in history.entries] == [n <= history.base_n for n in range(1, 9)]
    assert dump_playbook(playbook_at(history, 8)) == dump_playbook(exported.snapshot.playbook)


async def compacting_leaves_commits_that_changed_nothing(subject: StoreUnderTest) -> None:
    """A commit that changed no bullet keeps its effect, so that it is never taken for a change of content."""
    learner = new_learner()
    async with subject.open(Policy(history_kept=1)) as store:
        await write(store, learner, touching("nobody"))
        for n in range(1, 4):
            await write(store, learner, adding(f"Fact {n} is about {n * 7}"))
            await write(store, learner, touching("nobody"))
        exported = await store.export(learner)
    entries, base = exported.history.entries, exported.history.base_n
    assert base > 0
    assert [entry.n for entry in entries] == [0, 1, 1, 2, 2, 3, 3]
    assert [entry.effect is None for entry in entries] == [
        i % 2 == 1 and e.n <= base for i, e in enumerate(entries)
    ]
    assert problems(exported) == []


async def it_is_of_one_moment(subject: StoreUnderTest) -> None:
    """While others write, the history in an export ends at the version of its snapshot."""
    learner = new_learner()
    async with subject.open() as one, subject.open() as two:
        await write(one, learner, adding("Draw a bar"), record())
        writing = asyncio.gather(
            *(write(one, learner, adding(f"Fact {n} is about {n * 7}"), record(n)) for n in range(10))
        )
        exports = [await two.export(learner) for _ in range(5)]
        await writing
    for exported in exports:
        assert exported.history.entries[-1].n == exported.snapshot.version.n
        assert len(exported.turns) == exported.snapshot.access.access_clock
