"""The tables of the PostgreSQL store, as numbered migrations that are applied once each.

The names of applied migrations are in a table. Any number of processes can start at once: an advisory lock,
which ends with its transaction, lets one apply what is missing, and the others find it applied. A released
migration is never edited; a change of the tables is a new one.

Every key begins with the learner (in the tables of playbooks, with the playbook), and no row refers to
another's place in the database. So the tables can be partitioned by it, or distributed with Citus.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from psycopg import AsyncConnection

from ace_graph.errors import NewerFormat, StoreError
from ace_graph.memory.stores.namespaces import of_playbooks
from ace_graph.memory.stores.postgres.tables import Row, writing

__all__ = ["MIGRATIONS", "TABLES", "Migration", "Table", "migrate"]

_SCHEMA_LOCK = 0x6163655F6D656D  # "ace_mem" in ASCII; any constant would do
_PARTITIONED = "ace_learners"


@dataclass(frozen=True)
class Table:
    """A table with a row, or rows, for each learner; `columns` as in CREATE TABLE."""

    name: str
    columns: str

    def statements(self, partitions: int) -> Iterator[str]:
        """Yield the statements that make it, in so many parts where that is more than 0."""
        if not partitions:
            yield f"CREATE TABLE {self.name} ({self.columns})"
            return
        yield f"CREATE TABLE {self.name} ({self.columns}) PARTITION BY HASH (user_id)"
        for part in range(partitions):
            yield (
                f"CREATE TABLE {self.name}_{part} PARTITION OF {self.name} "
                f"FOR VALUES WITH (MODULUS {partitions}, REMAINDER {part})"
            )

    @property
    def of_playbooks(self) -> Table:
        """The same table for named playbooks."""
        return Table(of_playbooks(self.name), self.columns)


@dataclass(frozen=True)
class Migration:
    """Tables and other statements, in order."""

    name: str
    changes: tuple[Table | str, ...]


# Texts are compared byte by byte, whatever the database's language: keys, names, and times in ISO format.
_TEXT = 'TEXT COLLATE "C"'

_LEARNERS = Table(
    "ace_learners",
    f"""
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
)
_BASES = Table(
    "ace_bases",
    f"""
    user_id {_TEXT} NOT NULL,
    version BIGINT NOT NULL,
    etag TEXT NOT NULL,
    checksum BIGINT NOT NULL,
    memory_json TEXT NOT NULL,
    PRIMARY KEY (user_id, version)
    """,
)
_STAMPS = Table(
    "ace_stamps",
    f"""
    user_id {_TEXT} NOT NULL PRIMARY KEY,
    mark TEXT NOT NULL,
    checksum BIGINT NOT NULL,
    stamps_json TEXT NOT NULL
    """,
)
_TOUCHES = Table(
    "ace_touches",
    f"""
    user_id {_TEXT} NOT NULL,
    clock BIGINT NOT NULL,
    parent TEXT NOT NULL,
    mark TEXT NOT NULL,
    touches_json TEXT NOT NULL,
    PRIMARY KEY (user_id, clock)
    """,
)
_DELTAS = Table(
    "ace_deltas",
    f"""
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
)
_TURNS = Table(
    "ace_turns",
    f"""
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
)
_PENDING = Table(
    "ace_pending",
    f"""
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
)
_OF_LEARNERS = (_LEARNERS, _BASES, _STAMPS, _TOUCHES, _DELTAS, _TURNS, _PENDING)

_INDEXES = (
    "CREATE INDEX ace_deltas_by_version ON ace_deltas (user_id, version) WHERE content_changed",
    "CREATE INDEX ace_deltas_in_order ON ace_deltas (user_id, seq)",
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
_DUTIES = "CREATE TABLE ace_memory_duties (name TEXT PRIMARY KEY, began_at DOUBLE PRECISION NOT NULL)"

_CATALOGUE = f"""
CREATE TABLE ace_named_catalogue (
    owner {_TEXT} NOT NULL,
    name_key {_TEXT} NOT NULL,
    playbook_id {_TEXT} NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    scope TEXT NOT NULL,
    visibility TEXT NOT NULL,
    PRIMARY KEY (owner, name_key)
)
"""
_GRANTS = f"""
CREATE TABLE ace_grants (
    playbook_id {_TEXT} NOT NULL,
    subject {_TEXT} NOT NULL,
    relation TEXT NOT NULL,
    granted_by {_TEXT} NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (playbook_id, subject)
)
"""
_PROPOSALS = f"""
CREATE TABLE ace_proposals (
    playbook_id {_TEXT} NOT NULL,
    proposal_id {_TEXT} NOT NULL,
    proposer {_TEXT} NOT NULL,
    state {_TEXT} NOT NULL,
    proposal_json TEXT NOT NULL,
    PRIMARY KEY (playbook_id, proposal_id)
)
"""
# team_key is the form in which names of teams must differ, see memory/sharing/grant.py.
_TEAM_MEMBERS = f"""
CREATE TABLE ace_team_members (
    team_id {_TEXT} NOT NULL,
    member {_TEXT} NOT NULL,
    team_key {_TEXT} NOT NULL,
    PRIMARY KEY (team_id, member)
)
"""
_VECTORS = Table(
    "ace_vectors",
    f"""
    user_id {_TEXT} NOT NULL,
    model {_TEXT} NOT NULL,
    name {_TEXT} NOT NULL,
    vector BYTEA NOT NULL,
    PRIMARY KEY (user_id, model, name)
""",
)

MIGRATIONS: tuple[Migration, ...] = (
    Migration("0001_learners", (*_OF_LEARNERS, *_INDEXES, _DUTIES)),
    Migration(
        "0002_playbooks",
        (
            *(table.of_playbooks for table in _OF_LEARNERS),
            *map(of_playbooks, (*_INDEXES, _DUTIES)),
            _CATALOGUE,
            "CREATE INDEX ace_named_catalogue_by_id ON ace_named_catalogue (playbook_id)",
        ),
    ),
    Migration(
        "0003_sharing",
        (
            _GRANTS,
            "CREATE INDEX ace_grants_by_subject ON ace_grants (subject, playbook_id)",
            "CREATE INDEX ace_grants_by_giver ON ace_grants (granted_by)",
            _TEAM_MEMBERS,
            "CREATE INDEX ace_team_members_by_member ON ace_team_members (member, team_id)",
            "CREATE INDEX ace_team_members_by_key ON ace_team_members (team_key, team_id)",
            _PROPOSALS,
            "CREATE INDEX ace_proposals_by_proposer ON ace_proposals (proposer)",
        ),
    ),
    Migration("0004_vectors", (_VECTORS, _VECTORS.of_playbooks)),
)
"""Every migration, in order."""

_SHARED = ("ace_named_catalogue", "ace_grants", "ace_team_members", "ace_proposals", "ace_memory_duties")
TABLES = (
    *(table.name for table in _OF_LEARNERS),
    *(table.of_playbooks.name for table in _OF_LEARNERS),
    _VECTORS.name,
    _VECTORS.of_playbooks.name,
    *_SHARED,
    of_playbooks("ace_memory_duties"),
)
"""The names of all tables, but for that of migrations."""


async def migrate(connection: AsyncConnection[Row], partitions: int) -> None:
    """Apply the missing migrations, all or none; without any, nothing is locked or written.

    A new database gets `partitions` parts of each table of learners and playbooks; later tables are
    partitioned as the first are. Raises NewerFormat for a database with unknown migrations, StoreError for
    one in another encoding than UTF-8, and the driver's errors.
    """
    if not await _missing(connection):
        return
    async with writing(connection):
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_SCHEMA_LOCK,))
        missing = await _missing(connection)
        await _check_encoding(connection)
        await connection.execute(
            "CREATE TABLE IF NOT EXISTS ace_migrations (name TEXT PRIMARY KEY, applied_at TEXT NOT NULL)"
        )
        parts = partitions if len(missing) == len(MIGRATIONS) else await _parts(connection)
        for migration in missing:
            for statement in _statements(migration, parts):
                await connection.execute(statement.encode())
            await connection.execute(
                "INSERT INTO ace_migrations VALUES (%s, %s)", (migration.name, datetime.now(UTC).isoformat())
            )


async def _missing(connection: AsyncConnection[Row]) -> list[Migration]:
    """Return the migrations that the database lacks. Raises NewerFormat."""
    # Not to_regclass, which may answer from before another process made the table.
    found = await connection.execute(
        "SELECT 1 FROM pg_class WHERE relname = 'ace_migrations' AND pg_table_is_visible(oid)"
    )
    if await found.fetchone() is None:
        return list(MIGRATIONS)
    names = await connection.execute("SELECT name FROM ace_migrations")
    applied: set[str] = {name for (name,) in await names.fetchall()}
    unknown = sorted(applied - {each.name for each in MIGRATIONS})
    if unknown:
        raise NewerFormat(f"the database has the migration {unknown[-1]}, unknown here: upgrade ace-graph")
    return [migration for migration in MIGRATIONS if migration.name not in applied]


def _statements(migration: Migration, partitions: int) -> Iterator[str]:
    for change in migration.changes:
        if isinstance(change, Table):
            yield from change.statements(partitions)
        else:
            yield change


async def _parts(connection: AsyncConnection[Row]) -> int:
    """Return into how many parts the tables of this database are divided."""
    found = await connection.execute(
        "SELECT count(*) FROM pg_inherits WHERE inhparent = %s::regclass", (_PARTITIONED,)
    )
    (row,) = await found.fetchall()
    return int(row[0])


async def _check_encoding(connection: AsyncConnection[Row]) -> None:
    found = await connection.execute(
        "SELECT pg_encoding_to_char(encoding) FROM pg_database WHERE datname = current_database()"
    )
    (row,) = await found.fetchall()
    if row[0] != "UTF8":
        raise StoreError(
            f"the database is in the encoding {row[0]}, which can't hold every text: create one WITH "
            "ENCODING 'UTF8' TEMPLATE template0, and name it in ACE_STORE"
        )
