"""Pending work and changes of turns.

Whoever leases, stores or completes an item holds the lock on its learner's row, so that no two items of one
learner are leased at once. Times are seconds since 1970, UTC.
"""

from __future__ import annotations

from datetime import datetime

from ace_graph.base.errors import LearnerForgotten, TrajectoryNotFound
from ace_graph.memory.commit import Amend, Pending, PendingCounts, PendingItem, bounded_error
from ace_graph.memory.serialization import load_record
from ace_graph.memory.stores.records import ITEM_COLUMNS, item_of, new_item, record_columns, turn_conditions
from ace_graph.memory.stores.sql.database import Tables
from ace_graph.memory.trajectory import TrajectoryFilter
from ace_graph.memory.turn import TurnRecord

_FREE = """
p.state = 'pending' AND p.free_at <= :now AND NOT EXISTS (
    SELECT 1 FROM ace_pending q
    WHERE q.user_id = p.user_id AND q.state = 'pending' AND (
        q.priority > p.priority OR (q.priority = p.priority AND q.seq < p.seq)
        OR (q.lease IS NOT NULL AND q.free_at > :now)
    )
)
"""
"""The item is the first of its learner, and none of that learner is leased."""

# The second look, in CLAIM, is under the lock and reads what others have committed in the meantime.
_NEXT = f"""
SELECT p.user_id, p.pending_id FROM ace_pending p CROSS JOIN ace_learners l
WHERE l.user_id = p.user_id AND {_FREE} {{of_learner}}
ORDER BY p.priority DESC, p.created_at, p.user_id, p.seq LIMIT 1{{how}}
"""  # noqa: S608  constants
_CLAIM = f"""
UPDATE ace_pending AS p SET lease = :lease, owner = :owner, free_at = :until, attempts = attempts + 1
WHERE p.user_id = :learner AND p.pending_id = :item AND {_FREE}
RETURNING {ITEM_COLUMNS}
"""  # noqa: S608  constants


async def claim_next(
    tables: Tables, owner: str, now: datetime, seconds: float, learner: str | None, token: str
) -> PendingItem | None:
    """Lease the next item in a transaction of the caller's; None where none is free.

    Learners that another worker or a commit has locked are passed over, unless there are no others.
    """
    moment = now.timestamp()
    values = {"now": moment, "until": moment + seconds, "lease": token, "owner": owner, "learner": learner}
    of_learner = "" if learner is None else "AND p.user_id = :learner"
    for how in (" FOR UPDATE OF l SKIP LOCKED", " FOR UPDATE OF l") if tables.locks_rows else ("",):
        query = _NEXT.format(of_learner=of_learner, how=how)
        while (found := await tables.row(query, values)) is not None:
            claimed = await tables.row(_CLAIM, {**values, "learner": found[0], "item": found[1]})
            if claimed is not None:
                return item_of(claimed)
    return None


async def write_pending(
    tables: Tables, learner: str, pending: Pending | None, now: datetime, seq: int
) -> None:
    """Store new work, unless it is there already."""
    if pending is not None:
        values = {**new_item(learner, pending, now), "seq": seq}
        await tables.insert("ace_pending", values, "ON CONFLICT DO NOTHING")


async def complete_item(tables: Tables, learner: str, item: PendingItem) -> None:
    """Delete the item that a commit completes. Raises LearnerForgotten when it is gone."""
    done = await tables.change(
        "DELETE FROM ace_pending WHERE user_id = ? AND pending_id = ?", (learner, item.pending_id)
    )
    if not done:
        raise LearnerForgotten(
            "the learner was forgotten while a worker processed the item: nothing is stored"
        )


