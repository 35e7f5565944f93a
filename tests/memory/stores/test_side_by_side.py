"""Two stores and a model of them live the same life: whatever order things come in, all three agree.

The model is the pure functions and nothing else: no lock, no file, no cache. The stores are one in memory
beside one on a SQLite file, and a SQLite file beside a real Neo4j or a real PostgreSQL, closed and opened
again in between. Writers hold bases that have grown old. `--hypothesis-profile=long` tries twenty times as
often.
"""

from __future__ import annotations

import tempfile
from collections.abc import Coroutine
from dataclasses import dataclass, field, replace
from datetime import UTC, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar
from uuid import uuid4

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,  # pyright: ignore[reportUnknownVariableType]  # Hypothesis leaves its arguments open
)

from ace_graph.base import LearnerForgotten
from ace_graph.base.portal import portal
from ace_graph.memory import (
    Commit,
    Playbook,
    Policy,
    Snapshot,
    TurnRecord,
    dump_playbook,
    references,
    touched,
)
from ace_graph.memory.delta import Delta, Operation, Report, apply, rollback_to
from ace_graph.memory.delta.resolve import resolve
from ace_graph.memory.stores import KeyedStore, LearnerExport
from ace_graph.testing import problems
from ace_graph.testing.conformance import NOON, record
from tests.memory.delta.generated_deltas import operations
from tests.memory.stores.neo4j.subject import Neo4jSubject
from tests.memory.stores.postgres.subject import PostgresSubject
from tests.memory.stores.stores_under_test import MemorySubject, SQLiteSubject
from tests.plugins.neo4j_server import Neo4jServer

T = TypeVar("T")
POLICY = Policy(max_bullets=6, history_kept=4)


def run(work: Coroutine[Any, Any, T]) -> T:  # Any: what asyncio yields and sends
    return portal().run_sync(work)


@dataclass
class Model:
    """The state that the stores must hold: folded by the pure functions, `n` content changes ago empty."""

    snapshot: Snapshot = field(default_factory=Snapshot)
    n: int = 0
    life: int = 0
    applied: dict[str, Report] = field(default_factory=dict[str, Report])
    turns: list[str] = field(default_factory=list[str])
    then: dict[int, Snapshot] = field(default_factory=dict[int, Snapshot])

    @property
    def absent(self) -> bool:
        return not self.applied

    @property
    def now(self) -> int | None:
        return None if self.absent else self.life

    def commit(self, delta: Delta, made: TurnRecord | None) -> Report:
        if delta.op_id in self.applied:
            return self.applied[delta.op_id]
        unknown = references(delta, self.snapshot, made) - set(self.turns)
        effect = resolve(self.snapshot, delta, POLICY, unknown)
        playbook = apply(self.snapshot.playbook, effect)
        access = touched(self.snapshot.access, effect, made, on=delta.now.astimezone(UTC).date())
        self.n += bool(effect.changes)
        self.snapshot = Snapshot(playbook, access)
        self.then[self.n] = self.snapshot
        self.applied[delta.op_id] = effect.report
        self.turns += [made.turn_id] if made else []
        return effect.report

    def forget(self) -> None:
        self.snapshot, self.n, self.applied, self.turns = Snapshot(), 0, {}, []
        self.then.clear()
        self.life += 1


class Subject(Protocol):
    """A database, and how to open a store on it."""

    def open(self, policy: Policy | None = None) -> KeyedStore: ...


@dataclass(frozen=True)
class Base:
    """What a writer has loaded from each store, in which life of the learner; None: nothing was there."""

    held: tuple[Snapshot, ...]
    life: int | None


