"""The columns of the SQL store: what commits write, a state's head, and a memory as a whole, and back.

See `stores.base_and_tail` for what they mean, and `stores.records` for other rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from ace_graph.memory.catalogue.label import Label
from ace_graph.memory.pending import PendingItem
from ace_graph.memory.serialization import load_record
from ace_graph.memory.snapshot import Version
from ace_graph.memory.stores.base_and_tail import (
    Folding,
    Sizes,
    StateHead,
    StoredBase,
    StoredStamps,
    StoredTouches,
)
from ace_graph.memory.stores.compaction import CompactionMarks
from ace_graph.memory.stores.records import item_of, record_columns, turn_columns
from ace_graph.memory.stores.serialized_plan import SerializedPlan
from ace_graph.memory.stores.whole import WholeDelta, WholeMemory, WholeTouches, WholeTurn
from ace_graph.memory.turn import TurnRecord

HEAD_COLUMNS = (
    "epoch, version, etag, major, minor, access_clock, access_mark, base_version, next_base_version, "
    "content_base, base_bytes, effects_bytes, stamps_bytes, touches_bytes, keys_from"
)


def head_of(row: Sequence[object]) -> StateHead:
    """Return the small part of a state in the columns `HEAD_COLUMNS`."""
    epoch, etag, mark, keys_from = str(row[0]), str(row[2]), str(row[6]), row[14]
    n, major, minor, clock, base, next_base, content_base, *sizes = cast(
        "Sequence[int]", [row[at] for at in (1, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13)]
    )
    return StateHead(
        Version(epoch, n, etag, Label(major, minor)),
        clock,
        mark,
        CompactionMarks(base, next_base),
        content_base,
        Sizes(*sizes[:2]),
        Sizes(*sizes[2:]),
        cast("float | None", keys_from),
    )


def moved_columns(serialized: SerializedPlan) -> dict[str, object]:
    """Return the columns of a state that every commit changes, whatever it folds."""
    snapshot = serialized.plan.snapshot
    version = snapshot.version
    return {
        "access_json": serialized.access_json,
        "access_clock": snapshot.access.access_clock,
        "access_mark": snapshot.access.mark,
        "version": version.n,
        "etag": version.etag,
        "major": version.label.major,
        "minor": version.label.minor,
        "updated_at": serialized.plan.effect.now.isoformat(),
    }


def state_row(serialized: SerializedPlan, head: StateHead, folds: Folding) -> dict[str, object]:
    """Return the columns of a state that a commit onto this head changes."""
    content, access = serialized.sizes_after(head, folds)
    return {
        **moved_columns(serialized),
        "base_version": folds.marks.base,
        "next_base_version": folds.marks.next,
        "content_base": serialized.plan.snapshot.version.n if folds.content else head.base_n,
        "base_bytes": content.base,
        "effects_bytes": content.tail,
        "stamps_bytes": access.base,
        "touches_bytes": access.tail,
    }


def touches_row(learner: str, serialized: SerializedPlan) -> dict[str, object]:
    """Return the columns of the touches of a commit."""
    access = serialized.plan.snapshot.access
    return {
        "user_id": learner,
        "clock": access.access_clock,
        "parent": serialized.plan.parent_mark,
        "mark": access.mark,
        "touches_json": serialized.touches_json,
    }


def delta_row(learner: str, serialized: SerializedPlan) -> dict[str, object]:
    """Return the columns of the delta of a commit."""
    plan = serialized.plan
    effect, version = plan.effect, plan.snapshot.version
    return {
        "user_id": learner,
        "op_id": effect.op_id,
        "version": version.n,
        "content_changed": plan.content_changed,
        "at": effect.now.isoformat(),
        "author": effect.author,
        "reason": effect.reason,
        "source": effect.source,
        "report_json": serialized.report_json,
        "effect_json": serialized.effect_json,
        "effect_bytes": serialized.effect_bytes,
        "parent": plan.parent.etag,
        "etag": version.etag,
        "major": version.label.major,
        "minor": version.label.minor,
    }


def turn_row(learner: str, serialized: SerializedPlan, record: TurnRecord) -> dict[str, object]:
    """Return the columns of the turn of a commit."""
    return {
        "user_id": learner,
        "op_id": serialized.plan.effect.op_id,
        "report_json": serialized.report_json,
        **turn_columns(record),
        **serialized.record_columns,
    }


STATE_COLUMNS = f"access_json, created_at, updated_at, {HEAD_COLUMNS}"
BASE_COLUMNS = "version, etag, checksum, memory_json"
STAMPS_COLUMNS = "mark, checksum, stamps_json"
TOUCHES_COLUMNS = "clock, parent, mark, touches_json"
TURN_COLUMNS = "op_id, report_json, record_json"

_Row = tuple[Any, ...]  # Any: whatever a statement selects
_DeltaRow = tuple[str, int, bool, str, str, str, str, str, str | None, int, str, str, int, int]
DELTA_COLUMNS = (
    "op_id, version, content_changed, at, author, reason, source, report_json, effect_json, effect_bytes, "
    "parent, etag, major, minor"
)


@dataclass(frozen=True)
class WholeRows:
    """The rows under one key, in the columns above; pending work in those of `records.ITEM_COLUMNS`."""

    state: _Row
    bases: Sequence[_Row]
    stamps: _Row | None
    touches: Sequence[_Row]
    deltas: Sequence[_Row]
    turns: Sequence[_Row]
    pending: Sequence[_Row]


def memory_of(rows: WholeRows) -> WholeMemory:
    """Return the memory in these rows, without the fields of a named playbook."""
    access_json, created, updated, *head = rows.state
    return WholeMemory(
        head_of(head),
        access_json,
        datetime.fromisoformat(created),
        datetime.fromisoformat(updated),
        tuple(StoredBase(*row) for row in rows.bases),
        None if rows.stamps is None else StoredStamps(*rows.stamps),
        tuple(WholeTouches(clock, StoredTouches(*rest)) for clock, *rest in rows.touches),
        tuple(map(_delta_of, rows.deltas)),
        tuple(WholeTurn(*row) for row in rows.turns),
        tuple(map(item_of, rows.pending)),
    )


def state_columns(memory: WholeMemory) -> dict[str, object]:
    """Return the columns of a state, but for its key."""
    head = memory.head
    version, content, access = head.version, head.content, head.access
    return {
        "epoch": version.epoch,
        "version": version.n,
        "etag": version.etag,
        "major": version.label.major,
        "minor": version.label.minor,
        "access_json": memory.access_json,
        "access_clock": head.access_clock,
        "access_mark": head.access_mark,
        "base_version": head.marks.base,
        "next_base_version": head.marks.next,
        "content_base": head.base_n,
        "base_bytes": content.base,
        "effects_bytes": content.tail,
        "stamps_bytes": access.base,
        "touches_bytes": access.tail,
        "keys_from": head.keys_from,
        "created_at": memory.created_at.isoformat(),
        "updated_at": memory.updated_at.isoformat(),
    }


def _delta_of(row: _Row) -> WholeDelta:
    """Return the delta in the columns `DELTA_COLUMNS`."""
    op_id, n, changed, at, author, reason, source, report, effect, size, parent, etag, major, minor = cast(
        "_DeltaRow", row
    )
    return WholeDelta(
        op_id,
        n,
        bool(changed),
        datetime.fromisoformat(at),
        author,
        reason,
        source,
        report,
        effect,
        size,
        parent,
        etag,
        Label(major, minor),
    )


def delta_columns(delta: WholeDelta) -> dict[str, object]:
    """Return the columns of a delta, but for its key."""
    return {
        "op_id": delta.op_id,
        "version": delta.n,
        "content_changed": delta.content_changed,
        "at": delta.at.isoformat(),
        "author": delta.author,
        "reason": delta.reason,
        "source": delta.source,
        "report_json": delta.report_json,
        "effect_json": delta.effect_json,
        "effect_bytes": delta.effect_bytes,
        "parent": delta.parent,
        "etag": delta.etag,
        "major": delta.label.major,
        "minor": delta.label.minor,
    }


def whole_turn_columns(turn: WholeTurn) -> dict[str, object]:
    """Return the columns of a turn, but for its key; the record's text stays as it was stored."""
    record = load_record(turn.record_json)
    columns = {**turn_columns(record), **record_columns(record)}
    return {**columns, "op_id": turn.op_id, "report_json": turn.report_json, "record_json": turn.record_json}


def item_columns(item: PendingItem) -> dict[str, object]:
    """Return the columns of pending work, but for its key."""
    columns = item.model_dump(exclude={"learner_id"})
    return {
        **columns,
        "created_at": item.created_at.timestamp(),
        "free_at": item.free_at.timestamp(),
    }
