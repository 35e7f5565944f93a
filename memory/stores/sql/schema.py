"""The tables of the SQL store: one schema, made at the first call, the same for SQLite and PostgreSQL.

Any number of processes can start at once: the one with the lock makes the tables, the others find them. A
database with another schema is refused as it is.

Every key begins with the learner (in the tables of playbooks, with the playbook), and no row refers to
another's place in the database. So PostgreSQL can partition the tables by it, or Citus distribute them.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from ace_graph.base.errors import OtherSchema
from ace_graph.memory.stores.base import other_schema
from ace_graph.memory.stores.sql.database import Tables, of_playbooks

SCHEMA = "1"

# Texts are compared byte by byte, whatever the database's language: keys, names, and times in ISO format.
_TEXT = 'TEXT COLLATE "C"'

# Bases are never changed: a new one is added, and an old one deleted when nothing needs it any more. Bases,
# stamps and touches have tables of their own, as a row is rewritten whole, and every turn moves the state.
OF_LEARNERS = {
    "ace_learners": f"""
    user_id {_TEXT} NOT NULL PRIMARY KEY,
    epoch TEXT NOT NULL,
    version BIGINT NOT NULL,
    etag TEXT NOT NULL,
    major BIGINT NOT NULL,
    minor BIGINT NOT NULL,
    access_json TEXT NOT NULL,
    access_clock BIGINT NOT NULL,
    access_mark TEXT NOT NULL,
    seq BIGINT NOT NULL,
    base_version BIGINT NOT NULL,
    next_base_version BIGINT,
    content_base BIGINT NOT NULL,
    base_bytes BIGINT NOT NULL,
    effects_bytes BIGINT NOT NULL,
    stamps_bytes BIGINT NOT NULL,
    touches_bytes BIGINT NOT NULL,
    keys_from DOUBLE PRECISION,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
""",
    "ace_bases": f"""
    user_id {_TEXT} NOT NULL,
    version BIGINT NOT NULL,
    etag TEXT NOT NULL,
    checksum BIGINT NOT NULL,
    memory_json TEXT NOT NULL,
    PRIMARY KEY (user_id, version)
""",
    "ace_stamps": f"""
    user_id {_TEXT} NOT NULL PRIMARY KEY,
    mark TEXT NOT NULL,
    checksum BIGINT NOT NULL,
    stamps_json TEXT NOT NULL
""",
    "ace_touches": f"""
    user_id {_TEXT} NOT NULL,
    clock BIGINT NOT NULL,
    parent TEXT NOT NULL,
    mark TEXT NOT NULL,
    touches_json TEXT NOT NULL,
    PRIMARY KEY (user_id, clock)
""",
    "ace_deltas": f"""
    user_id {_TEXT} NOT NULL,
    op_id {_TEXT} NOT NULL,
    seq BIGINT NOT NULL,
    version BIGINT NOT NULL,
    content_changed BOOLEAN NOT NULL,
    at {_TEXT} NOT NULL,
    author TEXT NOT NULL,
    reason TEXT NOT NULL,
    source TEXT NOT NULL,
    report_json TEXT NOT NULL,
    effect_json TEXT,
    effect_bytes BIGINT NOT NULL,
    parent TEXT NOT NULL,
    etag TEXT NOT NULL,
    major BIGINT NOT NULL,
    minor BIGINT NOT NULL,
    PRIMARY KEY (user_id, op_id)
""",
    "ace_turns": f"""
    user_id {_TEXT} NOT NULL,
    op_id {_TEXT} NOT NULL,
    seq BIGINT NOT NULL,
    turn_id {_TEXT} NOT NULL,
    conversation_id TEXT,
    mode TEXT NOT NULL,
    topic TEXT,
    started_at {_TEXT} NOT NULL,
    completed_at {_TEXT},
    status {_TEXT} NOT NULL,
    verdict TEXT NOT NULL,
    agent {_TEXT} NOT NULL,
    task_type {_TEXT},
    parent_id {_TEXT},
    deleted BOOLEAN NOT NULL,
    has_steps BOOLEAN NOT NULL,
    report_json TEXT NOT NULL,
    record_json TEXT NOT NULL,
    PRIMARY KEY (user_id, op_id)
""",
    "ace_pending": f"""
    user_id {_TEXT} NOT NULL,
    pending_id {_TEXT} NOT NULL,
    seq BIGINT NOT NULL,
    turn_id {_TEXT} NOT NULL,
    body TEXT NOT NULL,
    priority DOUBLE PRECISION NOT NULL,
    state {_TEXT} NOT NULL,
    attempts BIGINT NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    free_at DOUBLE PRECISION NOT NULL,
    lease TEXT,
    owner TEXT,
    error TEXT,
    PRIMARY KEY (user_id, pending_id)
""",
    "ace_vectors": f"""
    user_id {_TEXT} NOT NULL,
    model {_TEXT} NOT NULL,
    name {_TEXT} NOT NULL,
    vector BYTEA NOT NULL,
    PRIMARY KEY (user_id, model, name)
""",
}
"""The columns of tables with a row, or rows, for each learner."""

_SHARED = {
    "ace_named_catalogue": f"""
    owner {_TEXT} NOT NULL,
    name_key {_TEXT} NOT NULL,
    playbook_id {_TEXT} NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    scope TEXT NOT NULL,
    visibility TEXT NOT NULL,
    PRIMARY KEY (owner, name_key)
""",
    "ace_grants": f"""
    playbook_id {_TEXT} NOT NULL,
    subject {_TEXT} NOT NULL,
    relation TEXT NOT NULL,
    granted_by {_TEXT} NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (playbook_id, subject)