class SideBySide(RuleBasedStateMachine):
    """Each rule is one thing that a process may do to the learner."""

    bases: Bundle[Base] = Bundle("bases")
    sent: Bundle[tuple[Delta, int]] = Bundle("sent")

    def __init__(self, *others: Subject, in_memory: bool) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        file = SQLiteSubject(Path(self._folder.name) / "ace.db")
        self._subjects: list[Subject] = [file, *others, *([MemorySubject()] if in_memory else [])]
        self.stores = [subject.open(POLICY) for subject in self._subjects]
        self.learner = f"learner-{uuid4()}"
        self.model = Model()
        self._count = 0

    @initialize(target=bases)
    def nothing_yet(self) -> Base:
        return Base((Snapshot(),) * len(self.stores), None)

    @rule(target=bases)
    def load(self) -> Base:
        """A writer reads what is there, and may keep it for long."""
        return Base(tuple(run(store.load(self.learner)) for store in self.stores), self.model.now)

    @rule(target=bases, before=bases)
    def load_again(self, before: Base) -> Base:
        """A writer that has read before asks only for what is new."""
        pairs = zip(self.stores, before.held, strict=True)
        return Base(tuple(run(store.load(self.learner, held)) for store, held in pairs), self.model.now)

    @rule(target=sent, base=bases, wanted=st.lists(operations(), max_size=4), told=st.booleans())
    def commit(self, base: Base, wanted: list[Operation], told: bool) -> tuple[Delta, int]:
        """A turn is committed onto a base that may be old."""
        self._count += 1
        now = NOON + timedelta(minutes=self._count)
        delta = Delta(op_id=f"op-{self._count}", now=now, operations=tuple(wanted))
        self._commit_on_all(base, delta, record(self._count) if told else None)
        return delta, self.model.life

    @rule(base=bases, again=sent)
    def repeat(self, base: Base, again: tuple[Delta, int]) -> None:
        """The same delta comes again: a retry after a reply that was lost."""
        delta, life = again
        if life == self.model.life:
            self._commit_on_all(base, delta, None)

    @rule(versions=st.integers(0, 7))
    def roll_back(self, versions: int) -> None:
        """A person goes back to a version that the history holds, each store by its own history."""
        held = tuple(run(store.load(self.learner)) for store in self.stores)
        histories = [run(store.history(self.learner)) for store in self.stores]
        n = max(histories[0].base_n, self.model.n - versions)
        back, *others = (rollback_to(h, s, n) for h, s in zip(histories, held, strict=True))
        assert others == [back] * len(others)
        self._count += 1
        now = NOON + timedelta(minutes=self._count)
        delta = Delta(op_id=f"op-{self._count}", now=now, operations=(back,))
        wanted = self.model.then.get(n, Snapshot())
        self._commit_on_all(Base(held, self.model.now), delta, None)
        present = self.model.snapshot
        assert _but_for_new_ids(present.playbook) == _but_for_new_ids(wanted.playbook)
        assert present.access.stamps == wanted.access.stamps

    @rule()
    def forget(self) -> None:
        """The learner asks to be forgotten."""
        found = [run(store.forget(self.learner)) for store in self.stores]
        assert found == [not self.model.absent] * len(self.stores)
        self.model.forget()

    @rule()
    def reopen(self) -> None:
        """The process that holds the database is another one now."""
        for store in self.stores:
            run(store.close())
        self.stores = [subject.open(POLICY) for subject in self._subjects]

    @invariant()
    def all_agree(self) -> None:
        expected = dump_playbook(self.model.snapshot.playbook)
        told = [self._checked(run(store.export(self.learner)), expected) for store in self.stores]
        assert told == [told[0]] * len(told), "the same history, the same turns"

    def _checked(self, exported: LearnerExport, expected: str) -> list[object]:
        """Check one store against the model; return what the stores must have alike."""
        held = exported.snapshot
        assert dump_playbook(held.playbook) == expected
        assert held.version.n == self.model.n
        assert held.access.stamps == self.model.snapshot.access.stamps
        assert held.access.access_clock == self.model.snapshot.access.access_clock
        assert held.absent is self.model.absent
        assert sorted(turn.turn_id for turn in exported.turns) == sorted(self.model.turns)
        wrong = problems(exported)
        assert not wrong, wrong
        entries = [(entry.op_id, entry.n, entry.effect) for entry in exported.history.entries]
        return [entries, held.access.recent_turns, exported.turns]

    def teardown(self) -> None:
        for store in self.stores:
            run(store.forget(self.learner))
            run(store.close())
        self._folder.cleanup()

    def _commit_on_all(self, base: Base, delta: Delta, made: TurnRecord | None) -> None:
        """Commit everywhere; a base of an earlier life is refused everywhere, unless it was done before."""
        repeated = delta.op_id in self.model.applied
        past = base.life is not None and base.life != self.model.now
        late = past and not repeated
        pairs = zip(self.stores, base.held, strict=True)
        done = [self._committed(store, delta, held, made) for store, held in pairs]
        if late:
            assert done == [None] * len(done), "a late commit brings nobody back"
            return
        report = self.model.commit(delta, made)
        for each in done:
            assert each is not None
            assert each.status == ("repeated" if repeated else "applied")
            assert each.report == report

    def _committed(
        self, store: KeyedStore, delta: Delta, base: Snapshot, made: TurnRecord | None
    ) -> Commit | None:
        try:
            return run(store.commit(self.learner, delta, base, made))
        except LearnerForgotten:
            return None


def _but_for_new_ids(playbook: Playbook) -> str:
    return dump_playbook(replace(playbook, next_id=1))


def lives(gate: int) -> settings:
    """Return so many examples; where the profile is another than the gate's, more or fewer."""
    most = {"few": max(3, gate // 3), "long": 20 * gate}.get(settings.get_current_profile_name(), gate)
    return settings(max_examples=most, stateful_step_count=20, deadline=None)


def test_two_stores_and_their_model_agree_whatever_happens() -> None:
    run_state_machine_as_test(partial(SideBySide, in_memory=True), settings=lives(25))


@pytest.mark.slow
@pytest.mark.heavy
def test_neo4j_agrees_with_sqlite_and_the_model_whatever_happens(neo4j: Neo4jServer) -> None:
    run_state_machine_as_test(partial(SideBySide, Neo4jSubject(neo4j), in_memory=False), settings=lives(3))


@pytest.mark.slow
@pytest.mark.heavy
def test_postgresql_agrees_with_sqlite_and_the_model_whatever_happens(postgres: str) -> None:
    run_state_machine_as_test(
        partial(SideBySide, PostgresSubject(postgres), in_memory=False), settings=lives(3)
    )
