"""Cleaning PostgreSQL in batches, under the learner's lock; the list of learners, and the sizes.

`memory.retention` decides what is deleted.
"""

from __future__ import annotations

from datetime import datetime

from ace_graph.memory.retention import Cleaned, named_turns
from ace_graph.memory.serialization import dump_record
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import LearnerSummary, StoreSizes
from ace_graph.memory.stores.cleaning_batch import Batch, OldTurn, cleaned, next_part, with_fate
from ace_graph.memory.stores.postgres.migrations import TABLES
from ace_graph.memory.stores.postgres.state import read_head, read_snapshot
from ace_graph.memory.stores.postgres.tables import Tables
from ace_graph.memory.stores.records import summary_of
from ace_graph.memory.trajectory import without_steps

__all__ = ["begin_cleaning", "clean_batch", "count_batch", "is_anything_old", "list_learners", "read_sizes"]

_COLUMNS = (
    "t.seq, t.record_json, "
    "EXISTS (SELECT 1 FROM ace_pending p WHERE p.user_id = t.user_id AND p.turn_id = t.turn_id), "
    "EXISTS (SELECT 1 FROM ace_turns c WHERE c.user_id = t.user_id AND c.parent_id = t.turn_id)"
)
_NOT_KEPT = "(NOT %(failures)s OR t.status NOT IN ('failure', 'partial') OR t.deleted)"
_OLD = {
    "steps": f"SELECT {_COLUMNS}, t.completed_at FROM ace_turns t "  # noqa: S608  constants
    "WHERE t.user_id = %(learner)s AND t.has_steps AND t.completed_at < %(before)s "
    f"AND (t.completed_at, t.seq) > (%(at)s, %(seq)s) AND {_NOT_KEPT} "
    "ORDER BY t.completed_at, t.seq LIMIT %(most)s",
    "turns": f"SELECT {_COLUMNS}, t.started_at FROM ace_turns t "  # noqa: S608  constants
    "WHERE t.user_id = %(learner)s AND t.started_at < %(before)s "
    f"AND (t.started_at, t.seq) > (%(at)s, %(seq)s) AND {_NOT_KEPT} "
    "ORDER BY t.started_at, t.seq LIMIT %(most)s",
}

# Versions are deleted from the oldest on, without a gap, and never past the base of the history.
_OLD_DELTAS = """
FROM ace_deltas WHERE user_id = %(learner)s AND at < %(before)s AND (NOT content_changed OR version < (
    SELECT coalesce(min(version), %(base)s + 1) FROM ace_deltas
    WHERE user_id = %(learner)s AND content_changed AND (at >= %(before)s OR version > %(base)s)
))
"""


async def is_anything_old(tables: Tables, batch: Batch) -> bool:
    """Whether a batch has any rows to look at; asked before a lock is taken."""
    if batch.before is None:
        return False
    if batch.place.part == "deltas":
        base = (await read_head(tables, batch.learner)).marks.base
        query, values = f"SELECT 1 {_OLD_DELTAS} LIMIT 1", batch.values(base)
    else:
        query, values = _OLD[batch.place.part], {**batch.values(), "most": 1}
    return await tables.row(query, values) is not None


async def clean_batch(tables: Tables, batch: Batch) -> Cleaned:
    """Read one batch of rows and delete what is too old; the caller holds the learner's lock."""
    if batch.place.part == "deltas":
        done = await _delete_deltas(tables, batch)
    else:
        old = await _old_turns(tables, batch)
        await _delete_or_empty(tables, batch, old)
        done = cleaned(batch, old)
    if batch.cutoffs.records is not None and (done.turns or done.deltas):
        await tables.run(
            "UPDATE ace_learners SET keys_from = greatest(keys_from, %s::double precision) "
            "WHERE user_id = %s",
            (batch.cutoffs.records.timestamp(), batch.learner),
        )
    return done


