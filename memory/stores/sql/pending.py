"""Pending learning work in SQL: items are claimed with a lease, stored and completed.

Whoever leases, stores or completes an item holds the lock on its learner's row, so that no two items of one
learner are leased at once. Times are seconds since 1970, UTC.
"""

from __future__ import annotations

from datetime import datetime

from ace_graph.base.errors import LearnerForgotten
from ace_graph.memory.commit import Pending, PendingItem
from ace_graph.memory.stores.records import (
    ITEM_COLUMNS,
    item_of,
    new_item,
)
from ace_graph.memory.stores.sql.database import Tables

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
