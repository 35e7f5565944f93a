"""Specifies `history`: folding the effects gives the state."""

from __future__ import annotations

from datetime import date, timedelta, timezone

from ace_graph.memory.commit import History, playbook_at
from ace_graph.memory.delta.operations import (
    Add,
    Judge,
    Merge,
    Operation,
    Remove,
    Reset,
    Supersede,
    Tag,
    Update,
)
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.policy import Policy
from ace_graph.memory.serialization import dump_playbook
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.store import KeyedStore
from ace_graph.testing.conformance.case import StoreUnderTest
from ace_graph.testing.conformance.writing import (
    NOON,
    adding,
    new_learner,
    record,
    rewriting,
    touching,
    write,
)
from ace_graph.testing.invariants import check


async def _write_every_operation(store: KeyedStore, learner: str) -> list[str]:
    """Write with every kind of operation that needs no earlier state; return the first ids."""
    texts = ("Draw a bar", "Name the unit", "Estimate first", "Simplify last", "Check by adding")
    ids = (await write(store, learner, adding(*texts))).report.added
    steps: list[list[Operation]] = [
        [Tag(bullet_id=ids[0], tag="helpful"), Update(bullet_id=ids[1], topic="units")],
        [Judge(turn_id="t1", source="tool", verdict="success", bullet_ids=(ids[0], ids[1]))],
        [Judge(turn_id="t1", source="tool", verdict="failure", bullet_ids=(ids[0],))],
        [Merge(bullet_ids=(ids[2], ids[3]), content="Estimate first, simplify last", force=True)],
        [Add(content="Draw two bars", ref="n1"), Supersede(bullet_id=ids[0], by="n1")],
        [Remove(bullet_id=ids[4])],
    ]
    for step in steps:
        await write(store, learner, rewriting(*step))
    return list(ids)


async def an_absent_learner_has_none(subject: StoreUnderTest) -> None:
    """The history of an absent learner is empty, from version 0 and an empty playbook."""
    async with subject.open() as store:
        assert await store.history(new_learner()) == History(0, Playbook(), ())


async def it_has_no_gap(subject: StoreUnderTest) -> None:
    """The entries are numbered 1, 2, 3, ... up to the version of the state, each with its effect."""
    learner = new_learner()
    async with subject.open() as store:
        await _write_every_operation(store, learner)
        history = await store.history(learner)
        version = (await store.load(learner)).version
    assert [entry.n for entry in history.entries] == list(range(1, version.n + 1))
    assert all(entry.effect is not None for entry in history.entries)


async def it_tells_what_was_known_and_when_it_was_true(subject: StoreUnderTest) -> None:
    """A version says when it was made, and its bullets the days on which they are true, in every reading."""
    learner, first, last = new_learner(), date(2020, 2, 29), date(2026, 5, 4)
    async with subject.open() as store:
        added = await write(
            store, learner, rewriting(Add(content="Ada lives in Rome", valid_from=first, valid_until=last))
        )
        key = added.report.added[0]
        await write(store, learner, rewriting(Update(bullet_id=key, valid_until="unknown"), minute=1))
        history, versions = await store.history(learner), await store.versions(learner)
        exported, loaded = await store.export(learner), await store.load(learner)
    assert [entry.at for entry in history.entries] == [NOON, NOON + timedelta(minutes=1)]
    assert [version.at for version in versions] == [NOON, NOON + timedelta(minutes=1)]
    before, now = playbook_at(history, 1).bullets()[0], loaded.playbook.bullets()[0]
    assert (before.valid_from, before.valid_until) == (first, last)
    assert (now.valid_from, now.valid_until) == (first, None)
    assert exported.snapshot.playbook.bullets() == loaded.playbook.bullets()


async def it_folds_to_the_state(subject: StoreUnderTest) -> None:
    """Folding the effects gives the loaded content byte for byte, after every kind of operation."""
    learner = new_learner()
    async with subject.open() as store, subject.open() as other:
        await _write_every_operation(store, learner)
        loaded = await other.load(learner)
        history = await other.history(learner)
    assert dump_playbook(playbook_at(history, loaded.version.n)) == dump_playbook(loaded.playbook)