async def count_batch(tables: Tables, batch: Batch) -> Cleaned:
    """Read the same rows and count what would be deleted; run it in one read transaction."""
    if not await is_anything_old(tables, batch):
        return Cleaned(next=next_part(batch.place))
    if batch.place.part == "deltas":
        base = (await read_head(tables, batch.learner)).marks.base
        row = await tables.row(f"SELECT count(*) {_OLD_DELTAS}", batch.values(base))
        return Cleaned(deltas=row[0] if row else 0)
    return cleaned(batch, await _old_turns(tables, batch))


async def _old_turns(tables: Tables, batch: Batch) -> list[OldTurn]:
    """The rows of this batch with their fate."""
    rows = await tables.rows(_OLD[batch.place.part], batch.values())
    snapshot = await read_snapshot(tables, batch.learner, None) if rows else Snapshot()
    return list(with_fate(rows, named_turns(snapshot), batch.cutoffs))


async def _delete_or_empty(tables: Tables, batch: Batch, old: list[OldTurn]) -> None:
    if batch.place.part == "turns":
        going = [each.seq for each in old if each.fate == "goes"]
        await tables.run("DELETE FROM ace_turns WHERE user_id = %s AND seq = ANY(%s)", (batch.learner, going))
        return
    for each in old:
        if each.fate == "loses steps":
            await tables.run(
                "UPDATE ace_turns SET record_json = %s, has_steps = FALSE WHERE user_id = %s AND seq = %s",
                (dump_record(without_steps(each.turn, "retention")), batch.learner, each.seq),
            )


async def _delete_deltas(tables: Tables, batch: Batch) -> Cleaned:
    base = (await read_head(tables, batch.learner)).marks.base
    statement = (
        "DELETE FROM ace_deltas WHERE user_id = %(learner)s AND op_id IN "  # noqa: S608  constants
        f"(SELECT op_id {_OLD_DELTAS} ORDER BY version, seq LIMIT %(most)s)"
    )
    deleted = await tables.change(statement, batch.values(base))
    return Cleaned(deltas=deleted, next=batch.place if deleted == batch.most else None)


async def begin_cleaning(tables: Tables, now: datetime, every: float) -> bool:
    """Return whether a cleaning is due; if so, record its start. A clock set back blocks no cleaning."""
    row = await tables.row(
        "INSERT INTO ace_memory_duties AS d (name, began_at) VALUES ('cleaning', %(now)s) "
        "ON CONFLICT (name) DO UPDATE SET began_at = excluded.began_at "
        "WHERE abs(excluded.began_at - d.began_at) >= %(every)s RETURNING name",
        {"now": now.timestamp(), "every": every},
    )
    return row is not None


async def list_learners(tables: Tables, limit: int, after: str) -> tuple[LearnerSummary, ...]:
    """Return learners in the order of their ids."""
    rows = await tables.rows(
        "SELECT user_id, version, created_at, updated_at, (SELECT coalesce(t.completed_at, t.started_at) "
        "FROM ace_turns t WHERE t.user_id = l.user_id AND NOT t.deleted ORDER BY t.seq DESC LIMIT 1) "
        "FROM ace_learners l WHERE user_id > %s ORDER BY user_id LIMIT %s",
        (after, limit),
    )
    return tuple(map(summary_of, rows))


async def read_sizes(tables: Tables) -> StoreSizes:
    """Return the numbers of rows, and the bytes of the tables of both namespaces with their indexes."""
    row = await tables.row(
        "SELECT (SELECT count(*) FROM ace_learners), (SELECT count(*) FROM ace_turns), "
        "(SELECT count(*) FROM ace_deltas), (SELECT count(*) FROM ace_pending), "
        "(SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c "
        "WHERE c.oid = ANY(%(all)s::regclass[]) "
        "OR c.oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = ANY(%(all)s::regclass[])))",
        {"all": list(TABLES)},
    )
    return StoreSizes(*row) if row else StoreSizes(0, 0, 0, 0)
