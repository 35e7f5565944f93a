"""Writes a plan onto the state that it was made from.

Most commits fold nothing and meet no other writer: these are one statement, which locks the learner's row,
compares, and writes (`write_at_once`). The others are a transaction that holds the lock (`write`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from ace_graph.memory.pending import Pending
from ace_graph.memory.stores.base_and_tail import (
    EMPTY_BASE,
    LEAST_TAIL,
    LEAST_TOUCHES,
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
from ace_graph.memory.stores.records import new_item
from ace_graph.memory.stores.serialized_plan import SerializedPlan
from ace_graph.memory.stores.state_columns import delta_row, moved_columns, state_row, touches_row, turn_row
from ace_graph.off_loop import off_loop

__all__ = ["delete_rows", "drop_effects", "write", "write_at_once"]

# Where another transaction holds the row, this waits for its end and compares with what that has left.
_IF_CURRENT = """
UPDATE ace_learners SET {assigned}, seq = seq + 1,
    effects_bytes = effects_bytes + %(effect_bytes)s, touches_bytes = touches_bytes + %(touches_bytes)s
WHERE user_id = %(key)s AND epoch = %(known_epoch)s AND etag = %(known_etag)s
    AND access_clock = %(known_clock)s AND access_mark = %(known_mark)s
    AND coalesce(keys_from <= %(begun)s, TRUE)
    AND NOT EXISTS (SELECT 1 FROM ace_deltas d WHERE d.user_id = %(key)s AND d.op_id = %(op_id)s)
    AND NOT EXISTS (SELECT 1 FROM ace_turns t WHERE t.user_id = %(key)s AND t.op_id = %(op_id)s)
"""
# The rule of `base_and_tail.folding`.
_FOLDS_NOTHING = """
    AND touches_bytes + %(touches_bytes)s < greatest(%(least_touches)s, stamps_bytes / 4)
    AND (NOT %(content_changed)s OR (
        %(new_version)s - coalesce(next_base_version, base_version) < %(kept)s
        AND effects_bytes + %(effect_bytes)s < greatest(%(least_tail)s, base_bytes / 4)
    ))
"""

Columns = Mapping[str, object]


async def write_at_once(
    tables: Tables,
    learner: str,
    serialized: SerializedPlan,
    works: Iterable[Pending | None],
    begun: datetime,
) -> bool:
    """Write a plan in one statement if the stored state is the one that it was made from.

    False, and nothing is written, where the state is another one, the operation was applied before, keys
    from after `begun` were removed, or a fold is due: then the caller does the same under the lock.
    """
    plan = serialized.plan
    if plan.touches is None or plan.parent.epoch is None:
        return False
    rows = [("ace_touches", touches_row(learner, serialized), False)]
    if serialized.record is not None:
        rows.append(("ace_turns", turn_row(learner, serialized, serialized.record), True))
    if serialized.in_history:
        rows.append(("ace_deltas", delta_row(learner, serialized), True))
    rows += [("ace_pending", new_item(learner, work, plan.effect.now), True) for work in works if work]
    moved = moved_columns(serialized)
    values = {**_compared(learner, serialized, begun), **moved}
    inserts = list[str]()
    for place, (table, columns, numbered) in enumerate(rows):
        inserts.append(f"row_{place} AS ({_inserted(table, columns, place, numbered=numbered)})")
        values |= {f"{name}_{place}": value for name, value in columns.items()}
    assigned = ", ".join(f"{name} = %({name})s" for name in moved)
    update = f"{_IF_CURRENT.format(assigned=assigned)}{_FOLDS_NOTHING} RETURNING ace_learners.seq"
    statement = f"WITH state AS ({update}), {', '.join(inserts)} SELECT seq FROM state"  # noqa: S608  names of ours
    return await tables.row(statement, values) is not None


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


async def write(tables: Tables, learner: str, serialized: SerializedPlan, locked: Locked) -> bool:
    """Write a plan; False where the learner was absent and another transaction was faster to begin it.

    Raises IncompleteState where a fold finds that the state is incomplete.
    """
    head, seq = locked.head, locked.seq + 1
    await off_loop(serialized.prepare, head)
    folds = serialized.folding(head)
    if not await _write_head(tables, learner, serialized, locked, folds):
        return False
    if folds.content:
        await _fold_content(tables, learner, serialized, head, folds)
    if folds.access:
        await _fold_access(tables, learner, serialized, head)
    elif serialized.plan.touches is not None:
        await tables.insert("ace_touches", touches_row(learner, serialized))
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
        "DELETE FROM ace_vectors WHERE user_id = %s",
    ):
        found += await tables.change(statement, (key,))
    return found > 0
