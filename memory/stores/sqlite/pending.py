"""The SQL of the SQLite store for pending work and for changes of turns.

The caller begins and ends the transactions; whoever changes an item holds the write lock.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta

from ace_graph.errors import LearnerForgotten, TrajectoryNotFound
from ace_graph.memory.commit import commit_key
from ace_graph.memory.pending import Amend, Pending, PendingCounts, PendingItem, bounded_error
from ace_graph.memory.serialization import load_record
from ace_graph.memory.stores.records import ITEM_COLUMNS, item_of, new_item, record_columns, turn_conditions
from ace_graph.memory.stores.sqlite.tables import Tables
from ace_graph.memory.trajectory import TrajectoryFilter
from ace_graph.memory.turn import TurnRecord

__all__ = [
    "amend_turn",
    "check_claimed",
    "claim_next",
    "count_items",
    "find_turns",
    "read_items",
    "release",
    "renew_lease",
    "retry_dead",
    "turns_query",
    "write_pending",
]

# The first item of its learner, free, and none of that learner is leased. Times are seconds since 1970, UTC.
_NEXT = f"""
SELECT p.seq, {ITEM_COLUMNS} FROM ace_pending p
WHERE p.state = 'pending' AND p.free_at <= :now AND (:learner IS NULL OR p.user_id = :learner)
AND NOT EXISTS (
    SELECT 1 FROM ace_pending q
    WHERE q.user_id = p.user_id AND q.state = 'pending' AND (
        q.priority > p.priority OR (q.priority = p.priority AND q.seq < p.seq)
        OR (q.lease IS NOT NULL AND q.free_at > :now)
    )
)
ORDER BY p.priority DESC, p.seq LIMIT 1
"""  # noqa: S608  only the names of columns are filled in


def write_pending(tables: Tables, learner: str, pending: Pending | PendingItem | None, now: datetime) -> None:
    """Store new work, or delete the item that the commit completes."""
    if isinstance(pending, PendingItem):
        key = commit_key(learner, pending.pending_id)
        tables.execute("DELETE FROM ace_pending WHERE key = ?", (key,))
    elif pending is not None:
        columns = {"key": commit_key(learner, pending.pending_id), **new_item(learner, pending, now)}
        tables.insert("ace_pending", columns, "ON CONFLICT (key) DO NOTHING")


def check_claimed(tables: Tables, learner: str, item: PendingItem) -> None:
    """Raise LearnerForgotten when the item that a commit completes is gone."""
    key = commit_key(learner, item.pending_id)
    if tables.execute("SELECT 1 FROM ace_pending WHERE key = ?", (key,)).fetchone() is None:
        raise LearnerForgotten(
            "the learner was forgotten while a worker processed the item: nothing is stored"
        )


def amend_turn(tables: Tables, learner: str, amend: Amend) -> TurnRecord | None:
    """Change the record of the newest attempt at the turn. Raises TrajectoryNotFound."""
    row = tables.execute(
        "SELECT seq, record_json FROM ace_turns WHERE user_id = ? AND turn_id = ? ORDER BY seq DESC LIMIT 1",
        (learner, amend.turn_id),
    ).fetchone()
    if row is None:
        if amend.missing_ok:
            return None
        raise TrajectoryNotFound(f"there is no trajectory {amend.turn_id}: trajectory list shows the ids")
    changed = amend.change(load_record(row[1]))
    columns = record_columns(changed)
    assigned = ", ".join(f"{name} = ?" for name in columns)
    tables.execute(
        f"UPDATE ace_turns SET {assigned} WHERE seq = ?",  # noqa: S608  names of ours
        (*columns.values(), row[0]),
    )
    return changed


def find_turns(
    tables: Tables, learner: str, wanted: TrajectoryFilter, limit: int, skip: int
) -> tuple[TurnRecord, ...]:
    """Return the turns that match, the newest first."""
    statement, values = turns_query(learner, wanted)
    rows = tables.execute(f"{statement} LIMIT ? OFFSET ?", (*values, limit, skip))
    return tuple(load_record(text) for (text,) in rows)


def turns_query(learner: str, wanted: TrajectoryFilter) -> tuple[str, list[object]]:
    """Return the statement for a filter, made of constants, and the values for it."""
    conditions = list(turn_conditions(wanted))
    where = ["user_id = ?", "NOT deleted", *(f"{name} {sign} ?" for name, sign, _ in conditions)]
    values: list[object] = [learner, *(value for _, _, value in conditions)]
    if wanted.turn_ids is not None:
        where.append("turn_id IN (SELECT value FROM json_each(?))")
        values.append(json.dumps(sorted(wanted.turn_ids)))
    return (
        f"SELECT record_json FROM ace_turns WHERE {' AND '.join(where)} ORDER BY seq DESC",  # noqa: S608  constants
        values,
    )


def claim_next(
    tables: Tables, owner: str, now: datetime, seconds: float, learner: str | None, token: str
) -> PendingItem | None:
    """Lease the next item."""
    row = tables.execute(_NEXT, {"now": now.timestamp(), "learner": learner}).fetchone()
    if row is None:
        return None
    found, until = item_of(row[1:]), now + timedelta(seconds=seconds)
    leased = found.model_copy(
        update={"lease": token, "owner": owner, "free_at": until, "attempts": found.attempts + 1}
    )
    tables.execute(
        "UPDATE ace_pending SET lease = ?, owner = ?, free_at = ?, attempts = ? WHERE seq = ?",
        (token, owner, until.timestamp(), leased.attempts, row[0]),
    )
    return leased


def renew_lease(tables: Tables, item: PendingItem, until: datetime) -> bool:
    """Extend the lease if the caller still holds it."""
    return _changed(tables, item, "free_at = ?", until.timestamp())


def release(tables: Tables, item: PendingItem, error: str, retry_at: datetime | None) -> bool:
    """Release the item with the error, or make it a dead letter."""
    state = "dead" if retry_at is None else "pending"
    free_at = (retry_at or item.free_at).timestamp()
    what = "state = ?, error = ?, free_at = ?, attempts = ?, lease = NULL"
    return _changed(tables, item, what, state, bounded_error(error), free_at, item.attempts)


def retry_dead(tables: Tables, learner: str, pending_id: str, now: datetime) -> bool:
    """Make a dead letter pending again."""
    done = tables.execute(
        "UPDATE ace_pending SET state = 'pending', attempts = 0, free_at = ?, lease = NULL "
        "WHERE key = ? AND state = 'dead'",
        (now.timestamp(), commit_key(learner, pending_id)),
    )
    return done.rowcount > 0


def read_items(tables: Tables, learner: str | None, dead: bool | None, limit: int) -> tuple[PendingItem, ...]:
    """Return the items in the order of the queue; a negative limit means all."""
    rows = tables.execute(
        f"SELECT {ITEM_COLUMNS} FROM ace_pending "  # noqa: S608  as above
        "WHERE (?1 IS NULL OR user_id = ?1) AND (?2 IS NULL OR (state = 'dead') = ?2) "
        "ORDER BY priority DESC, seq LIMIT ?3",
        (learner, dead, limit),
    )
    return tuple(map(item_of, rows))


def count_items(tables: Tables) -> PendingCounts:
    """Return how many items there are of each kind."""
    rows = tables.execute("SELECT state, count(*) FROM ace_pending GROUP BY state")
    found: dict[str, int] = dict(rows.fetchall())
    return PendingCounts(found.get("pending", 0), found.get("dead", 0))


def _changed(tables: Tables, item: PendingItem, what: str, *values: object) -> bool:
    statement = f"UPDATE ace_pending SET {what} WHERE key = ? AND lease = ?"  # noqa: S608  `what` is ours
    done = tables.execute(statement, (*values, commit_key(item.learner_id, item.pending_id), item.lease))
    return done.rowcount > 0
