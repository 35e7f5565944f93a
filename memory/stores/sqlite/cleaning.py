"""Cleaning the SQLite store in batches; the list of learners, and the sizes.

`memory.retention` decides what is deleted. The learner's memory, which that needs, is read before the write
lock is taken, and its version is compared under the lock.
"""

from __future__ import annotations

from datetime import datetime

from ace_graph.memory.retention import Cleaned, named_turns
from ace_graph.memory.serialization import dump_record
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import LearnerSummary, StoreSizes
from ace_graph.memory.stores.base_and_tail import StateHead
from ace_graph.memory.stores.cleaning_batch import Batch, OldTurn, cleaned, next_part, with_fate
from ace_graph.memory.stores.records import summary_of
from ace_graph.memory.stores.sqlite.connection import writing
from ace_graph.memory.stores.sqlite.state import read_head, read_snapshot
from ace_graph.memory.stores.sqlite.tables import Tables
from ace_graph.memory.trajectory import without_steps

__all__ = ["begin_cleaning", "clean_batch", "count_batch", "list_learners", "read_sizes"]

_COLUMNS = (
    "t.seq, t.record_json, "
    "EXISTS (SELECT 1 FROM ace_pending p WHERE p.user_id = t.user_id AND p.turn_id = t.turn_id), "
    "EXISTS (SELECT 1 FROM ace_turns c WHERE c.user_id = t.user_id AND c.parent_id = t.turn_id)"
)
_NOT_KEPT = "(NOT :failures OR t.status NOT IN ('failure', 'partial') OR t.deleted)"
_OLD = {
    "steps": f"SELECT {_COLUMNS}, t.completed_at FROM ace_turns t "  # noqa: S608  constants
    "WHERE t.user_id = :learner AND t.has_steps AND t.completed_at < :before "
    f"AND (t.completed_at, t.seq) > (:at, :seq) AND {_NOT_KEPT} "
    "ORDER BY t.completed_at, t.seq LIMIT :most",
    "turns": f"SELECT {_COLUMNS}, t.started_at FROM ace_turns t "  # noqa: S608  constants
    "WHERE t.user_id = :learner AND t.started_at < :before "
    f"AND (t.started_at, t.seq) > (:at, :seq) AND {_NOT_KEPT} "
    "ORDER BY t.started_at, t.seq LIMIT :most",
}

# Versions are deleted from the oldest on, without a gap, and never past the base of the history.
_OLD_DELTAS = """
FROM ace_deltas WHERE user_id = :learner AND at < :before AND (NOT content_changed OR version < (
    SELECT coalesce(min(version), :base + 1) FROM ace_deltas
    WHERE user_id = :learner AND content_changed AND (at >= :before OR version > :base)
))
"""


def clean_batch(tables: Tables, batch: Batch) -> Cleaned:
    """Read one batch of rows and delete what is too old. Without any rows, no lock is taken."""
    if not _is_anything_old(tables, batch):
        return Cleaned(next=next_part(batch.place))
    known = _snapshot_for(tables, batch)
    with writing(tables.connection):
        head = read_head(tables, batch.learner)
        if batch.place.part == "deltas":
            done = _delete_deltas(tables, batch, head)
        else:
            snapshot = known if head.is_of(known) else _snapshot_for(tables, batch)
            old = _old_turns(tables, batch, snapshot)
            _delete_or_empty(tables, batch, old)
            done = cleaned(batch, old)
        if batch.cutoffs.records is not None and (done.turns or done.deltas):
            tables.execute(
                "UPDATE ace_learners SET keys_from = max(coalesce(keys_from, ?1), ?1) WHERE user_id = ?2",
                (batch.cutoffs.records.timestamp(), batch.learner),
            )
    return done


def count_batch(tables: Tables, batch: Batch) -> Cleaned:
    """Read the same rows and count what would be deleted; run it in one read transaction."""
    if not _is_anything_old(tables, batch):
        return Cleaned(next=next_part(batch.place))
    if batch.place.part == "deltas":
        values = batch.values(read_head(tables, batch.learner).marks.base)
        return Cleaned(deltas=tables.execute(f"SELECT count(*) {_OLD_DELTAS}", values).fetchone()[0])
    return cleaned(batch, _old_turns(tables, batch, _snapshot_for(tables, batch)))


