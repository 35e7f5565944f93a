"""Writes a plan onto the state that it was made from; the caller holds the lock of the learner's row."""

from __future__ import annotations

from ace_graph.memory.stores.base_and_tail import (
    EMPTY_BASE,
    NO_STAMPS,
    Folding,
    StateHead,
    StoredEffect,
    StoredTouches,
    check_chain,
    check_touches,
)
from ace_graph.memory.stores.postgres.state import Locked
from ace_graph.memory.stores.postgres.tables import Tables
from ace_graph.memory.stores.serialized_plan import SerializedPlan
from ace_graph.memory.stores.state_columns import delta_row, state_row, turn_row

__all__ = ["delete_rows", "drop_effects", "write"]


async def write(tables: Tables, learner: str, serialized: SerializedPlan, locked: Locked) -> bool:
    """Write a plan; False where the learner was absent and another transaction was faster to begin it.

    Raises IncompleteState where a fold finds that the state is incomplete.
    """
    head, seq = locked.head, locked.seq + 1
    serialized.prepare(head)
    folds = serialized.folding(head)
    if not await _write_head(tables, learner, serialized, locked, folds):
        return False
    if folds.content:
        await _fold_content(tables, learner, serialized, head, folds)
    if folds.access:
        await _fold_access(tables, learner, serialized, head)
    elif serialized.plan.touches is not None:
        await _write_touches(tables, learner, serialized)
    if serialized.record is not None:
        await tables.insert("ace_turns", {**turn_row(learner, serialized, serialized.record), "seq": seq})
    if serialized.in_history:
        await tables.insert("ace_deltas", {**delta_row(learner, serialized), "seq": seq})
    if folds.marks.base != head.marks.base:
        await drop_effects(tables, learner, folds.marks.base)
    return True


async def _write_head(
    tables: Tables, learner: str, serialized: SerializedPlan, locked: Locked, folds: Folding
) -> bool:
    columns = {**state_row(serialized, locked.head, folds), "seq": locked.seq + 1}
    if locked.head.version.epoch is None:
        epoch, now = serialized.plan.snapshot.version.epoch, columns["updated_at"]
        begun = {"user_id": learner, "epoch": epoch, "created_at": now, **columns}
        return await tables.insert("ace_learners", begun, "ON CONFLICT DO NOTHING") > 0
    assigned = ", ".join(f"{name} = %s" for name in columns)
    await tables.run(
        f"UPDATE ace_learners SET {assigned} WHERE user_id = %s",  # noqa: S608  names of ours
        (*columns.values(), learner),
    )
    return True


async def _fold_content(
    tables: Tables, learner: str, serialized: SerializedPlan, head: StateHead, folds: Folding
) -> None:
    """Store the content as a base, and delete the bases that are not needed any more."""
    if head.version.epoch is not None:
        await _check_content(tables, learner, head)
    base = serialized.base
    columns = {
        "user_id": learner,
        "version": base.n,
        "etag": base.etag,
        "checksum": base.checksum,
        "memory_json": base.text,
    }
    await tables.insert("ace_bases", columns)
    if head.version.epoch is None:
        return
    marks = folds.marks
    needed = [n for n in (marks.base, marks.next, base.n) if n is not None]
    # Named playbooks keep bases of versions between the two marks, which only `keep_contents` deletes.
    await tables.run(
        "DELETE FROM ace_bases WHERE user_id = %s AND version <> ALL(%s) "
        "AND (version = %s OR (%s AND version < %s))",
        (learner, needed, head.base_n, marks != head.marks, marks.base),
    )


async def _check_content(tables: Tables, learner: str, head: StateHead) -> None:
    held = await tables.row(
        "SELECT version, etag FROM ace_bases WHERE user_id = %s AND version = %s", (learner, head.base_n)
    )
    links = await tables.rows(
        "SELECT version, parent, etag, CASE WHEN effect_json IS NULL THEN NULL ELSE '' END FROM ace_deltas "
        "WHERE user_id = %s AND content_changed AND version > %s ORDER BY version",
        (learner, head.base_n),
    )
    start = (EMPTY_BASE.n, EMPTY_BASE.etag) if held is None else (held[0], held[1])
    check_chain(start, (StoredEffect(*row) for row in links), head.version)


async def _fold_access(tables: Tables, learner: str, serialized: SerializedPlan, head: StateHead) -> None:
    """Store the stamps as they are after the commit, in place of the earlier ones and all touches."""
    held = await tables.row("SELECT mark FROM ace_stamps WHERE user_id = %s", (learner,))
    touches = await tables.rows(
        "SELECT parent, mark, '' FROM ace_touches WHERE user_id = %s ORDER BY clock", (learner,)
    )
    mark = NO_STAMPS.mark if held is None else held[0]
    check_touches(mark, (StoredTouches(*row) for row in touches), head.access_mark)
    stamps = serialized.stamps
    columns = {
        "user_id": learner,
        "mark": stamps.mark,
        "checksum": stamps.checksum,
        "stamps_json": stamps.text,
    }
    await tables.insert(
        "ace_stamps",
        columns,
        "ON CONFLICT (user_id) DO UPDATE SET mark = excluded.mark, checksum = excluded.checksum, "
        "stamps_json = excluded.stamps_json",
    )
    await tables.run("DELETE FROM ace_touches WHERE user_id = %s", (learner,))


async def _write_touches(tables: Tables, learner: str, serialized: SerializedPlan) -> None:
    access = serialized.plan.snapshot.access
    columns = {
        "user_id": learner,
        "clock": access.access_clock,
        "parent": serialized.plan.parent_mark,
        "mark": access.mark,
        "touches_json": serialized.touches_json,
    }
    await tables.insert("ace_touches", columns)


async def drop_effects(tables: Tables, learner: str, base: int) -> None:
    """Drop the effects up to the base of the history; their keys and reports stay."""
    await tables.run(
        "UPDATE ace_deltas SET effect_json = NULL, effect_bytes = 0 "
        "WHERE user_id = %s AND version <= %s AND content_changed AND effect_json IS NOT NULL",
        (learner, base),
    )


async def delete_rows(tables: Tables, key: str) -> bool:
    """Delete all rows of a learner, or of a playbook; False when there were none."""
    found = 0
    for statement in (
        "DELETE FROM ace_learners WHERE user_id = %s",
        "DELETE FROM ace_bases WHERE user_id = %s",
        "DELETE FROM ace_stamps WHERE user_id = %s",
        "DELETE FROM ace_touches WHERE user_id = %s",
        "DELETE FROM ace_deltas WHERE user_id = %s",
        "DELETE FROM ace_turns WHERE user_id = %s",
        "DELETE FROM ace_pending WHERE user_id = %s",
    ):
        found += await tables.change(statement, (key,))
    return found > 0
