"""The store of tests and notebooks: plain dictionaries, gone with the process.

All of its work is done in one piece on the portal's loop, so no lock is needed; values are immutable, so
nothing that was handed out can change what is stored.

Does not: serialise. What it gives back are the very objects that were committed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Self, TypeVar

from ace_graph.memory.commit import Commit, History, HistoryEntry, NewToken, Plan, meets, plan
from ace_graph.memory.delta import Delta
from ace_graph.memory.effect import Effect, Report
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.policy import Policy
from ace_graph.memory.portal import portal
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import LearnerExport, checked_learner_id, random_token
from ace_graph.memory.stores.compaction import Marks
from ace_graph.memory.turn import TurnRecord

__all__ = ["InMemoryStore", "Learners"]

T = TypeVar("T")


@dataclass
class _Learner:
    """All that is stored of one learner. `bases` holds the content of the marked versions."""

    snapshot: Snapshot = field(default_factory=Snapshot)
    applied: dict[str, Report] = field(default_factory=dict[str, Report])
    deltas: list[HistoryEntry] = field(default_factory=list[HistoryEntry])
    turns: list[TurnRecord] = field(default_factory=list[TurnRecord])
    marks: Marks = field(default_factory=Marks)
    bases: dict[int, Playbook] = field(default_factory=lambda: {0: Playbook()})


class Learners:
    """The data of one or more stores; two stores on the same `Learners` are like two processes."""

    def __init__(self) -> None:
        self.by_id: dict[str, _Learner] = {}


class InMemoryStore:
    """A `Store` (see `ace_graph.memory.stores.base`) that lives in this process only."""

    name = "memory"

    def __init__(
        self,
        policy: Policy | None = None,
        *,
        learners: Learners | None = None,
        new_token: NewToken = random_token,
    ) -> None:
        self.policy = policy or Policy()
        self._learners = (learners or Learners()).by_id
        self._new_token = new_token

    async def load(self, learner_id: str, known: Snapshot | None = None) -> Snapshot:
        """Return the newest snapshot; see `Store.load`."""
        learner = checked_learner_id(learner_id)
        snapshot = await self._on_portal(lambda: self._held(learner).snapshot)
        if known is not None and snapshot.version.same_content(known.version):
            return replace(snapshot, playbook=known.playbook)
        return snapshot

    async def commit(
        self, learner_id: str, delta: Delta, base: Snapshot, record: TurnRecord | None = None
    ) -> Commit:
        """Apply `delta` once, and keep `record` with it; see `Store.commit`."""
        learner = checked_learner_id(learner_id)
        return await self._on_portal(lambda: self._commit(learner, delta, base, record))

    async def history(self, learner_id: str) -> History:
        """Return the content changes whose effect is kept; see `Store.history`."""
        learner = checked_learner_id(learner_id)
        return await self._on_portal(lambda: _history(self._held(learner), everything=False))

    async def turns(self, learner_id: str, limit: int = 100) -> tuple[TurnRecord, ...]:
        """Return the newest turn records; see `Store.turns`."""
        learner = checked_learner_id(learner_id)
        return await self._on_portal(lambda: tuple(self._held(learner).turns[::-1][: max(0, limit)]))

    async def export(self, learner_id: str) -> LearnerExport:
        """Return everything stored about the learner; see `Store.export`."""
        learner = checked_learner_id(learner_id)
        return await self._on_portal(lambda: _export(learner, self._held(learner)))

    async def forget(self, learner_id: str) -> bool:
        """Delete everything stored about the learner; see `Store.forget`."""
        learner = checked_learner_id(learner_id)
        return await self._on_portal(lambda: self._learners.pop(learner, None) is not None)

    async def close(self) -> None:
        """Do nothing: the data lives as long as the store."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    def _held(self, learner: str) -> _Learner:
        return self._learners.get(learner) or _Learner()

    def _commit(self, learner: str, delta: Delta, base: Snapshot, record: TurnRecord | None) -> Commit:
        held = self._held(learner)
        current = held.snapshot
        if delta.op_id in held.applied:
            return Commit("repeated", current.version, held.applied[delta.op_id], current)
        meets(
            base.version,
            current.version,
            base_clock=base.access.access_clock,
            clock=current.access.access_clock,
        )
        planned = plan(current, delta, self.policy, record, self._new_token)
        _write(held, planned, record, self.policy.history_kept)
        self._learners[learner] = held
        return planned.commit()

    @staticmethod
    async def _on_portal(work: Callable[[], T]) -> T:
        async def piece() -> T:
            return work()

        return await portal().run(piece(), whole=True)


def _write(held: _Learner, planned: Plan, record: TurnRecord | None, kept: int) -> None:
    version, effect = planned.snapshot.version, planned.effect
    held.snapshot = planned.snapshot
    held.applied[effect.op_id] = effect.report
    if record is not None:
        held.turns.append(record)
    if planned.content_changed or record is None:
        held.deltas.append(_entry(version.n, effect))
    if planned.content_changed:
        _compact(held, planned.snapshot, kept)


def _compact(held: _Learner, snapshot: Snapshot, kept: int) -> None:
    n = snapshot.version.n
    marks = held.marks.after(n, kept)
    if marks == held.marks:
        return
    held.bases[n] = snapshot.playbook
    held.bases = {version: content for version, content in held.bases.items() if version >= marks.base}
    held.deltas = [replace(e, effect=None) if e.n <= marks.base else e for e in held.deltas]
    held.marks = marks


def _entry(n: int, effect: Effect) -> HistoryEntry:
    return HistoryEntry(
        n, effect.op_id, effect.now, effect.author, effect.reason, effect.source, effect.report, effect
    )


def _history(held: _Learner, *, everything: bool) -> History:
    entries = tuple(e for e in held.deltas if everything or (e.effect is not None and e.effect.changes))
    return History(held.marks.base, held.bases[held.marks.base], entries)


def _export(learner: str, held: _Learner) -> LearnerExport:
    return LearnerExport(learner, held.snapshot, _history(held, everything=True), tuple(held.turns[::-1]))
