"""A commit in one statement of PostgreSQL, where the state is still the one that it was planned from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from ace_graph.memory.commit import Pending, PendingItem
from ace_graph.memory.stores.commit_queue import SerializedPlan
from ace_graph.memory.stores.records import new_item
from ace_graph.memory.stores.snapshot_and_log import LEAST_TAIL, LEAST_TOUCHES
from ace_graph.memory.stores.sql.database import Tables
from ace_graph.memory.stores.states import delta_row, moved_columns, touches_row, turn_row

Columns = Mapping[str, object]


# Where another transaction holds the row, this waits for its end and compares with what that has left.
_IF_CURRENT = """
UPDATE ace_learners SET {assigned}, seq = seq + 1,
    effects_bytes = effects_bytes + :effect_bytes, touches_bytes = touches_bytes + :touches_bytes
WHERE user_id = :key AND epoch = :known_epoch AND etag = :known_etag
    AND access_clock = :known_clock AND access_mark = :known_mark
    AND coalesce(keys_from <= :begun, TRUE)
    AND NOT EXISTS (SELECT 1 FROM ace_deltas d WHERE d.user_id = :key AND d.op_id = :op_id)
    AND NOT EXISTS (SELECT 1 FROM ace_turns t WHERE t.user_id = :key AND t.op_id = :op_id)
"""


# The rule of `snapshot_and_log.folding`.
_FOLDS_NOTHING = """
    AND touches_bytes + :touches_bytes < greatest(:least_touches, stamps_bytes / 4)
    AND (NOT :content_changed OR (
        :new_version - coalesce(next_base_version, base_version) < :kept
        AND effects_bytes + :effect_bytes < greatest(:least_tail, base_bytes / 4)
    ))
"""


async def write_at_once(
    tables: Tables,
    learner: str,
    serialized: SerializedPlan,
    works: Iterable[Pending | PendingItem | None],
    begun: datetime,
) -> bool:
    """Write a plan in one statement if the stored state is the one that it was made from.

    False, and nothing is written, where the state is another one, the operation was applied before, keys
    from after `begun` were removed, or a fold is due: then the caller does the same under the lock.
    """
    plan, touched = serialized.plan, serialized.touched
    if touched is None or plan.parent.epoch is None:
        return False
    rows = [("ace_touches", touches_row(learner, touched), False)]
    if serialized.record is not None:
        rows.append(("ace_turns", turn_row(learner, serialized, serialized.record), True))
    if serialized.in_history:
        rows.append(("ace_deltas", delta_row(learner, serialized), True))
    for work in works:
        if work is not None and not isinstance(work, PendingItem):
            rows.append(("ace_pending", new_item(learner, work, plan.effect.now), True))
    moved = moved_columns(serialized)
    values = {**_compared(learner, serialized, begun), **moved}
    inserts = list[str]()
    for place, (table, columns, numbered) in enumerate(rows):
        inserts.append(f"row_{place} AS ({_inserted(table, columns, place, numbered=numbered)})")
        values |= {f"{name}_{place}": value for name, value in columns.items()}
    assigned = ", ".join(f"{name} = %({name})s" for name in moved)
    update = f"{_IF_CURRENT.format(assigned=assigned)}{_FOLDS_NOTHING} RETURNING ace_learners.seq"
    statement = f"WITH state AS ({update}), {', '.join(inserts)} SELECT seq FROM state"  # noqa: S608  names of ours
    return bool(await tables.fetch(statement, values))


def _inserted(table: str, columns: Columns, place: int, *, numbered: bool) -> str:
    names, places = ", ".join(columns), ", ".join(f"%({name}_{place})s" for name in columns)
    if numbered:
        names, places = f"{names}, seq", f"{places}, state.seq"
    after = "ON CONFLICT DO NOTHING" if table == "ace_pending" else ""
    return f"INSERT INTO {table} ({names}) SELECT {places} FROM state {after}"  # noqa: S608  names of ours


def _compared(learner: str, serialized: SerializedPlan, begun: datetime) -> dict[str, object]:
    """Return the values with which a stored state is compared before a plan is written onto it."""
    plan = serialized.plan
    return {
        "key": learner,
        "op_id": plan.effect.op_id,
        "begun": begun.timestamp(),
        "known_epoch": plan.parent.epoch,
        "known_etag": plan.parent.etag,
        "known_clock": plan.parent_clock,
        "known_mark": plan.parent_mark,
        "effect_bytes": serialized.effect_bytes,
        "touches_bytes": serialized.touches_bytes,
        "content_changed": plan.content_changed,
        "new_version": plan.snapshot.version.n,
        "kept": serialized.kept,
        "least_tail": LEAST_TAIL,
        "least_touches": LEAST_TOUCHES,
    }
