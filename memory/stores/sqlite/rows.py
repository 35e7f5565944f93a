"""The SQL of the SQLite store for learners, deltas and turns: from rows to values, and back.

The caller begins and ends the transactions.
"""

from __future__ import annotations

import json
import sqlite3
from typing import NamedTuple
from uuid import uuid4

from ace_graph.errors import CorruptPayload
from ace_graph.memory.catalogue.label import stored_label
from ace_graph.memory.commit import CommitPlan, History, commit_key
from ace_graph.memory.delta.effect import Effect, Report
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.serialization import (
    dump_access,
    dump_effect,
    dump_playbook,
    dump_report,
    load_access,
    load_playbook,
    load_record,
    load_report,
)
from ace_graph.memory.snapshot import Snapshot, Version
from ace_graph.memory.stores.compaction import CompactionMarks
from ace_graph.memory.stores.records import HISTORY_COLUMNS, history_entry_of, record_columns, turn_columns
from ace_graph.memory.stores.sqlite.tables import Tables
from ace_graph.memory.turn import TurnRecord

__all__ = [
    "Head",
    "SerializedPlan",
    "delete_learner",
    "read_base",
    "read_description",
    "read_head",
    "read_history",
    "read_report",
    "read_snapshot",
    "read_turns",
    "unknown_turns",
    "write",
]


class Head(NamedTuple):
    """The small part of a learner's state that a commit compares with its base."""

    version: Version = Version()
    access_clock: int = 0
    marks: CompactionMarks = CompactionMarks()
    keys_from: float | None = None


class SerializedPlan:
    """A plan and its serialized form, which is made before the write lock is taken."""

    def __init__(self, plan: CommitPlan, record: TurnRecord | None) -> None:
        self.plan = plan
        self.record = record
        self.memory_json = dump_playbook(plan.snapshot.playbook) if plan.content_changed else None
        self.access_json = dump_access(plan.snapshot.access)
        self.effect_json = dump_effect(plan.effect)
        self.report_json = dump_report(plan.effect.report)
        self.record_columns = {} if record is None else record_columns(record)


def read_report(tables: Tables, learner: str, op_id: str) -> Report | None:
    """Return the report of the operation if it was applied before."""
    key = commit_key(learner, op_id)
    row = tables.execute(
        "SELECT report_json FROM ace_deltas WHERE key = ?1 "
        "UNION ALL SELECT report_json FROM ace_turns WHERE key = ?1",
        (key,),
    ).fetchone()
    return None if row is None else load_report(row[0])


def read_head(tables: Tables, learner: str) -> Head:
    """Return version, clock, compaction marks and the start of the keys; defaults for an absent learner."""
    row = tables.execute(
        "SELECT epoch, version, etag, major, minor, access_clock, base_version, next_base_version, keys_from "
        "FROM ace_learners WHERE user_id = ?",
        (learner,),
    ).fetchone()
    if row is None:
        return Head()
    epoch, n, etag, major, minor, clock, base, next_base, keys_from = row
    return Head(
        Version(epoch, n, etag, stored_label(n, major, minor)),
        clock,
        CompactionMarks(base, next_base),
        keys_from,
    )


def read_snapshot(tables: Tables, learner: str, known: Snapshot | None) -> Snapshot:
    """Return the newest snapshot in one statement; the content is not read where `known` has it.

    Raises CorruptPayload, NewerFormat.
    """
    held = Version() if known is None else known.version
    row = tables.execute(
        "SELECT l.epoch, l.version, l.etag, l.major, l.minor, l.access_json, p.user_id IS NULL, "
        "CASE WHEN l.epoch = ?2 AND l.etag = ?3 THEN NULL ELSE p.memory_json END "
        "FROM ace_learners l LEFT JOIN ace_playbooks p ON p.user_id = l.user_id WHERE l.user_id = ?1",
        (learner, held.epoch, held.etag),
    ).fetchone()
    if row is None:
        return Snapshot()
    epoch, n, etag, major, minor, access_json, is_incomplete, memory_json = row
    if is_incomplete:
        raise CorruptPayload("the stored playbook is missing: restore the database from a backup")
    version = Version(epoch, n, etag, stored_label(n, major, minor))
    content = None if known is None else known.playbook
    if content is None or not version.same_content(held):
        content = load_playbook(memory_json, content)
    return Snapshot(content, load_access(access_json), version)


def read_history(tables: Tables, learner: str, *, everything: bool) -> History:
    """Return the content changes whose effect is kept; with `everything` all commits without a turn too."""
    base = read_head(tables, learner).marks.base
    content = read_base(tables, learner, base)
    rows = tables.execute(
        f"SELECT {HISTORY_COLUMNS} FROM ace_deltas "  # noqa: S608  constants
        "WHERE user_id = ?1 AND (?2 OR (content_changed AND effect_json IS NOT NULL)) ORDER BY seq",
        (learner, everything),
    )
    return History(base, content, tuple(map(history_entry_of, rows)))


def read_base(tables: Tables, learner: str, n: int) -> Playbook:
    """Return the content of a version that is stored beside the history. Raises CorruptPayload."""
    if not n:
        return Playbook()
    row = tables.execute(
        "SELECT memory_json FROM ace_bases WHERE user_id = ? AND version = ?", (learner, n)
    ).fetchone()
    if row is None:
        raise CorruptPayload(f"the content of version {n} is missing: restore the database")
    return load_playbook(row[0])


