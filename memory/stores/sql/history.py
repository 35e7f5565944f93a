"""What is under a key beside its state: history, versions, turns, vectors, pending work.

What needs several statements runs in one read transaction of the caller's.
"""

from __future__ import annotations

from collections.abc import Mapping

from ace_graph.base.errors import TrajectoryNotFound
from ace_graph.memory.commit import Amend, History
from ace_graph.memory.delta.effect import Report, apply
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.serialization import load_effect, load_record, load_report
from ace_graph.memory.stores.base import StoredVersion, VectorChange
from ace_graph.memory.stores.records import (
    HISTORY_COLUMNS,
    VERSION_COLUMNS,
    history_entry_of,
    record_columns,
    stored_version_of,
    turn_conditions,
)
from ace_graph.memory.stores.snapshot_and_log import StoredBase, base_checksum, dump_base, load_base
from ace_graph.memory.stores.sql.database import Tables
from ace_graph.memory.stores.sql.state import drop_effects, put_base, read_base, read_head
from ace_graph.memory.trajectory import TrajectoryFilter
from ace_graph.memory.turn import TurnRecord


async def read_report(tables: Tables, learner: str, op_id: str) -> Report | None:
    """Return the report of the operation if it was applied before."""
    row = await tables.row(
        "SELECT report_json FROM ace_deltas WHERE user_id = :key AND op_id = :op "
        "UNION ALL SELECT report_json FROM ace_turns WHERE user_id = :key AND op_id = :op",
        {"key": learner, "op": op_id},
    )
    return None if row is None else load_report(row[0])


async def read_history(tables: Tables, learner: str, *, everything: bool) -> History:
    """Return the content changes whose effect is kept; with `everything` all commits without a turn too."""
    base = (await read_head(tables, learner)).marks.base
    content = await _content(tables, learner, base)
    rows = await tables.rows(
        f"SELECT {HISTORY_COLUMNS} FROM ace_deltas "  # noqa: S608  constants
        "WHERE user_id = ? AND (? OR (content_changed AND effect_json IS NOT NULL)) ORDER BY seq",
        (learner, everything),
    )
    return History(base, content, tuple(map(history_entry_of, rows)))


async def read_turns(tables: Tables, learner: str, limit: int) -> tuple[TurnRecord, ...]:
    """Return the newest turn records."""
    rows = await tables.rows(
        "SELECT record_json FROM ace_turns WHERE user_id = ? AND NOT deleted ORDER BY seq DESC LIMIT ?",
        (learner, limit),
    )
    return tuple(load_record(text) for (text,) in rows)


async def unknown_turns(tables: Tables, learner: str, trajectories: frozenset[str]) -> frozenset[str]:
    """Return those of the trajectories that the learner has no record of."""
    if not trajectories:
        return trajectories
    rows = await tables.rows(
        "SELECT DISTINCT turn_id FROM ace_turns WHERE user_id = ? AND turn_id = ANY(?)",
        (learner, sorted(trajectories)),
    )
    return trajectories - {name for (name,) in rows}


async def read_versions(tables: Tables, key: str) -> tuple[StoredVersion, ...]:
    """Return all versions, the oldest first."""
    kept = await _kept(tables, key)
    base = (await read_head(tables, key)).marks.base
    rows = await tables.rows(
        f"SELECT {VERSION_COLUMNS} FROM ace_deltas "  # noqa: S608  constants
        "WHERE user_id = ? AND content_changed ORDER BY version",
        (key,),
    )
    return tuple(stored_version_of(row, base=base, kept=kept) for row in rows)


async def read_content_at(tables: Tables, key: str, n: int) -> Playbook | None:
    """Return the content of a version; None where it is not kept."""
    head = await read_head(tables, key)
    if not 0 <= n <= head.version.n:
        return None
    start = n if n in await _kept(tables, key) else head.marks.base
    if n < start:
        return None
    content = await _content(tables, key, start)
    rows = await tables.rows(
        "SELECT effect_json FROM ace_deltas WHERE user_id = ? AND content_changed AND version > ? "
        "AND version <= ? ORDER BY version",
        (key, start, n),
    )
    return apply(content, *(load_effect(text) for (text,) in rows))


async def keep_contents(tables: Tables, key: str, base: int, contents: Mapping[int, Playbook]) -> None:
    """Keep the versions from `base` on and those of `contents`; the caller holds the lock."""
    head = await read_head(tables, key)
    if not head.marks.base <= base <= head.version.n:
        return
    of_state = max(head.base_n, base)
    held = await _kept(tables, key)
    gone = sorted(held - contents.keys() - {of_state})
    await tables.change("DELETE FROM ace_bases WHERE user_id = ? AND version = ANY(?)", (key, gone))
    for n in contents.keys() - held:
        row = await tables.row(
            "SELECT etag FROM ace_deltas WHERE user_id = ? AND version = ? AND content_changed", (key, n)
        )
        etag, text = "" if row is None else row[0], dump_base(contents[n])
        await put_base(tables, key, StoredBase(n, etag, base_checksum(n, etag, text), text))
    await drop_effects(tables, key, base)
    await tables.change(
        "UPDATE ace_learners SET base_version = :base, next_base_version = NULL, content_base = :of_state, "
        "base_bytes = :bytes, effects_bytes = (SELECT coalesce(sum(effect_bytes), 0) FROM ace_deltas "
        "WHERE user_id = :key AND content_changed AND version > :of_state) WHERE user_id = :key",
        {
            "base": base,
            "of_state": of_state,
            "bytes": len((await read_base(tables, key, of_state)).text.encode()) if of_state else 0,
            "key": key,
        },
    )


async def _content(tables: Tables, key: str, n: int) -> Playbook:
    return load_base((await read_base(tables, key, n)).checked().text) if n else Playbook()


async def _kept(tables: Tables, key: str) -> set[int]:
    return {n for (n,) in await tables.rows("SELECT version FROM ace_bases WHERE user_id = ?", (key,))}


async def read_description(tables: Tables, name: str) -> str:
    """Return the versions of the database and of the schema, and the number of learners."""
    row = await tables.row(
        f"SELECT {tables.version}, (SELECT max(name) FROM ace_memory_schema), "  # noqa: S608  constants
        "(SELECT count(*) FROM ace_learners)"
    )
    version, schema, learners = row or ("", "", 0)
    return f"{name} {version}, schema {schema}, learners: {learners}"


async def put_vectors(tables: Tables, learner: str, epoch: str | None, change: VectorChange) -> bool:
    """Store and delete rows, under the learner's lock; False where the state is not of that epoch."""
    state = "SELECT 1 FROM ace_learners WHERE user_id = ? AND epoch = ?"
    if await tables.row(state, (learner, epoch)) is None:
        return False
    model = change.model
    # Two ranges of the key: a comparison with <> would read all rows of the learner.
    for other in ("model < ?", "model > ?"):
        await tables.change(f"DELETE FROM ace_vectors WHERE user_id = ? AND {other}", (learner, model))  # noqa: S608  constants
    await tables.change(
        "DELETE FROM ace_vectors WHERE user_id = ? AND model = ? AND name = ANY(?)",
        (learner, model, list(change.gone)),
    )
    await tables.change_each(
        "INSERT INTO ace_vectors (user_id, model, name, vector) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (user_id, model, name) DO UPDATE SET vector = excluded.vector",
        [(learner, model, name, row) for name, row in change.rows.items()],
    )
    return True


# Changes of turns.


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
