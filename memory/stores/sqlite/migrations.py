"""The tables of the SQLite store, as numbered migrations that are applied once each.

The names of applied migrations are in a table. Any number of processes can start at once: the one with the
write lock applies what is missing, the others find it applied. A released migration is never edited; a change
of the tables is a new one.
"""

from __future__ import annotations

import sqlite3

from ace_graph.errors import NewerFormat
from ace_graph.memory.stores.namespaces import of_playbooks

__all__ = ["MIGRATIONS", "migrate"]

# memory_json is in a table of its own: SQLite rewrites a row whole, and every turn moves the access part.
_LEARNERS = """
CREATE TABLE ace_learners (
    user_id TEXT NOT NULL PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    access_json TEXT NOT NULL,
    access_clock INTEGER NOT NULL,
    version INTEGER NOT NULL,
    epoch TEXT NOT NULL,
    etag TEXT NOT NULL,
    base_version INTEGER NOT NULL DEFAULT 0,
    next_base_version INTEGER,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) WITHOUT ROWID
"""
_PLAYBOOKS = """
CREATE TABLE ace_playbooks (
    user_id TEXT NOT NULL PRIMARY KEY,
    memory_json TEXT
)
"""
_BASES = """
CREATE TABLE ace_bases (
    user_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    memory_json TEXT NOT NULL,
    PRIMARY KEY (user_id, version)
)
"""
_DELTAS = """
CREATE TABLE ace_deltas (
    seq INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    user_id TEXT NOT NULL,
    op_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    content_changed INTEGER NOT NULL,
    at TEXT NOT NULL,
    author TEXT NOT NULL,
    reason TEXT NOT NULL,
    source TEXT NOT NULL,
    report_json TEXT NOT NULL,
    effect_json TEXT
)
"""
_TURNS = """
CREATE TABLE ace_turns (
    seq INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    user_id TEXT NOT NULL,
    op_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    conversation_id TEXT,
    mode TEXT NOT NULL,
    topic TEXT,
    status TEXT NOT NULL,
    verdict TEXT NOT NULL,
    started_at TEXT NOT NULL,
    completed_at TEXT,
    report_json TEXT NOT NULL,
    record_json TEXT NOT NULL
)
"""

_PENDING = """
CREATE TABLE ace_pending (
    seq INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    user_id TEXT NOT NULL,
    pending_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    body TEXT NOT NULL,
    priority REAL NOT NULL,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    created_at REAL NOT NULL,
    free_at REAL NOT NULL,
    lease TEXT,
    owner TEXT,
    error TEXT
)
"""

_CATALOGUE = """
CREATE TABLE ace_named_catalogue (
    playbook_id TEXT NOT NULL PRIMARY KEY,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    description TEXT NOT NULL,
    scope TEXT NOT NULL,
    visibility TEXT NOT NULL,
    UNIQUE (owner, name_key)
)
"""

_GRANTS = """
CREATE TABLE ace_grants (
    playbook_id TEXT NOT NULL,
    subject TEXT NOT NULL,
    relation TEXT NOT NULL,
    granted_by TEXT NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (playbook_id, subject)
) WITHOUT ROWID
"""

# team_key is the form in which names of teams must differ, see memory/sharing/grant.py.
_TEAM_MEMBERS = """
CREATE TABLE ace_team_members (
    team_id TEXT NOT NULL,
    member TEXT NOT NULL,
    team_key TEXT NOT NULL,
    PRIMARY KEY (team_id, member)
) WITHOUT ROWID
"""

_PROPOSALS = """
CREATE TABLE ace_proposals (
    proposal_id TEXT NOT NULL PRIMARY KEY,
    playbook_id TEXT NOT NULL,
    proposer TEXT NOT NULL,
    state TEXT NOT NULL,
    proposal_json TEXT NOT NULL
)
"""