async def it_folds_to_every_version(subject: StoreUnderTest) -> None:
    """Folding up to version n gives the content that the commit of version n returned."""
    learner = new_learner()
    async with subject.open() as store:
        states = [
            (await write(store, learner, adding(f"Fact {n} is about {n * 7}"))).snapshot for n in range(5)
        ]
        history = await store.history(learner)
    for state in states:
        then = playbook_at(history, state.version.n)
        assert dump_playbook(then) == dump_playbook(state.playbook)


async def an_entry_says_who_when_and_why(subject: StoreUnderTest) -> None:
    """An entry holds the op id, the moment, the author, the reason, the source and the report."""
    learner = new_learner()
    async with subject.open() as store:
        delta = adding("Draw a bar")
        done = await write(store, learner, delta)
        (entry,) = (await store.history(learner)).entries
    assert (entry.op_id, entry.at) == (delta.op_id, NOON)
    assert (entry.author, entry.reason, entry.source) == (delta.author, delta.reason, delta.source)
    assert entry.report == done.report


async def only_content_is_in_it(subject: StoreUnderTest) -> None:
    """Commits that changed no bullet are not in the history, with a record or without one."""
    learner = new_learner()
    async with subject.open() as store:
        await write(store, learner, adding("Draw a bar"))
        await write(store, learner, touching(), record())
        await write(store, learner, touching())
        await write(store, learner, adding("Name the unit"))
        history = await store.history(learner)
    assert [entry.n for entry in history.entries] == [1, 2]


async def an_authors_commits_are_found_by_their_time(subject: StoreUnderTest) -> None:
    """They are those from a moment on, in their order, also without content; turns are not among them."""
    learner = new_learner()
    async with subject.open() as store:
        made = [adding("Draw a bar"), adding("Name the unit", minute=1), rewriting(minute=2)]
        for delta in made:
            await write(store, learner, delta)
        await write(store, learner, touching(), record())
        await write(store, new_learner(), adding("Draw a bar", minute=3))
        since = (NOON + timedelta(seconds=30)).astimezone(timezone(timedelta(hours=2)))
        found = await store.commits_by(learner, "conformance", since)
        assert await store.commits_by(learner, "somebody", NOON) == ()
    assert found == tuple((delta.op_id, "suite", delta.now) for delta in made[1:])


async def a_reset_is_an_ordinary_entry(subject: StoreUnderTest) -> None:
    """A Reset keeps the history: what was there before can still be folded."""
    learner = new_learner()
    async with subject.open() as store:
        before = (await write(store, learner, adding("Draw a bar"))).snapshot
        await write(store, learner, rewriting(Reset()))
        history = await store.history(learner)
    assert dump_playbook(playbook_at(history, 1)) == dump_playbook(before.playbook)
    assert len(playbook_at(history, 2)) == 0


async def it_is_compacted(subject: StoreUnderTest) -> None:
    """Of many effects at least as many as the policy says stay readable, and at most twice as many."""
    learner, kept = new_learner(), 4
    bases: list[int] = []
    async with subject.open(Policy(history_kept=kept)) as store:
        for n in range(1, 4 * kept):
            await write(store, learner, adding(f"Fact {n} is about {n * 7}"))
            history = await store.history(learner)
            bases.append(history.base_n)
            assert min(n, kept) <= len(history.entries) <= 2 * kept
            assert history.base_n + len(history.entries) == n
        assert await check(store, learner) == []
    assert bases == sorted(bases)
    assert bases[-1] > 0


async def compacting_keeps_the_op_ids(subject: StoreUnderTest) -> None:
    """An op id whose effect was compacted away is still repeated, with its report."""
    learner, first = new_learner(), adding("Draw a bar")
    async with subject.open(Policy(history_kept=1)) as store:
        done = await store.commit(learner, first, Snapshot())
        for n in range(1, 6):
            await write(store, learner, adding(f"Fact {n} is about {n * 7}"))
        assert (await store.history(learner)).base_n >= 1
        again = await write(store, learner, first)
    assert (again.status, again.report) == ("repeated", done.report)
    assert len(again.snapshot.playbook) == 6
