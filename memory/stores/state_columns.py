"""The columns of states, deltas and turns in the SQL stores (SQLite, PostgreSQL), and what commits write.

See `stores.base_and_tail` for what they mean, and `stores.records` for other rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ace_graph.memory.catalogue.label import stored_label
from ace_graph.memory.snapshot import Version
from ace_graph.memory.stores.base_and_tail import Folding, Sizes, StateHead
from ace_graph.memory.stores.compaction import CompactionMarks
from ace_graph.memory.stores.records import turn_columns
from ace_graph.memory.stores.serialized_plan import SerializedPlan
from ace_graph.memory.turn import TurnRecord

__all__ = ["HEAD_COLUMNS", "delta_row", "head_of", "moved_columns", "state_row", "touches_row", "turn_row"]

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
        Version(epoch, n, etag, stored_label(n, major, minor)),
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