_OF_LEARNERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("0001_learners", (_LEARNERS, _PLAYBOOKS, _BASES)),
    (
        "0002_deltas",
        (_DELTAS, "CREATE INDEX ace_deltas_by_learner ON ace_deltas (user_id, version)"),
    ),
    (
        "0003_turns",
        (
            _TURNS,
            "CREATE INDEX ace_turns_by_learner ON ace_turns (user_id, seq)",
            "CREATE INDEX ace_turns_by_status ON ace_turns (user_id, status, completed_at)",
            "CREATE INDEX ace_turns_by_mode ON ace_turns (user_id, mode, completed_at)",
        ),
    ),
    (
        "0004_pending",
        (
            _PENDING,
            "CREATE INDEX ace_pending_in_order ON ace_pending (state, priority DESC, seq)",
            "CREATE INDEX ace_pending_by_learner ON ace_pending (user_id, state, priority DESC, seq)",
            "CREATE INDEX ace_turns_by_turn ON ace_turns (user_id, turn_id, seq)",
        ),
    ),
    (
        "0005_trajectories",
        (
            "ALTER TABLE ace_turns ADD COLUMN agent TEXT NOT NULL DEFAULT 'ace_graph'",
            "ALTER TABLE ace_turns ADD COLUMN task_type TEXT",
            "ALTER TABLE ace_turns ADD COLUMN parent_id TEXT",
            "ALTER TABLE ace_turns ADD COLUMN deleted INTEGER NOT NULL DEFAULT 0",
            "CREATE INDEX ace_turns_by_agent ON ace_turns (user_id, agent, seq)",
            "CREATE INDEX ace_turns_by_type ON ace_turns (user_id, task_type, seq)",
            "CREATE INDEX ace_turns_by_parent ON ace_turns (user_id, parent_id, seq)",
            "CREATE INDEX ace_turns_by_completion ON ace_turns (user_id, completed_at)",
        ),
    ),
    (
        "0006_cleaning",
        (
            "ALTER TABLE ace_learners ADD COLUMN keys_from REAL",
            "ALTER TABLE ace_turns ADD COLUMN has_steps INTEGER NOT NULL DEFAULT 1",
            "CREATE INDEX ace_turns_with_steps ON ace_turns (user_id, completed_at) WHERE has_steps",
            "CREATE INDEX ace_turns_by_start ON ace_turns (user_id, started_at)",
            "CREATE INDEX ace_deltas_by_age ON ace_deltas (user_id, at)",
            "CREATE INDEX ace_pending_by_turn ON ace_pending (user_id, turn_id)",
            "CREATE TABLE ace_duties (name TEXT PRIMARY KEY, began_at REAL NOT NULL)",
        ),
    ),
)

_LABELS = tuple(
    f"ALTER TABLE {table} ADD COLUMN {column} INTEGER"
    for table in ("ace_learners", "ace_deltas")
    for column in ("major", "minor")
)

_OF_PLAYBOOKS = tuple(
    of_playbooks(statement) for _, statements in (*_OF_LEARNERS, ("", _LABELS)) for statement in statements
)
"""The tables of learners once more, under the names of the other namespace."""

MIGRATIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    *_OF_LEARNERS,
    ("0007_playbooks", (*_LABELS, *_OF_PLAYBOOKS, _CATALOGUE)),
    (
        "0008_sharing",
        (
            _GRANTS,
            "CREATE INDEX ace_grants_by_subject ON ace_grants (subject, playbook_id)",
            "CREATE INDEX ace_grants_by_giver ON ace_grants (granted_by)",
            _TEAM_MEMBERS,
            "CREATE INDEX ace_team_members_by_member ON ace_team_members (member, team_id)",
            "CREATE INDEX ace_team_members_by_key ON ace_team_members (team_key, team_id)",
        ),
    ),
    (
        "0009_proposals",
        (
            _PROPOSALS,
            "CREATE INDEX ace_proposals_by_playbook ON ace_proposals (playbook_id, proposal_id)",
            "CREATE INDEX ace_proposals_by_proposer ON ace_proposals (proposer)",
        ),
    ),
)
"""Name and statements of every migration, in order."""


def migrate(connection: sqlite3.Connection) -> None:
    """Apply the missing migrations, all or none; without any, nothing is locked or written.

    `connection` is in autocommit mode. Raises NewerFormat for a database with migrations that are unknown
    here, sqlite3.Error when it can't be read or written.
    """
    if not _missing(connection):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute(
            "CREATE TABLE IF NOT EXISTS ace_migrations (name TEXT PRIMARY KEY, applied_at TEXT NOT NULL)"
        )
        for name, statements in _missing(connection):
            for statement in statements:
                connection.execute(statement)
            connection.execute("INSERT INTO ace_migrations VALUES (?, datetime('now'))", (name,))
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _missing(connection: sqlite3.Connection) -> list[tuple[str, tuple[str, ...]]]:
    """Return the migrations that the database lacks. Raises NewerFormat."""
    found = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'ace_migrations'").fetchone()
    if found is None:
        return list(MIGRATIONS)
    applied = {str(name) for (name,) in connection.execute("SELECT name FROM ace_migrations")}
    unknown = sorted(applied - {name for name, _ in MIGRATIONS})
    if unknown:
        raise NewerFormat(f"the database has the migration {unknown[-1]}, unknown here: upgrade ace-graph")
    return [migration for migration in MIGRATIONS if migration[0] not in applied]
