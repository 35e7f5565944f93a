"""The SQL of the SQLite store for the history, turns and learners: from rows to values.

The caller begins and ends the transactions.
"""

from __future__ import annotations

import json
import sqlite3

from ace_graph.memory.commit import History, commit_key
from ace_graph.memory.delta.effect import Report
from ace_graph.memory.serialization import load_record, load_report
from ace_graph.memory.stores.records import HISTORY_COLUMNS, history_entry_of
from ace_graph.memory.stores.sqlite.state import read_base, read_head
from ace_graph.memory.stores.sqlite.tables import Tables
from ace_graph.memory.turn import TurnRecord

__all__ = [
    "delete_learner",
    "read_description",
    "read_history",
    "read_report",
    "read_turns",
    "unknown_turns",
]


def read_report(tables: Tables, learner: str, op_id: str) -> Report | None:
    """Return the report of the operation if it was applied before."""
    key = commit_key(learner, op_id)
    row = tables.execute(
        "SELECT report_json FROM ace_deltas WHERE key = ?1 "
        "UNION ALL SELECT report_json FROM ace_turns WHERE key = ?1",
        (key,),
    ).fetchone()
    return None if row is None else load_report(row[0])


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
        "DELETE FROM ace_base_contents WHERE user_id = ?",
        "DELETE FROM ace_stamps WHERE user_id = ?",
        "DELETE FROM ace_touches WHERE user_id = ?",
        "DELETE FROM ace_deltas WHERE user_id = ?",
        "DELETE FROM ace_turns WHERE user_id = ?",
        "DELETE FROM ace_pending WHERE user_id = ?",
        "DELETE FROM ace_vectors WHERE user_id = ?",
    ):
        found += tables.execute(statement, (learner,)).rowcount
    return found > 0
