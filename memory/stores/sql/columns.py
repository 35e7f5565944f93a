"""The columns of the SQL store that commits write, and the head of a state.

See `stores.base_and_tail` for what they mean, and `stores.records` for other rows.
"""

from __future__ import annotations

from ace_graph.memory.snapshot import Label, Version
from ace_graph.memory.stores.records import turn_columns
from ace_graph.memory.stores.serialized_plan import SerializedPlan
from ace_graph.memory.stores.snapshot_and_log import CompactionMarks, Folding, Sizes, StateHead
from ace_graph.memory.stores.sql.database import Row
from ace_graph.memory.turn import TurnRecord

HEAD_COLUMNS = (
    "epoch, version, etag, major, minor, access_clock, access_mark, base_version, next_base_version, "
    "content_base, base_bytes, effects_bytes, stamps_bytes, touches_bytes, keys_from"
)
BASE_COLUMNS = "version, etag, checksum, memory_json"
STAMPS_COLUMNS = "mark, checksum, stamps_json"


def head_of(row: Row) -> StateHead:
    """Return the small part of a state in the columns `HEAD_COLUMNS`."""
    epoch, n, etag, major, minor, clock, mark, base, next_base, base_n, *sizes, keys_from = row
    version, marks = Version(epoch, n, etag, Label(major, minor)), CompactionMarks(base, next_base)
    return StateHead(version, clock, mark, marks, base_n, Sizes(*sizes[:2]), Sizes(*sizes[2:]), keys_from)


def head_row(head: StateHead) -> Row:
    """Return the columns `HEAD_COLUMNS` of a state."""
    version, marks = head.version, head.marks
    state = (version.epoch, version.n, version.etag, *version.label, head.access_clock, head.access_mark)
    return (*state, marks.base, marks.next, head.base_n, *head.content, *head.access, head.keys_from)


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
