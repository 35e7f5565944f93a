"""Specifies what folding must not change: a state is read as it was committed, whatever a reader knows."""

from __future__ import annotations

import asyncio

from ace_graph.memory.commit import Commit, playbook_at
from ace_graph.memory.delta.operations import Operation, Remove, Reset, Rollback
from ace_graph.memory.delta.rollback import rollback_to
from ace_graph.memory.policy import Policy
from ace_graph.memory.serialization import dump_access, dump_playbook
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.store import KeyedStore
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
from ace_graph.testing.invariants import check

_LONG = "Write the numbers below each other and line up their points before you add or subtract them. " * 9


def _texts(number: int, count: int = 12) -> list[str]:
    """Texts that fill a tail of effects within a few commits."""
    return [f"Rule {number} of part {each} says {number * 100 + each * 7}. {_LONG}" for each in range(count)]


def _bytes(snapshot: Snapshot) -> tuple[object, ...]:
    return snapshot.version, dump_playbook(snapshot.playbook), dump_access(snapshot.access)


async def _live(store: KeyedStore, learner: str) -> list[Snapshot]:
    """Write large and small commits of many kinds, uses in between; return the state after each."""
    states = [Snapshot()]

    async def does(*operations: Operation) -> Commit:
        done = await write(store, learner, rewriting(*operations), record(len(states)))
        states.append(done.snapshot)
        return done

    for number in range(8):
        done = await write(store, learner, adding(*_texts(number)))
        states.append(done.snapshot)
        states.append(
            (await write(store, learner, touching(*done.report.added[:3]), record(number))).snapshot
        )
        await does(Remove(bullet_id=done.report.added[0]))
    await does(_back(await store.load(learner), states[5]))
    await does(Reset())
    states.append((await write(store, learner, adding("Count the zeros"))).snapshot)
    await does()
    return states


def _back(present: Snapshot, then: Snapshot) -> Rollback:
    playbook, access = then.playbook, then.access
    uses = {"clock": present.access.access_clock, "stamps": dict(access.stamps)}
    return Rollback.model_validate(
        {"version": then.version.n, "bullets": playbook.bullets(), "consolidations": playbook.consolidations}
        | {"aliases": dict(playbook.aliases), "tombstones": dict(playbook.tombstones), "uses": uses}
    )


async def a_reader_of_any_age_gets_the_state(subject: StoreUnderTest) -> None:
    """Whatever version a reader knows, and whether it knows any, it reads the state byte for byte."""
    learner = new_learner()
    async with subject.open() as store, subject.open() as other:
        states = await _live(store, learner)
        for known in (None, *states):
            assert _bytes(await other.load(learner, known)) == _bytes(states[-1])
        assert await check(store, learner) == []


async def every_state_is_read_as_it_was_committed(subject: StoreUnderTest) -> None:
    """After every commit a reader who knows nothing, and one who is one or five behind, read its state."""
    learner = new_learner()
    async with subject.open() as store, subject.open() as other:
        seen = [Snapshot()]
        for number in range(9):
            done = await write(store, learner, adding(*_texts(number)), record(number))
            for known in (Snapshot(), seen[-1], seen[max(0, len(seen) - 5)]):
                assert _bytes(await other.load(learner, known)) == _bytes(done.snapshot)
            seen.append(done.snapshot)
        history = await other.history(learner)
        for state in seen[1:]:
            then = playbook_at(history, state.version.n)
            assert dump_playbook(then) == dump_playbook(state.playbook)


async def writers_that_fold_at_once_lose_nothing(subject: StoreUnderTest) -> None:
    """Two stores write so much that each commit folds: every text is there once, versions have no gap."""
    learner = new_learner()
    async with subject.open(Policy(history_kept=1)) as one, subject.open(Policy(history_kept=1)) as two:
        await asyncio.gather(
            *(write((one, two)[n % 2], learner, adding(f"Fact {n} is about {n * 7}")) for n in range(10))
        )
        loaded = await two.load(learner)
        assert contents(loaded) == sorted(f"Fact {n} is about {n * 7}" for n in range(10))
        assert loaded.version.n == 10
        assert await check(one, learner) == []


async def a_rollback_to_before_a_fold_is_exact(subject: StoreUnderTest) -> None:
    """The history is read as before: a version from before the newest base can be gone back to."""
    learner = new_learner()
    async with subject.open() as store:
        states = [Snapshot()]
        for number in range(6):
            states.append((await write(store, learner, adding(*_texts(number)))).snapshot)
        present = await store.load(learner)
        back = rollback_to(await store.history(learner), present, 2)
        done = await store.commit(learner, rewriting(back), present)
        assert done.snapshot.playbook.bullets() == states[2].playbook.bullets()
        assert (await store.load(learner)).playbook.bullets() == states[2].playbook.bullets()
        assert await check(store, learner) == []


async def a_first_commit_without_content_is_followed(subject: StoreUnderTest) -> None:
    """A learner whose first commit changes no bullet has a state, which the first bullet follows."""
    learner = new_learner()
    async with subject.open() as store, subject.open() as other:
        first = (await write(store, learner, touching(), record())).snapshot
        assert (first.version.n, len(first.playbook)) == (0, 0)
        done = await write(store, learner, adding("Draw a bar"))
        for known in (None, first):
            assert _bytes(await other.load(learner, known)) == _bytes(done.snapshot)
