"""The tables of the SQLite store, as numbered migrations that are applied once each.

The names of applied migrations are in a table. Any number of processes can start at once: the one with the
write lock applies what is missing, the others find it applied. A released migration is never edited; a change
of the tables is a new one.
"""

from __future__ import annotations

import sqlite3
from secrets import token_hex

from ace_graph.errors import NewerFormat
from ace_graph.memory.stores.base_and_tail import base_checksum, stamps_checksum
from ace_graph.memory.stores.namespaces import of_playbooks
from ace_graph.memory.stores.stored_form import upgraded_access, upgraded_content, upgraded_stamps

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

# Bases are never changed: a new one is added, and an old one deleted when nothing needs it any more. Stamps
# and touches are the parts of the access part that grow with a memory. Both are in tables of their own, as
# SQLite rewrites a row whole. The tables that held the present content before are dropped, not emptied: a
# process of an older version that is still connected fails there, and writes nothing.
_BASE_CONTENTS = """
CREATE TABLE ace_base_contents (
    user_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    etag TEXT NOT NULL,
    checksum INTEGER NOT NULL,
    memory_json TEXT NOT NULL,
    PRIMARY KEY (user_id, version)
)
"""
_STAMPS = """
CREATE TABLE ace_stamps (
    user_id TEXT NOT NULL PRIMARY KEY,
    mark TEXT NOT NULL,
    checksum INTEGER NOT NULL,
    stamps_json TEXT NOT NULL
)
"""
_TOUCHES = """
CREATE TABLE ace_touches (
    user_id TEXT NOT NULL,
    clock INTEGER NOT NULL,
    parent TEXT NOT NULL,
    mark TEXT NOT NULL,
    touches_json TEXT NOT NULL,
    PRIMARY KEY (user_id, clock)
) WITHOUT ROWID
"""
_NEW_COLUMNS = (
    "ALTER TABLE ace_deltas ADD COLUMN parent TEXT",
    "ALTER TABLE ace_deltas ADD COLUMN etag TEXT",
    "ALTER TABLE ace_deltas ADD COLUMN effect_bytes INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE ace_learners ADD COLUMN access_mark TEXT NOT NULL DEFAULT ''",
    *(
        f"ALTER TABLE ace_learners ADD COLUMN {name} INTEGER NOT NULL DEFAULT 0"
        for name in ("content_base", "base_bytes", "effects_bytes", "stamps_bytes", "touches_bytes")
    ),
)
_BASE_AND_EFFECTS = (
    *(_BASE_CONTENTS, _STAMPS, _TOUCHES),
    *_NEW_COLUMNS,
    "UPDATE ace_learners SET etag = ace_new_token(), access_mark = ace_new_token(), content_base = version",
    "UPDATE ace_deltas SET effect_bytes = length(CAST(effect_json AS BLOB)) "
    "WHERE content_changed AND effect_json IS NOT NULL",
    "INSERT INTO ace_base_contents SELECT user_id, version, '', 0, ace_upgraded_content(memory_json) "
    "FROM ace_bases",
    "INSERT INTO ace_base_contents SELECT l.user_id, l.version, l.etag, 0, "
    "ace_upgraded_content(coalesce(p.memory_json, '{}')) "
    "FROM ace_learners l JOIN ace_playbooks p ON p.user_id = l.user_id WHERE true "
    "ON CONFLICT (user_id, version) DO UPDATE SET etag = excluded.etag, memory_json = excluded.memory_json",
    "UPDATE ace_base_contents SET checksum = ace_base_checksum(version, etag, memory_json)",
    "INSERT INTO ace_stamps SELECT user_id, access_mark, 0, ace_upgraded_stamps(access_json) "
    "FROM ace_learners",
    "UPDATE ace_stamps SET checksum = ace_checksum_of_stamps(mark, stamps_json)",
    "UPDATE ace_learners SET access_json = ace_upgraded_access(access_json), "
    "base_bytes = coalesce((SELECT length(CAST(memory_json AS BLOB)) FROM ace_base_contents b "
    "WHERE b.user_id = ace_learners.user_id AND b.version = content_base), 0), "
    "stamps_bytes = (SELECT length(CAST(stamps_json AS BLOB)) FROM ace_stamps s "
    "WHERE s.user_id = ace_learners.user_id)",
    "DROP TABLE ace_playbooks",
    "DROP TABLE ace_bases",
)

# With row ids: without, a long vector takes a page of its own, and the table twice the space.
_VECTORS = """
CREATE TABLE ace_vectors (
    user_id TEXT NOT NULL,
    model TEXT NOT NULL,
    name TEXT NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (user_id, model, name)
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
    ("0010_base_and_effects", (*_BASE_AND_EFFECTS, *map(of_playbooks, _BASE_AND_EFFECTS))),
    ("0011_vectors", (_VECTORS, of_playbooks(_VECTORS))),
)
"""Name and statements of every migration, in order."""


def migrate(connection: sqlite3.Connection) -> None:
    """Apply the missing migrations, all or none; without any, nothing is locked or written.

    `connection` is in autocommit mode. Raises NewerFormat for a database with migrations that are unknown
    here, sqlite3.Error when it can't be read or written.
    """
    if not _missing(connection):
        return
    _add_functions(connection)
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


def _add_functions(connection: sqlite3.Connection) -> None:
    """Add what the statements of migrations call. A text that can't be read stays as it is."""
    connection.create_function("ace_new_token", 0, lambda: token_hex(16))
    connection.create_function("ace_base_checksum", 3, base_checksum, deterministic=True)
    connection.create_function("ace_checksum_of_stamps", 2, stamps_checksum, deterministic=True)
    connection.create_function("ace_upgraded_content", 1, upgraded_content, deterministic=True)
    connection.create_function("ace_upgraded_access", 1, upgraded_access, deterministic=True)
    connection.create_function("ace_upgraded_stamps", 1, upgraded_stamps, deterministic=True)