async def amend_turn(tables: Tables, learner: str, amend: Amend) -> TurnRecord | None:
    """Change the record of the newest attempt at the turn. Raises TrajectoryNotFound."""
    row = await tables.row(
        "SELECT op_id, record_json FROM ace_turns WHERE user_id = ? AND turn_id = ? "
        "ORDER BY seq DESC LIMIT 1",
        (learner, amend.turn_id),
    )
    if row is None:
        if amend.missing_ok:
            return None
        raise TrajectoryNotFound(f"there is no trajectory {amend.turn_id}: trajectory list shows the ids")
    changed = amend.change(load_record(row[1]))
    columns = record_columns(changed)
    assigned = ", ".join(f"{name} = ?" for name in columns)
    await tables.change(
        f"UPDATE ace_turns SET {assigned} WHERE user_id = ? AND op_id = ?",  # noqa: S608  names of ours
        (*columns.values(), learner, row[0]),
    )
    return changed


async def find_turns(
    tables: Tables, learner: str, wanted: TrajectoryFilter, limit: int, skip: int
) -> tuple[TurnRecord, ...]:
    """Return the turns that match, the newest first."""
    statement, values = turns_query(learner, wanted)
    rows = await tables.rows(f"{statement} LIMIT ? OFFSET ?", (*values, limit, skip))
    return tuple(load_record(text) for (text,) in rows)


def turns_query(learner: str, wanted: TrajectoryFilter) -> tuple[str, list[object]]:
    """Return the statement for a filter, made of constants, and the values for it."""
    conditions = list(turn_conditions(wanted))
    where = ["user_id = ?", "NOT deleted", *(f"{name} {sign} ?" for name, sign, _ in conditions)]
    values: list[object] = [learner, *(value for _, _, value in conditions)]
    if wanted.turn_ids is not None:
        where.append("turn_id = ANY(?)")
        values.append(sorted(wanted.turn_ids))
    return (
        f"SELECT record_json FROM ace_turns WHERE {' AND '.join(where)} ORDER BY seq DESC",  # noqa: S608  constants
        values,
    )


async def renew_lease(tables: Tables, item: PendingItem, until: datetime) -> bool:
    """Extend the lease if the caller still holds it."""
    return await _changed(tables, item, "free_at = ?", until.timestamp())


async def release(tables: Tables, item: PendingItem, error: str, retry_at: datetime | None) -> bool:
    """Release the item with the error, or make it a dead letter."""
    state = "dead" if retry_at is None else "pending"
    free_at = (retry_at or item.free_at).timestamp()
    what = "state = ?, error = ?, free_at = ?, attempts = ?, lease = NULL"
    return await _changed(tables, item, what, state, bounded_error(error), free_at, item.attempts)


async def retry_dead(tables: Tables, learner: str, pending_id: str, now: datetime) -> bool:
    """Make a dead letter pending again."""
    done = await tables.change(
        "UPDATE ace_pending SET state = 'pending', attempts = 0, free_at = ?, lease = NULL "
        "WHERE user_id = ? AND pending_id = ? AND state = 'dead'",
        (now.timestamp(), learner, pending_id),
    )
    return done > 0


async def read_items(
    tables: Tables, learner: str | None, dead: bool | None, limit: int
) -> tuple[PendingItem, ...]:
    """Return the items in the order of the queue."""
    where, values = ["TRUE"], list[object]()
    if learner is not None:
        where.append("user_id = ?")
        values.append(learner)
    if dead is not None:
        where.append("state = ?")
        values.append("dead" if dead else "pending")
    rows = await tables.rows(
        f"SELECT {ITEM_COLUMNS} FROM ace_pending WHERE {' AND '.join(where)} "  # noqa: S608  constants
        "ORDER BY priority DESC, created_at, user_id, seq LIMIT ?",
        (*values, limit),
    )
    return tuple(map(item_of, rows))


async def count_items(tables: Tables) -> PendingCounts:
    """Return how many items there are of each kind."""
    rows = await tables.rows("SELECT state, count(*) FROM ace_pending GROUP BY state")
    found: dict[str, int] = dict(rows)
    return PendingCounts(found.get("pending", 0), found.get("dead", 0))


async def _changed(tables: Tables, item: PendingItem, what: str, *values: object) -> bool:
    statement = f"UPDATE ace_pending SET {what} WHERE user_id = ? AND pending_id = ? AND lease = ?"  # noqa: S608  `what` is ours
    done = await tables.change(statement, (*values, item.learner_id, item.pending_id, item.lease))
    return done > 0
