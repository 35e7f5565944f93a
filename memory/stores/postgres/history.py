"""The history, the versions, the turns and the reports of a key in PostgreSQL.

What needs several statements runs in one read transaction of the caller's.
"""

from __future__ import annotations

from collections.abc import Mapping

from ace_graph.errors import IncompleteState
from ace_graph.memory.commit import History
from ace_graph.memory.delta.effect import Report, apply
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.serialization import load_effect, load_record, load_report
from ace_graph.memory.stores.base_and_tail import StoredBase, base_checksum
from ace_graph.memory.stores.playbooks import StoredVersion
from ace_graph.memory.stores.postgres.state import read_head
from ace_graph.memory.stores.postgres.tables import Tables
from ace_graph.memory.stores.postgres.writing import drop_effects
from ace_graph.memory.stores.records import (
    HISTORY_COLUMNS,
    VERSION_COLUMNS,
    history_entry_of,
    stored_version_of,
)
from ace_graph.memory.stores.stored_form import dump_base, load_base
from ace_graph.memory.turn import TurnRecord

__all__ = [
    "keep_contents",
    "read_content_at",
    "read_description",
    "read_history",
    "read_report",
    "read_turns",
    "read_versions",
    "unknown_turns",
]


async def read_report(tables: Tables, learner: str, op_id: str) -> Report | None:
    """Return the report of the operation if it was applied before."""
    row = await tables.row(
        "SELECT report_json FROM ace_deltas WHERE user_id = %(key)s AND op_id = %(op)s "
        "UNION ALL SELECT report_json FROM ace_turns WHERE user_id = %(key)s AND op_id = %(op)s",
        {"key": learner, "op": op_id},
    )
    return None if row is None else load_report(row[0])


async def read_history(tables: Tables, learner: str, *, everything: bool) -> History:
    """Return the content changes whose effect is kept; with `everything` all commits without a turn too."""
    base = (await read_head(tables, learner)).marks.base
    content = await _read_base(tables, learner, base)
    rows = await tables.rows(
        f"SELECT {HISTORY_COLUMNS} FROM ace_deltas "  # noqa: S608  constants
        "WHERE user_id = %s AND (%s OR (content_changed AND effect_json IS NOT NULL)) ORDER BY seq",
        (learner, everything),
    )
    return History(base, content, tuple(map(history_entry_of, rows)))


async def _read_base(tables: Tables, key: str, n: int) -> Playbook:
    """Return the content of a version that is stored whole. Raises IncompleteState."""
    if not n:
        return Playbook()
    row = await tables.row(
        "SELECT version, etag, checksum, memory_json FROM ace_bases WHERE user_id = %s AND version = %s",
        (key, n),
    )
    if row is None:
        raise IncompleteState(
            f"the stored content of version {n} is missing: restore the database from a backup"
        )
    return load_base(StoredBase(*row).checked().text)


async def read_turns(tables: Tables, learner: str, limit: int | None) -> tuple[TurnRecord, ...]:
    """Return the newest turn records; None as the limit means all."""
    rows = await tables.rows(
        "SELECT record_json FROM ace_turns WHERE user_id = %s AND NOT deleted ORDER BY seq DESC LIMIT %s",
        (learner, limit),
    )
    return tuple(load_record(text) for (text,) in rows)


async def unknown_turns(tables: Tables, learner: str, trajectories: frozenset[str]) -> frozenset[str]:
    """Return those of the trajectories that the learner has no record of."""
    if not trajectories:
        return trajectories
    rows = await tables.rows(
        "SELECT DISTINCT turn_id FROM ace_turns WHERE user_id = %s AND turn_id = ANY(%s)",
        (learner, sorted(trajectories)),
    )
    return trajectories - {name for (name,) in rows}


async def read_versions(tables: Tables, key: str) -> tuple[StoredVersion, ...]:
    """Return all versions, the oldest first."""
    kept = await _kept(tables, key)
    base = (await read_head(tables, key)).marks.base
    rows = await tables.rows(
        f"SELECT {VERSION_COLUMNS} FROM ace_deltas "  # noqa: S608  constants
        "WHERE user_id = %s AND content_changed ORDER BY version",
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
    content = await _read_base(tables, key, start)
    rows = await tables.rows(
        "SELECT effect_json FROM ace_deltas WHERE user_id = %s AND content_changed AND version > %s "
        "AND version <= %s ORDER BY version",
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
    await tables.run("DELETE FROM ace_bases WHERE user_id = %s AND version = ANY(%s)", (key, gone))
    for n in contents.keys() - held:
        await _add_base(tables, key, n, dump_base(contents[n]))
    await drop_effects(tables, key, base)
    await tables.run(
        "UPDATE ace_learners SET base_version = %(base)s, next_base_version = NULL, "
        "content_base = %(of_state)s, "
        "base_bytes = coalesce((SELECT octet_length(memory_json) FROM ace_bases "
        "WHERE user_id = %(key)s AND version = %(of_state)s), 0), "
        "effects_bytes = (SELECT coalesce(sum(effect_bytes), 0) FROM ace_deltas "
        "WHERE user_id = %(key)s AND content_changed AND version > %(of_state)s) WHERE user_id = %(key)s",
        {"base": base, "of_state": of_state, "key": key},
    )


async def _add_base(tables: Tables, key: str, n: int, text: str) -> None:
    row = await tables.row(
        "SELECT etag FROM ace_deltas WHERE user_id = %s AND version = %s AND content_changed", (key, n)
    )
    etag = "" if row is None else row[0]
    columns = {
        "user_id": key,
        "version": n,
        "etag": etag,
        "checksum": base_checksum(n, etag, text),
        "memory_json": text,
    }
    await tables.insert("ace_bases", columns)


async def _kept(tables: Tables, key: str) -> set[int]:
    return {n for (n,) in await tables.rows("SELECT version FROM ace_bases WHERE user_id = %s", (key,))}


async def read_description(tables: Tables) -> str:
    """Return the versions of PostgreSQL and of the schema, and the number of learners."""
    row = await tables.row(
        "SELECT (SELECT count(*) FROM ace_learners), (SELECT max(name) FROM ace_migrations), "
        "current_setting('server_version')"
    )
    learners, schema, version = row or (0, "", "")
    return f"PostgreSQL {version.split()[0]}, schema {schema}, learners: {learners}"