def _is_anything_old(tables: Tables, batch: Batch) -> bool:
    if batch.before is None:
        return False
    if batch.place.part == "deltas":
        query, values = (
            f"SELECT 1 {_OLD_DELTAS} LIMIT 1",
            batch.values(read_head(tables, batch.learner).marks.base),
        )
    else:
        query, values = _OLD[batch.place.part], batch.values() | {"most": 1}
    return tables.execute(query, values).fetchone() is not None


def _snapshot_for(tables: Tables, batch: Batch) -> Snapshot:
    """The learner's memory, where this part of a cleaning needs to know which turns it names."""
    return Snapshot() if batch.place.part == "deltas" else read_snapshot(tables, batch.learner, None)


def _old_turns(tables: Tables, batch: Batch, snapshot: Snapshot) -> list[OldTurn]:
    """The rows of this batch with their fate."""
    rows = tables.execute(_OLD[batch.place.part], batch.values()).fetchall()
    return list(with_fate(rows, named_turns(snapshot), batch.cutoffs))


def _delete_or_empty(tables: Tables, batch: Batch, old: list[OldTurn]) -> None:
    if batch.place.part == "turns":
        going = [(each.seq,) for each in old if each.fate == "goes"]
        tables.executemany("DELETE FROM ace_turns WHERE seq = ?", going)
        return
    emptied = [
        (dump_record(without_steps(each.turn, "retention")), each.seq)
        for each in old
        if each.fate == "loses steps"
    ]
    tables.executemany("UPDATE ace_turns SET record_json = ?, has_steps = 0 WHERE seq = ?", emptied)
    # Rows from before this column was added seem to have steps.
    none = [(each.seq,) for each in old if not each.turn.steps]
    tables.executemany("UPDATE ace_turns SET has_steps = 0 WHERE seq = ?", none)


def _delete_deltas(tables: Tables, batch: Batch, head: StateHead) -> Cleaned:
    statement = (
        "DELETE FROM ace_deltas WHERE seq IN "  # noqa: S608  constants
        f"(SELECT seq {_OLD_DELTAS} ORDER BY version, seq LIMIT :most)"
    )
    deleted = tables.execute(statement, batch.values(head.marks.base)).rowcount
    return Cleaned(deltas=deleted, next=batch.place if deleted == batch.most else None)


def begin_cleaning(tables: Tables, now: datetime, every: float) -> bool:
    """Return whether a cleaning is due; if so, record its start. A clock set back blocks no cleaning."""
    moment = now.timestamp()
    return bool(
        tables.execute(
            "INSERT INTO ace_duties (name, began_at) VALUES ('cleaning', ?1) ON CONFLICT (name) DO UPDATE "
            "SET began_at = ?1 WHERE abs(?1 - began_at) >= ?2 RETURNING name",
            (moment, every),
        ).fetchall()
    )


def list_learners(tables: Tables, limit: int, after: str) -> tuple[LearnerSummary, ...]:
    """Return learners in the order of their ids."""
    rows = tables.execute(
        "SELECT user_id, version, created_at, updated_at, (SELECT coalesce(t.completed_at, t.started_at) "
        "FROM ace_turns t WHERE t.user_id = l.user_id AND NOT t.deleted ORDER BY t.seq DESC LIMIT 1) "
        "FROM ace_learners l WHERE user_id > ? ORDER BY user_id LIMIT ?",
        (after, limit),
    )
    return tuple(map(summary_of, rows))


def read_sizes(tables: Tables) -> StoreSizes:
    """Return the numbers of rows, and the bytes of the file without its write-ahead log."""
    row = tables.execute(
        "SELECT (SELECT count(*) FROM ace_learners), (SELECT count(*) FROM ace_turns), "
        "(SELECT count(*) FROM ace_deltas), (SELECT count(*) FROM ace_pending), "
        "(SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size)"
    ).fetchone()
    return StoreSizes(*row)
