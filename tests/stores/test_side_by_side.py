"""Two stores and a model of them live the same life: whatever order things come in, all three agree.

The model is the pure functions and nothing else: no lock, no file, no cache. The stores are one in memory and
one on a SQLite file that is closed and opened again in between. Writers hold bases that have grown old.
"""

from __future__ import annotations

import tempfile
from collections.abc import Coroutine
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

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

from ace_graph.errors import LearnerForgotten
from ace_graph.memory.access import touch
from ace_graph.memory.commit import Commit
from ace_graph.memory.delta import Delta, Operation
from ace_graph.memory.effect import Report, apply
from ace_graph.memory.payload import dump_playbook
from ace_graph.memory.policy import Policy
from ace_graph.memory.portal import portal
from ace_graph.memory.resolve import resolve
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import Store
from ace_graph.memory.turn import TurnRecord
from ace_graph.testing.conformance.writing import NOON, record
from ace_graph.testing.invariants import problems
from tests.memory.deltas import operations
from tests.stores.subjects import MemorySubject, SQLiteSubject

T = TypeVar("T")
LEARNER = "alice"
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

    @property
    def absent(self) -> bool:
        return not self.applied

    def commit(self, delta: Delta, made: TurnRecord | None) -> Report:
        if delta.op_id in self.applied:
            return self.applied[delta.op_id]
        effect = resolve(self.snapshot, delta, POLICY)
        playbook = apply(self.snapshot.playbook, effect)
        access = touch(
            self.snapshot.access, effect.touched, made, gone=effect.gone, reset=effect.access_reset
        )
        self.n += bool(effect.changes)
        self.snapshot = Snapshot(playbook, access)
        self.applied[delta.op_id] = effect.report
        return effect.report

    def forget(self) -> None:
        self.snapshot, self.n, self.applied, self.life = Snapshot(), 0, {}, self.life + 1


@dataclass(frozen=True)
class Base:
    """What a writer has loaded from both stores, in which life of the learner; None: nothing was there."""

    memory: Snapshot
    sqlite: Snapshot
    life: int | None


class SideBySide(RuleBasedStateMachine):
    """Each rule is one thing that a process may do to the learner."""

    bases: Bundle[Base] = Bundle("bases")
    sent: Bundle[tuple[Delta, int]] = Bundle("sent")

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self._file = SQLiteSubject(Path(self._folder.name) / "ace.db")
        self.memory: Store = MemorySubject().open(POLICY)
        self.sqlite: Store = self._file.open(POLICY)
        self.model = Model()
        self._count = 0

    @initialize(target=bases)
    def nothing_yet(self) -> Base:
        return Base(Snapshot(), Snapshot(), None)

    @rule(target=bases)
    def load(self) -> Base:
        """A writer reads what is there, and may keep it for long."""
        life = None if self.model.absent else self.model.life
        return Base(run(self.memory.load(LEARNER)), run(self.sqlite.load(LEARNER)), life)

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

    @rule()
    def forget(self) -> None:
        """The learner asks to be forgotten."""
        found = [run(store.forget(LEARNER)) for store in (self.memory, self.sqlite)]
        assert found == [not self.model.absent] * 2
        self.model.forget()

    @rule()
    def reopen(self) -> None:
        """The process that holds the file is another one now."""
        run(self.sqlite.close())
        self.sqlite = self._file.open(POLICY)

    @invariant()
    def all_three_agree(self) -> None:
        expected = dump_playbook(self.model.snapshot.playbook)
        for store in (self.memory, self.sqlite):
            exported = run(store.export(LEARNER))
            held = exported.snapshot
            assert dump_playbook(held.playbook) == expected
            assert held.version.n == self.model.n
            assert held.access.stamps == self.model.snapshot.access.stamps
            assert held.absent is self.model.absent
            assert problems(exported) == []

    def teardown(self) -> None:
        run(self.sqlite.close())
        self._folder.cleanup()

    def _commit_on_all(self, base: Base, delta: Delta, made: TurnRecord | None) -> None:
        """Commit everywhere; a base of an earlier life is refused everywhere."""
        late = base.life is not None and (self.model.absent or base.life != self.model.life)
        repeated = delta.op_id in self.model.applied
        done = [self._committed(store, delta, held, made) for store, held in self._on(base)]
        if late:
            assert done == [None, None], "a late commit brings nobody back"
            return
        report = self.model.commit(delta, made)
        for each in done:
            assert each is not None
            assert each.status == ("repeated" if repeated else "applied")
            assert each.report == report

    def _on(self, base: Base) -> list[tuple[Store, Snapshot]]:
        return [(self.memory, base.memory), (self.sqlite, base.sqlite)]

    @staticmethod
    def _committed(store: Store, delta: Delta, base: Snapshot, made: TurnRecord | None) -> Commit | None:
        try:
            return run(store.commit(LEARNER, delta, base, made))
        except LearnerForgotten:
            return None


def test_two_stores_and_their_model_agree_whatever_happens() -> None:
    run_state_machine_as_test(
        SideBySide, settings=settings(max_examples=25, stateful_step_count=20, deadline=None)
    )
