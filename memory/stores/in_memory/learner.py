"""What the in-memory store holds of one learner, and how commits, lists and cleanings change it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from ace_graph.errors import TrajectoryNotFound
from ace_graph.memory.commit import CommitPlan, History, HistoryEntry
from ace_graph.memory.delta.effect import Effect, Report, apply
from ace_graph.memory.pending import Amend
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.retention import FAILED, Cleaned, Place, References, fate, named_turns
from ace_graph.memory.snapshot import Snapshot, Version
from ace_graph.memory.stores.base import LearnerSummary
from ace_graph.memory.stores.compaction import CompactionMarks
from ace_graph.memory.stores.playbooks import StoredVersion
from ace_graph.memory.stores.vectors import VectorChange
from ace_graph.memory.trajectory import without_steps
from ace_graph.memory.turn import TurnRecord
from ace_graph.retention import Cutoffs

__all__ = ["HeldLearner", "HeldTurn"]

_BEGINNING_OF_TIME = datetime.min.replace(tzinfo=UTC)


@dataclass
class HeldTurn:
    """A turn's record, its place in the order, and the commit that brought it."""

    seq: int
    op_id: str
    record: TurnRecord


@dataclass
class HeldLearner:
    """Everything stored about one learner. `bases` holds the content at the compaction marks."""

    snapshot: Snapshot = field(default_factory=Snapshot)
    applied: dict[str, Report] = field(default_factory=dict[str, Report])
    deltas: list[HistoryEntry] = field(default_factory=list[HistoryEntry])
    rows: list[HeldTurn] = field(default_factory=list[HeldTurn])
    marks: CompactionMarks = field(default_factory=CompactionMarks)
    bases: dict[int, Playbook] = field(default_factory=lambda: {0: Playbook()})
    keys_from: float | None = None
    created_at: datetime = _BEGINNING_OF_TIME
    changed_at: datetime = _BEGINNING_OF_TIME
    vectors: VectorChange = field(default_factory=lambda: VectorChange(""))

    @property
    def turns(self) -> tuple[TurnRecord, ...]:
        """The records of turns, the newest first."""
        return tuple(row.record for row in reversed(self.rows))

    def unknown(self, trajectories: frozenset[str]) -> frozenset[str]:
        """Return those of the trajectories that have no record here."""
        if not trajectories:
            return trajectories
        return trajectories - {row.record.turn_id for row in self.rows}

    def write(self, plan: CommitPlan, record: TurnRecord | None, kept: int) -> None:
        """Store what a commit plan."""
        version, effect = plan.snapshot.version, plan.effect
        if self.snapshot.absent:
            self.created_at = effect.now
        self.changed_at = effect.now
        self.snapshot = plan.snapshot
        self.applied[effect.op_id] = effect.report
        if record is not None:
            self.rows.append(HeldTurn(self.rows[-1].seq + 1 if self.rows else 1, effect.op_id, record))
        if plan.content_changed or record is None:
            self.deltas.append(_entry(version, effect))
        if plan.content_changed:
            self._compact(plan.snapshot, kept)

    def _compact(self, snapshot: Snapshot, kept: int) -> None:
        n = snapshot.version.n
        marks = self.marks.after(n, kept)
        if marks == self.marks:
            return
        self.bases[n] = snapshot.playbook
        self.bases = {version: content for version, content in self.bases.items() if version >= marks.base}
        self.deltas = [replace(e, effect=None) if _loses_effect(e, marks.base) else e for e in self.deltas]
        self.marks = marks

    def amend(self, amend: Amend) -> TurnRecord | None:
        """Change the record of the newest attempt at the turn. Raises TrajectoryNotFound."""
        for row in reversed(self.rows):
            if row.record.turn_id == amend.turn_id:
                row.record = amend.change(row.record)
                return row.record
        if not amend.missing_ok:
            raise TrajectoryNotFound(f"there is no trajectory {amend.turn_id}: trajectory list shows the ids")
        return None

    def vectors_of(self, model: str) -> Mapping[str, bytes]:
        """Return the rows of a model by content hash."""
        return self.vectors.rows if self.vectors.model == model else {}

    def put_vectors(self, epoch: str | None, change: VectorChange) -> bool:
        """Store and delete rows; False where this state is not of that epoch."""
        if epoch is None or self.snapshot.version.epoch != epoch:
            return False
        kept = {name: row for name, row in self.vectors_of(change.model).items() if name not in change.gone}
        self.vectors = VectorChange(change.model, {**kept, **change.rows})
        return True

    def history(self, *, everything: bool) -> History:
        """Return the content changes whose effect is kept, or all commits without a turn too."""
        entries = tuple(e for e in self.deltas if everything or _is_content(e))
        return History(self.marks.base, self.bases[self.marks.base], entries)

    def versions(self) -> tuple[StoredVersion, ...]:
        """Return all versions, the oldest first."""
        return tuple(
            StoredVersion(
                e.n, e.label, e.at, e.author, e.reason, e.op_id, e.n >= self.marks.base or e.n in self.bases
            )
            for e in self.deltas
            if e.effect is None or e.effect.changes
        )

    def content_at(self, n: int) -> Playbook | None:
        """Return the content of a version; None where it is not kept."""
        if n in self.bases:
            return self.bases[n]
        if not self.marks.base <= n <= self.snapshot.version.n:
            return None
        effects = (e.effect for e in self.deltas if self.marks.base < e.n <= n)
        return apply(self.bases[self.marks.base], *(effect for effect in effects if effect is not None))

    def keep_contents(self, base: int, contents: Mapping[int, Playbook]) -> None:
        """Keep the versions from `base` on and those of `contents`."""
        if not self.marks.base <= base <= self.snapshot.version.n:
            return
        self.bases = {**contents, **{n: held for n, held in self.bases.items() if n in contents}}
        self.deltas = [replace(e, effect=None) if _loses_effect(e, base) else e for e in self.deltas]
        self.marks = CompactionMarks(base)

    def summary(self, learner: str) -> LearnerSummary:
        """Return the learner's line in the list."""
        last = next((turn for turn in self.turns if not turn.deleted), None)
        ended = None if last is None else last.completed_at or last.started_at
        return LearnerSummary(learner, self.snapshot.version.n, self.created_at, self.changed_at, ended)

    def clean(
        self, cutoffs: Cutoffs, place: Place, waiting: frozenset[str], *, most: int, dry_run: bool
    ) -> Cleaned:
        """Clean one batch; see `CleanableStore.clean`."""
        if place.part == "deltas":
            return self._clean_deltas(cutoffs, most, dry_run=dry_run)
        parents = {row.record.parent_id for row in self.rows if row.record.parent_id is not None}
        references = References(waiting, named_turns(self.snapshot) | parents)
        rows = self._old(cutoffs, place)
        done, gone = Cleaned(next=_next_place(place, rows, most)), set[int]()
        for row in rows[:most]:
            end = fate(row.record, references, cutoffs)
            if place.part == "steps":
                done += Cleaned(steps=end == "loses steps", unreflected=end == "unreflected", next=done.next)
                if end == "loses steps" and not dry_run:
                    row.record = without_steps(row.record, "retention")
            elif end == "goes":
                gone.add(row.seq)
        if gone and not dry_run:
            self.rows = [row for row in self.rows if row.seq not in gone]
            self._drop_keys(cutoffs)
        return done + Cleaned(turns=len(gone), next=done.next)

    def _old(self, cutoffs: Cutoffs, place: Place) -> list[HeldTurn]:
        """The rows of this part of a cleaning, after the place."""
        before = cutoffs.steps if place.part == "steps" else cutoffs.records
        if before is None:
            return []
        found = [
            (moment, row.seq, row)
            for row in self.rows
            if (moment := _moment(row.record, place)) is not None
            and moment < before
            and (place.part == "turns" or row.record.steps)
            and not (cutoffs.keep_failures and row.record.status in FAILED and not row.record.deleted)
        ]
        after = (place.at or _BEGINNING_OF_TIME, place.seq)
        return [row for moment, seq, row in sorted(found, key=lambda each: each[:2]) if (moment, seq) > after]

    def _clean_deltas(self, cutoffs: Cutoffs, most: int, *, dry_run: bool) -> Cleaned:
        before = cutoffs.records
        if before is None:
            return Cleaned()
        content = [e for e in self.deltas if e.effect is None or e.effect.changes]
        young = next((e.n for e in content if e.at >= before or e.n > self.marks.base), None)
        old = [
            e.op_id
            for e in self.deltas
            if e.at < before
            and ((e.effect is not None and not e.effect.changes) or young is None or e.n < young)
        ]
        if dry_run:
            return Cleaned(deltas=len(old))
        going = set(old[:most])
        self.deltas = [e for e in self.deltas if e.op_id not in going]
        self._drop_keys(cutoffs)
        return Cleaned(deltas=len(going), next=Place("deltas") if len(old) > most else None)

    def _drop_keys(self, cutoffs: Cutoffs) -> None:
        """Drop the op ids that no row has any more."""
        known = len(self.applied)
        held = {row.op_id for row in self.rows} | {entry.op_id for entry in self.deltas}
        self.applied = {op_id: report for op_id, report in self.applied.items() if op_id in held}
        if cutoffs.records is not None and len(self.applied) < known:
            self.keys_from = max(self.keys_from or 0.0, cutoffs.records.timestamp())


def _moment(turn: TurnRecord, place: Place) -> datetime | None:
    return turn.completed_at if place.part == "steps" else turn.started_at


def _next_place(place: Place, rows: list[HeldTurn], most: int) -> Place:
    """Where the next batch begins: after the last row of this one, or with the next part."""
    if len(rows) > most:
        return Place(place.part, _moment(rows[most - 1].record, place), rows[most - 1].seq)
    return Place("turns" if place.part == "steps" else "deltas")


def _is_content(entry: HistoryEntry) -> bool:
    return entry.effect is not None and bool(entry.effect.changes)


def _loses_effect(entry: HistoryEntry, base: int) -> bool:
    """Whether compaction drops the effect. One without changes is kept, to be told from a dropped change."""
    return entry.n <= base and _is_content(entry)


def _entry(version: Version, effect: Effect) -> HistoryEntry:
    return HistoryEntry(
        version.n,
        effect.op_id,
        effect.now,
        effect.author,
        effect.reason,
        effect.source,
        effect.report,
        effect,
        version.label,
    )