def read_turns(tables: Tables, learner: str, limit: int) -> tuple[TurnRecord, ...]:
    """Return the newest turn records; a negative limit means all."""
    rows = tables.execute(
        "SELECT record_json FROM ace_turns WHERE user_id = ? AND NOT deleted ORDER BY seq DESC LIMIT ?",
        (learner, limit),
    )
    return tuple(load_record(text) for (text,) in rows)


def unknown_turns(tables: Tables, learner: str, trajectories: frozenset[str]) -> frozenset[str]:
    """Return those of the trajectories that the learner has no record of."""
    if not trajectories:
        return trajectories
    rows = tables.execute(
        "SELECT DISTINCT turn_id FROM ace_turns "
        "WHERE user_id = ? AND turn_id IN (SELECT value FROM json_each(?))",
        (learner, json.dumps(sorted(trajectories))),
    )
    return trajectories - {str(name) for (name,) in rows}


def write(
    tables: Tables,
    learner: str,
    serialized: SerializedPlan,
    marks: CompactionMarks,
    history_kept: int,
) -> None:
    """Write a plan onto the state that it was made from; `marks` are those of that state."""
    n = serialized.plan.snapshot.version.n
    marks_after = marks.after(n, history_kept) if serialized.plan.content_changed else marks
    _write_state(tables, learner, serialized, marks_after)
    if serialized.record is not None:
        _write_turn(tables, learner, serialized, serialized.record)
    if serialized.plan.content_changed or serialized.record is None:
        _write_delta(tables, learner, serialized)
    if marks_after != marks:
        _compact(tables, learner, serialized, marks_after)


def _write_state(tables: Tables, learner: str, serialized: SerializedPlan, marks: CompactionMarks) -> None:
    snapshot, now = serialized.plan.snapshot, serialized.plan.effect.now.isoformat()
    version = snapshot.version
    tables.execute(
        "INSERT INTO ace_learners (user_id, id, access_json, access_clock, version, epoch, etag, "
        "base_version, next_base_version, created_at, updated_at, major, minor) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?10, ?11, ?12) ON CONFLICT (user_id) DO UPDATE SET "
        "access_json = ?3, access_clock = ?4, version = ?5, etag = ?7, "
        "base_version = ?8, next_base_version = ?9, updated_at = ?10, major = ?11, minor = ?12",
        (
            learner,
            str(uuid4()),
            serialized.access_json,
            snapshot.access.access_clock,
            version.n,
            version.epoch,
            version.etag,
            marks.base,
            marks.next,
            now,
            *version.label,
        ),
    )
    tables.execute(
        "INSERT INTO ace_playbooks (user_id, memory_json) VALUES (?1, coalesce(?2, '{}')) "
        "ON CONFLICT (user_id) DO UPDATE SET memory_json = ?2 WHERE ?2 IS NOT NULL",
        (learner, serialized.memory_json),
    )


def _write_delta(tables: Tables, learner: str, serialized: SerializedPlan) -> None:
    effect: Effect = serialized.plan.effect
    tables.execute(
        "INSERT INTO ace_deltas (key, user_id, op_id, version, content_changed, at, author, reason, source, "
        "report_json, effect_json, major, minor) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            commit_key(learner, effect.op_id),
            learner,
            effect.op_id,
            serialized.plan.snapshot.version.n,
            serialized.plan.content_changed,
            effect.now.isoformat(),
            effect.author,
            effect.reason,
            effect.source,
            serialized.report_json,
            serialized.effect_json,
            *serialized.plan.snapshot.version.label,
        ),
    )


def _write_turn(tables: Tables, learner: str, serialized: SerializedPlan, record: TurnRecord) -> None:
    op_id = serialized.plan.effect.op_id
    columns = {
        "key": commit_key(learner, op_id),
        "user_id": learner,
        "op_id": op_id,
        "report_json": serialized.report_json,
        **turn_columns(record),
        **serialized.record_columns,
    }
    names, places = ", ".join(columns), ", ".join("?" for _ in columns)
    tables.execute(
        f"INSERT INTO ace_turns ({names}) VALUES ({places})",  # noqa: S608  names of ours
        tuple(columns.values()),
    )


def _compact(tables: Tables, learner: str, serialized: SerializedPlan, marks: CompactionMarks) -> None:
    tables.execute(
        "INSERT INTO ace_bases (user_id, version, memory_json) VALUES (?, ?, ?)",
        (learner, marks.next, serialized.memory_json),
    )
    tables.execute("DELETE FROM ace_bases WHERE user_id = ? AND version < ?", (learner, marks.base))
    tables.execute(
        "UPDATE ace_deltas SET effect_json = NULL "
        "WHERE user_id = ? AND version <= ? AND content_changed AND effect_json IS NOT NULL",
        (learner, marks.base),
    )


def read_description(tables: Tables) -> str:
    """Return the versions of SQLite and of the schema, and the number of learners."""
    learners, schema = tables.execute(
        "SELECT (SELECT count(*) FROM ace_learners), (SELECT max(name) FROM ace_migrations)"
    ).fetchone()
    return f"SQLite {sqlite3.sqlite_version}, schema {schema}, learners: {learners}"


def delete_learner(tables: Tables, learner: str) -> bool:
    """Delete all rows of the learner; False when there were none."""
    found = 0
    for statement in (
        "DELETE FROM ace_learners WHERE user_id = ?",
        "DELETE FROM ace_playbooks WHERE user_id = ?",
        "DELETE FROM ace_bases WHERE user_id = ?",
        "DELETE FROM ace_deltas WHERE user_id = ?",
        "DELETE FROM ace_turns WHERE user_id = ?",
        "DELETE FROM ace_pending WHERE user_id = ?",
    ):
        found += tables.execute(statement, (learner,)).rowcount
    return found > 0
