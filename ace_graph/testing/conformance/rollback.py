"""Specifies rollback and restore: a version, or one bullet, becomes what it was."""

from __future__ import annotations

from dataclasses import replace

from ace_graph.base.errors import HistoryTooShort
from ace_graph.memory.bullet import content_hash
from ace_graph.memory.delta.operations import (
    Add,
    Consolidate,
    Judge,
    Merge,
    Operation,
    Pin,
    Reflect,
    Remove,
    Reset,
    Source,
    Supersede,
    Update,
)
from ace_graph.memory.delta.rollback import restore_of, rollback_to, undo_of
from ace_graph.memory.policy import Policy
from ace_graph.memory.serialization import dump_playbook
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.store import KeyedStore
from ace_graph.testing.conformance.case import StoreUnderTest
from ace_graph.testing.conformance.writing import adding, new_learner, record, rewriting, touching, write
from ace_graph.testing.invariants import check


def _bytes(snapshot: Snapshot) -> tuple[str, dict[str, int]]:
    """The content but for the id counter, which never goes back, and the stamps of use."""
    return dump_playbook(replace(snapshot.playbook, next_id=1)), dict(snapshot.access.stamps)


async def _write_versions(store: KeyedStore, learner: str) -> list[Snapshot]:
    """Write all kinds of content, with uses in between; return the last state of every version."""
    texts = ("Draw a bar", "Name the unit", "Estimate first", "Simplify last", "Check by adding")
    ids = (await write(store, learner, adding(*texts))).report.added
    steps: list[list[Operation]] = [
        [Judge(turn_id="t1", source="tool", verdict="success", bullet_ids=(ids[0], "base:ab12"))],
        [Reflect(insight="The unit was forgotten", topic="units"), Pin(bullet_id=ids[0])],
        [Merge(bullet_ids=(ids[2], ids[3]), force=True)],
        [Add(content="Draw two bars", ref="n1"), Supersede(bullet_id=ids[1], by="n1")],
        [Judge(turn_id="t1", source="tool", verdict="failure", bullet_ids=(ids[0],))],
        [Remove(bullet_id=ids[0]), Update(bullet_id=ids[4], topic="checks")],
        [Reset()],
        [Add(content="Count the zeros")],
    ]
    states = [Snapshot()]
    for step in steps:
        await write(store, learner, touching(ids[4], "base:ab12"), record(len(states)))
        states.append(await store.load(learner))
        await write(store, learner, rewriting(*step))
    return [*states, await store.load(learner)]


async def a_rollback_to_any_version_is_exact(subject: StoreUnderTest) -> None:
    """A rollback to any version gives the content and the stamps of its last moment, to the byte."""
    learner = new_learner()
    async with subject.open() as store, subject.open() as other:
        states = await _write_versions(store, learner)
        for n in (6, 0, 3, 8, 1):
            present = await other.load(learner)
            back = rollback_to(await other.history(learner), present, n)
            done = await other.commit(learner, rewriting(back), present)
            found = await store.load(learner)
            assert found.version.n == done.version.n == present.version.n + 1
            assert _bytes(found) == _bytes(states[n])
            assert found.playbook.next_id == present.playbook.next_id
            assert found.access.access_clock > present.access.access_clock
        assert await check(store, learner) == []


async def a_removed_bullet_comes_back_exactly(subject: StoreUnderTest) -> None:
    """A bullet that was removed is restored with its counters, its place, its stamp and its moments."""
    learner = new_learner()
    async with subject.open() as store, subject.open() as other:
        _, name, _ = (
            await write(store, learner, adding("Draw a bar", "Name the unit", "Estimate"))
        ).report.added
        vote = Judge(turn_id="t1", source="tool", verdict="success", bullet_ids=(name,))
        before = (await write(store, learner, rewriting(vote))).snapshot
        await write(store, learner, rewriting(Remove(bullet_id=name), minute=1))
        present = await other.load(learner)
        back = restore_of(await other.history(learner), present, name)
        await other.commit(learner, rewriting(back, minute=2), present)
        assert _bytes(await store.load(learner)) == _bytes(before)
        assert await check(store, learner) == []


async def a_consolidation_is_undone_exactly(subject: StoreUnderTest) -> None:
    """Undo brings back the sources of a consolidation, in their places, and leaves what came later."""
    learner = new_learner()
    texts = ("Estimate first", "Draw a bar for the sum", "Draw the sum as a bar in colour", "Name the unit")
    async with subject.open() as store, subject.open() as other:
        adds = (Add(content=text, memory_type="procedural") for text in texts)
        ids = (await write(store, learner, rewriting(*adds))).report.added
        vote = Judge(turn_id="t1", source="tool", verdict="success", bullet_ids=(ids[1],))
        before = (await write(store, learner, rewriting(vote))).snapshot
        sources = tuple(Source(bullet_id=ids[n], content_hash=content_hash(texts[n])) for n in (1, 2))
        merge = rewriting(Consolidate(sources=sources, content="Draw the sum as a bar in colour"), minute=1)
        done = await write(store, learner, merge)
        (made,) = done.report.added
        assert done.snapshot.playbook.entries[made].consolidated_from == ids[1:3]
        back = rewriting(undo_of(await other.history(learner), merge.op_id), minute=2)
        await other.commit(learner, back, await other.load(learner))
        assert _bytes(await store.load(learner)) == _bytes(before)
        assert await check(store, learner) == []


async def a_rollback_reaches_as_far_as_the_history(subject: StoreUnderTest) -> None:
    """A version that was compacted away can't be gone back to; the oldest that is kept can."""
    learner = new_learner()
    async with subject.open(Policy(history_kept=2)) as store:
        states = [Snapshot()]
        for n in range(1, 7):
            states.append((await write(store, learner, adding(f"Fact {n} is about {n * 7}"))).snapshot)
        present, history = await store.load(learner), await store.history(learner)
        assert history.base_n > 0
        try:
            rollback_to(history, present, history.base_n - 1)
        except HistoryTooShort:
            pass
        else:
            raise AssertionError("a version before the base was given")
        back = rollback_to(history, present, history.base_n)
        found = (await store.commit(learner, rewriting(back), present)).snapshot
        assert _bytes(found) == _bytes(states[history.base_n])
        assert await check(store, learner) == []
