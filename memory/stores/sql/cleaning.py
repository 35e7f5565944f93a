"""Cleaning in batches, under the learner's lock; the list of learners, and the sizes.

`memory.retention` decides what is deleted. The learner's memory, which that needs, is read before the lock is
taken; under it only what came after is read.
"""

from __future__ import annotations

from ace_graph.memory.record_retention import Cleaned, named_turns
from ace_graph.memory.serialization import dump_record
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import StoreSizes
from ace_graph.memory.stores.cleaning import Batch, OldTurn
from ace_graph.memory.stores.sql.database import Tables
from ace_graph.memory.stores.sql.state import lock, read_head, read_snapshot
from ace_graph.memory.trajectory import without_steps

_COLUMNS = (
    "t.seq, t.seq, t.record_json, "
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


def _values(batch: Batch, base: int = 0) -> dict[str, object]:
    """Return the values of the statements; `base` is the oldest version of the history."""
    place, before = batch.place, batch.before
    return {
        "learner": batch.learner,
        "before": None if before is None else before.isoformat(),
        "at": "" if place.at is None else place.at.isoformat(),
        "seq": place.seq,
        "failures": batch.cutoffs.keep_failures,
        "base": base,
        "most": batch.most,
    }


async def clean_batch(tables: Tables, batch: Batch) -> Cleaned:
    """Read one batch of rows and delete what is too old. Without any rows, no lock is taken."""
    if not await _is_anything_old(tables, batch):
        return Cleaned(next=batch.following)
    known = await _snapshot_for(tables, batch, None)
    async with tables.writing():
        head = (await lock(tables, batch.learner)).head
        if batch.place.part == "deltas":
            statement = (
                "DELETE FROM ace_deltas WHERE user_id = :learner AND op_id IN "  # noqa: S608  constants
                f"(SELECT op_id {_OLD_DELTAS} ORDER BY version, seq LIMIT :most)"
            )
            deleted = await tables.change(statement, _values(batch, head.marks.base))
            done = Cleaned(deltas=deleted, next=batch.place if deleted == batch.most else None)
        else:
            old = await _old_turns(tables, batch, known)
            await _delete_or_empty(tables, batch, old)
            done = batch.cleaned(old)
        if batch.cutoffs.records is not None and (done.turns or done.deltas):
            await tables.change(
                "UPDATE ace_learners SET keys_from = CASE WHEN keys_from > :moment THEN keys_from "
                "ELSE :moment END WHERE user_id = :learner",
                {"moment": batch.cutoffs.records.timestamp(), "learner": batch.learner},
            )
    return done


async def count_batch(tables: Tables, batch: Batch) -> Cleaned:
    """Read the same rows and count what would be deleted; run it in one read transaction."""
    if not await _is_anything_old(tables, batch):
        return Cleaned(next=batch.following)
    if batch.place.part == "deltas":
        base = (await read_head(tables, batch.learner)).marks.base
        row = await tables.row(f"SELECT count(*) {_OLD_DELTAS}", _values(batch, base))
        return Cleaned(deltas=row[0] if row else 0)
    return batch.cleaned(await _old_turns(tables, batch, None))


async def _is_anything_old(tables: Tables, batch: Batch) -> bool:
    if batch.before is None:
        return False
    if batch.place.part == "deltas":
        base = (await read_head(tables, batch.learner)).marks.base
        query, values = f"SELECT 1 {_OLD_DELTAS} LIMIT 1", _values(batch, base)
    else:
        query, values = _OLD[batch.place.part], {**_values(batch), "most": 1}
    return await tables.row(query, values) is not None


async def _snapshot_for(tables: Tables, batch: Batch, known: Snapshot | None) -> Snapshot:
    """The learner's memory, where this part of a cleaning needs to know which turns it names."""
    return Snapshot() if batch.place.part == "deltas" else await read_snapshot(tables, batch.learner, known)


async def _old_turns(tables: Tables, batch: Batch, known: Snapshot | None) -> list[OldTurn]:
    """The rows of this batch with their fate."""
    rows = await tables.rows(_OLD[batch.place.part], _values(batch))
    return batch.with_fates(rows, named_turns(await _snapshot_for(tables, batch, known)))


async def _delete_or_empty(tables: Tables, batch: Batch, old: list[OldTurn]) -> None:
    if batch.place.part == "turns":
        going = [turn.seq for turn in old if turn.fate == "goes"]
        await tables.change(
            "DELETE FROM ace_turns WHERE user_id = ? AND seq = ANY(?)", (batch.learner, going)
        )
        return
    await tables.change_each(
        "UPDATE ace_turns SET record_json = ?, has_steps = FALSE WHERE user_id = ? AND seq = ?",
        [
            (dump_record(without_steps(turn.turn, "retention")), batch.learner, turn.seq)
            for turn in old
            if turn.fate == "loses steps"
        ],
    )


async def read_sizes(tables: Tables) -> StoreSizes:
    """Return the numbers of rows, and the bytes that the tables of both namespaces take."""
    counts = await tables.row(
        "SELECT (SELECT count(*) FROM ace_learners), (SELECT count(*) FROM ace_turns), "
        "(SELECT count(*) FROM ace_deltas), (SELECT count(*) FROM ace_pending)"
    )
    size = await tables.of("learners").row(f"SELECT {tables.size}")
    return StoreSizes(*(counts or (0, 0, 0, 0)), *(size or ()))