""",
    "ace_proposals": f"""
    playbook_id {_TEXT} NOT NULL,
    proposal_id {_TEXT} NOT NULL,
    proposer {_TEXT} NOT NULL,
    state {_TEXT} NOT NULL,
    proposal_json TEXT NOT NULL,
    PRIMARY KEY (playbook_id, proposal_id)
""",
    # team_key is the form in which names of teams must differ, see memory/sharing.py.
    "ace_team_members": f"""
    team_id {_TEXT} NOT NULL,
    member {_TEXT} NOT NULL,
    team_key {_TEXT} NOT NULL,
    PRIMARY KEY (team_id, member)
""",
}

_DUTIES = "CREATE TABLE ace_memory_duties (name TEXT PRIMARY KEY, began_at DOUBLE PRECISION NOT NULL)"
_INDEXES = (
    "CREATE INDEX ace_deltas_by_version ON ace_deltas (user_id, version) WHERE content_changed",
    "CREATE INDEX ace_deltas_by_age ON ace_deltas (user_id, at)",
    "CREATE INDEX ace_turns_in_order ON ace_turns (user_id, seq)",
    "CREATE INDEX ace_turns_by_turn ON ace_turns (user_id, turn_id, seq)",
    "CREATE INDEX ace_turns_by_status ON ace_turns (user_id, status, seq)",
    "CREATE INDEX ace_turns_by_agent ON ace_turns (user_id, agent, seq)",
    "CREATE INDEX ace_turns_by_type ON ace_turns (user_id, task_type, seq)",
    "CREATE INDEX ace_turns_by_parent ON ace_turns (user_id, parent_id, seq)",
    "CREATE INDEX ace_turns_by_completion ON ace_turns (user_id, completed_at)",
    "CREATE INDEX ace_turns_with_steps ON ace_turns (user_id, completed_at) WHERE has_steps",
    "CREATE INDEX ace_turns_by_start ON ace_turns (user_id, started_at)",
    "CREATE INDEX ace_pending_by_learner ON ace_pending (user_id, state, priority DESC, seq)",
    "CREATE INDEX ace_pending_by_turn ON ace_pending (user_id, turn_id)",
    "CREATE INDEX ace_pending_in_order ON ace_pending (state, priority DESC, created_at, user_id, seq)",
)
_SHARED_INDEXES = (
    "CREATE INDEX ace_named_catalogue_by_id ON ace_named_catalogue (playbook_id)",
    "CREATE INDEX ace_grants_by_subject ON ace_grants (subject, playbook_id)",
    "CREATE INDEX ace_grants_by_giver ON ace_grants (granted_by)",
    "CREATE INDEX ace_team_members_by_member ON ace_team_members (member, team_id)",
    "CREATE INDEX ace_team_members_by_key ON ace_team_members (team_key, team_id)",
    "CREATE INDEX ace_proposals_by_proposer ON ace_proposals (proposer)",
)
_MADE = "CREATE TABLE ace_memory_schema (name TEXT PRIMARY KEY, made_at TEXT NOT NULL)"
_OLDER = "ace_migrations"
"""The table in which schemas of before this one named their steps."""

TABLES = (
    *OF_LEARNERS,
    *map(of_playbooks, OF_LEARNERS),
    *_SHARED,
    "ace_memory_duties",
    of_playbooks("ace_memory_duties"),
)
"""The names of all tables, but for that of the schema."""


async def make_schema(tables: Tables, partitions: int = 0) -> None:
    """Make the tables where there are none; where they are there, nothing is locked or written.

    Tables of learners and playbooks get so many `partitions`. Raises OtherSchema, StoreError for a database
    that can't hold every text, and the driver's errors.
    """
    if await _is_made(tables):
        return
    async with tables.writing():
        await tables.begin_schema()
        if await _is_made(tables):
            return
        for statement in _statements(partitions):
            await tables.change(statement)
        await tables.change(
            "INSERT INTO ace_memory_schema VALUES (?, ?)", (SCHEMA, datetime.now(UTC).isoformat())
        )


async def _is_made(tables: Tables) -> bool:
    """Whether the tables are there. Raises OtherSchema."""
    held = {name for (name,) in await tables.rows(tables.named_tables, (["ace_memory_schema", _OLDER],))}
    if not held:
        return False
    made = await tables.row("SELECT max(name) FROM ace_memory_schema") if _OLDER not in held else None
    if made is None or made[0] != SCHEMA:
        raise OtherSchema(other_schema("older" if made is None else made[0], SCHEMA))
    return True


def _statements(partitions: int) -> Iterator[str]:
    for name, columns in OF_LEARNERS.items():
        for statement in _creation(name, columns, partitions):
            yield from (statement, of_playbooks(statement))
    for statement in (*_INDEXES, _DUTIES):
        yield from (statement, of_playbooks(statement))
    for name, columns in _SHARED.items():
        yield f"CREATE TABLE {name} ({columns})"
    yield from (*_SHARED_INDEXES, _MADE)


def _creation(name: str, columns: str, partitions: int) -> Iterator[str]:
    if not partitions:
        yield f"CREATE TABLE {name} ({columns})"
        return
    yield f"CREATE TABLE {name} ({columns}) PARTITION BY HASH (user_id)"
    for part in range(partitions):
        yield (
            f"CREATE TABLE {name}_{part} PARTITION OF {name} "
            f"FOR VALUES WITH (MODULUS {partitions}, REMAINDER {part})"
        )
