"""The store of tests and notebooks: plain dictionaries, gone with the process.

All of its work is done in one piece on the portal's loop, so no lock is needed; values are immutable, so
nothing that was handed out can change what is stored.

Does not: serialise. What it gives back are the very objects that were committed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Self, TypeVar

from ace_graph.errors import LearnerForgotten, TrajectoryNotFound
from ace_graph.memory.commit import Commit, History, HistoryEntry, NewToken, Plan, meets, plan
from ace_graph.memory.delta import Delta
from ace_graph.memory.effect import Effect, Report
from ace_graph.memory.pending import Amend, Pending, PendingCounts, PendingItem
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.policy import Policy
from ace_graph.memory.portal import portal
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import LearnerExport, checked_learner_id, random_token
from ace_graph.memory.stores.compaction import Marks
from ace_graph.memory.stores.in_memory_queue import Queue
from ace_graph.memory.trajectory import TrajectoryFilter
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
        self.queue = Queue()


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
        shared = learners or Learners()
        self._learners, self._queue = shared.by_id, shared.queue
        self._new_token = new_token

    async def load(self, learner_id: str, known: Snapshot | None = None) -> Snapshot:
        """Return the newest snapshot; see `Store.load`."""
        learner = checked_learner_id(learner_id)
        snapshot = await self._on_portal(lambda: self._held(learner).snapshot)
        if known is not None and snapshot.version.same_content(known.version):
            return replace(snapshot, playbook=known.playbook)
        return snapshot

    async def commit(
        self,
        learner_id: str,
        delta: Delta,
        base: Snapshot,
        record: TurnRecord | Amend | None = None,
        pending: Pending | PendingItem | None = None,
    ) -> Commit:
        """Apply `delta` once, and keep `record` and `pending` with it; see `PendingStore.commit`."""
        learner = checked_learner_id(learner_id)
        return await self._on_portal(lambda: self._commit(learner, delta, base, record, pending))

    async def amend(self, learner_id: str, amend: Amend) -> TurnRecord | None:
        """Change a turn's record; see `PendingStore.amend`."""
        learner = checked_learner_id(learner_id)
        return await self._on_portal(lambda: _amend(self._held(learner), amend))

    async def find_turns(
        self, learner_id: str, wanted: TrajectoryFilter, *, limit: int = 100, skip: int = 0
    ) -> tuple[TurnRecord, ...]:
        """Return the turns that are meant; see `PendingStore.find_turns`."""
        learner = checked_learner_id(learner_id)

        def find() -> tuple[TurnRecord, ...]:
            found = [turn for turn in self._held(learner).turns[::-1] if wanted.takes(turn)]
            return tuple(found[max(0, skip) :][: max(0, limit)])

        return await self._on_portal(find)

    async def claim(
        self, owner: str, now: datetime, seconds: float, learner_id: str | None = None
    ) -> PendingItem | None:
        """Lease the item that is next; see `PendingStore.claim`."""
        token = self._new_token()
        return await self._on_portal(lambda: self._queue.claim(owner, now, seconds, learner_id, token))

    async def renew(self, item: PendingItem, until: datetime) -> bool:
        """Extend the lease; see `PendingStore.renew`."""
        return await self._on_portal(lambda: self._queue.change(item, free_at=until))

    async def fail(self, item: PendingItem, error: str, retry_at: datetime | None) -> bool:
        """Give the item back with the error; see `PendingStore.fail`."""
        return await self._on_portal(lambda: self._queue.fail(item, error, retry_at))

    async def retry(self, learner_id: str, pending_id: str, now: datetime) -> bool:
        """Make a dead letter pending again; see `PendingStore.retry`."""
        learner = checked_learner_id(learner_id)
        return await self._on_portal(lambda: self._queue.retry(learner, pending_id, now))

    async def list_pending(
        self, learner_id: str | None = None, *, dead: bool | None = None, limit: int = 100
    ) -> tuple[PendingItem, ...]:
        """Return the items in order; see `PendingStore.list_pending`."""
        return await self._on_portal(lambda: self._queue.list(learner_id, dead)[: max(0, limit)])

    async def count_pending(self) -> PendingCounts:
        """Return how many items there are; see `PendingStore.count_pending`."""
        return await self._on_portal(lambda: self._queue.count())

    async def history(self, learner_id: str) -> History:
        """Return the content changes whose effect is kept; see `Store.history`."""
        learner = checked_learner_id(learner_id)
        return await self._on_portal(lambda: _history(self._held(learner), everything=False))

    async def turns(self, learner_id: str, limit: int = 100) -> tuple[TurnRecord, ...]:
        """Return the newest turn records; see `Store.turns`."""
        learner = checked_learner_id(learner_id)
        return await self._on_portal(lambda: _turns(self._held(learner), limit))

    async def export(self, learner_id: str) -> LearnerExport:
        """Return everything stored about the learner; see `Store.export`."""
        learner = checked_learner_id(learner_id)
        return await self._on_portal(lambda: self._export(learner))

    async def forget(self, learner_id: str) -> bool:
        """Delete everything stored about the learner; see `Store.forget`."""
        learner = checked_learner_id(learner_id)
        return await self._on_portal(lambda: self._forget(learner))

    async def close(self) -> None:
        """Do nothing: the data lives as long as the store."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    def _held(self, learner: str) -> _Learner:
        return self._learners.get(learner) or _Learner()

    def _commit(
        self,
        learner: str,
        delta: Delta,
        base: Snapshot,
        record: TurnRecord | Amend | None,
        pending: Pending | PendingItem | None = None,
    ) -> Commit:
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
        if isinstance(pending, PendingItem) and not self._queue.holds(pending):
            raise LearnerForgotten("the learner was forgotten while a worker was at it: nothing is stored")
        if isinstance(record, Amend):
            _amend(held, record)
        new = record if isinstance(record, TurnRecord) else None
        planned = plan(current, delta, self.policy, new, self._new_token)
        _write(held, planned, new, self.policy.history_kept)
        self._queue.take(learner, pending, delta.now)
        self._learners[learner] = held
        return planned.commit()

    def _export(self, learner: str) -> LearnerExport:
        held = self._held(learner)
        history = _history(held, everything=True)
        return LearnerExport(
            learner, held.snapshot, history, tuple(held.turns[::-1]), self._queue.list(learner, None)
        )

    def _forget(self, learner: str) -> bool:
        self._queue.forget(learner)
        return self._learners.pop(learner, None) is not None

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
    held.deltas = [replace(e, effect=None) if _drops(e, marks.base) else e for e in held.deltas]
    held.marks = marks


def _drops(entry: HistoryEntry, base: int) -> bool:
    """Whether compacting drops the effect; one that changed nothing stays, or it would look like a change."""
    return entry.n <= base and entry.effect is not None and bool(entry.effect.changes)


def _entry(n: int, effect: Effect) -> HistoryEntry:
    return HistoryEntry(
        n, effect.op_id, effect.now, effect.author, effect.reason, effect.source, effect.report, effect
    )


def _history(held: _Learner, *, everything: bool) -> History:
    entries = tuple(e for e in held.deltas if everything or (e.effect is not None and e.effect.changes))
    return History(held.marks.base, held.bases[held.marks.base], entries)


def _turns(held: _Learner, limit: int) -> tuple[TurnRecord, ...]:
    return tuple(turn for turn in held.turns[::-1] if not turn.deleted)[: max(0, limit)]


def _amend(held: _Learner, amend: Amend) -> TurnRecord | None:
    """Change the newest attempt at the turn."""
    for position in range(len(held.turns) - 1, -1, -1):
        if held.turns[position].turn_id == amend.turn_id:
            changed = amend.change(held.turns[position])
            held.turns[position] = changed
            return changed
    if not amend.missing_ok:
        raise TrajectoryNotFound(f"there is no trajectory {amend.turn_id}: trajectory list shows the ids")
    return None
