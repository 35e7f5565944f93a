"""The tables of the conversations, as numbered migrations that are applied once each.

The same statements run on SQLite and PostgreSQL. The names of applied migrations are in a table. Any number
of servers may start at once: the one with the lock applies what is missing. A released migration is never
edited; a change of the tables is a new one.
"""

from __future__ import annotations

from typing import Final, LiteralString, NamedTuple

from ace_graph.errors import NewerFormat
from ace_graph.server.conversations.database import Database, Execute


class SchemaMigration(NamedTuple):
    """One migration. A `?` in its statements is the time at which it is applied."""

    name: LiteralString
    statements: tuple[LiteralString, ...]


_APPLIED: Final = (
    "CREATE TABLE IF NOT EXISTS ace_conversation_migrations (name TEXT PRIMARY KEY, applied_at TEXT NOT NULL)"
)

MIGRATIONS: Final[tuple[SchemaMigration, ...]] = (
    SchemaMigration(
        "0001_conversations",
        # Version 0.1 made these tables without recording a migration.
        (
            "CREATE TABLE IF NOT EXISTS ace_conversations (id TEXT PRIMARY KEY, learner_id TEXT NOT NULL, "
            "created_at TEXT NOT NULL)",
            "CREATE INDEX IF NOT EXISTS ace_conversations_by_learner ON ace_conversations (learner_id)",
            "CREATE TABLE IF NOT EXISTS ace_runs (conversation_id TEXT PRIMARY KEY, run_id TEXT NOT NULL, "
            "learner_id TEXT NOT NULL, asked_json TEXT NOT NULL, owner TEXT NOT NULL, "
            "lease_until DOUBLE PRECISION NOT NULL, tries INTEGER NOT NULL)",
            "CREATE INDEX IF NOT EXISTS ace_runs_by_learner ON ace_runs (learner_id)",
            "CREATE TABLE IF NOT EXISTS ace_unsaved (turn_id TEXT PRIMARY KEY, learner_id TEXT NOT NULL, "
            "unsaved_json TEXT NOT NULL)",
        ),
    ),
    SchemaMigration(
        "0002_ids_belong_to_learners",
        # Before it, a conversation's checkpoints were kept under its id, and ids were unique across learners.
        (
            "ALTER TABLE ace_conversations RENAME TO ace_conversations_by_id",
            "CREATE TABLE ace_conversations (learner_id TEXT NOT NULL, id TEXT NOT NULL, "
            "thread_id TEXT NOT NULL UNIQUE, created_at TEXT NOT NULL, PRIMARY KEY (learner_id, id))",
            "INSERT INTO ace_conversations (learner_id, id, thread_id, created_at) "
            "SELECT learner_id, id, id, created_at FROM ace_conversations_by_id",
            "DROP TABLE ace_conversations_by_id",
            "ALTER TABLE ace_runs RENAME TO ace_runs_by_id",
            "CREATE TABLE ace_runs (thread_id TEXT PRIMARY KEY, run_id TEXT NOT NULL, "
            "learner_id TEXT NOT NULL, conversation_id TEXT NOT NULL, asked_json TEXT NOT NULL, "
            "owner TEXT NOT NULL, lease_until DOUBLE PRECISION NOT NULL, tries INTEGER NOT NULL)",
            "INSERT INTO ace_runs (thread_id, run_id, learner_id, conversation_id, asked_json, owner, "
            "lease_until, tries) SELECT conversation_id, run_id, learner_id, conversation_id, asked_json, "
            "owner, lease_until, tries FROM ace_runs_by_id",
            "DROP TABLE ace_runs_by_id",
            "CREATE INDEX ace_runs_by_learner ON ace_runs (learner_id)",
        ),
    ),
    SchemaMigration(
        "0003_last_use",
        # Existing conversations count as used now, so that none is deleted at once.
        (
            "ALTER TABLE ace_conversations ADD COLUMN used_at TEXT NOT NULL DEFAULT ''",
            "UPDATE ace_conversations SET used_at = ?",
            "CREATE INDEX ace_conversations_by_use ON ace_conversations (used_at)",
            "CREATE TABLE ace_duties (name TEXT PRIMARY KEY, began_at DOUBLE PRECISION NOT NULL)",
        ),
    ),
    SchemaMigration(
        "0004_given_up",
        (
            "CREATE TABLE ace_given_up (run_id TEXT PRIMARY KEY, learner_id TEXT NOT NULL, "
            "conversation_id TEXT NOT NULL, reason TEXT NOT NULL, at TEXT NOT NULL)",
            "CREATE INDEX ace_given_up_by_learner ON ace_given_up (learner_id)",
        ),
    ),
    SchemaMigration(
        "0005_titles",
        (
            "ALTER TABLE ace_conversations ADD COLUMN title TEXT NOT NULL DEFAULT ''",
            "CREATE INDEX ace_conversations_of_learner ON ace_conversations (learner_id, used_at)",
        ),
    ),
    SchemaMigration(
        "0006_replies",
        (
            "CREATE TABLE ace_replies (learner_id TEXT NOT NULL, idempotency_key TEXT NOT NULL, "
            "request TEXT NOT NULL, at TEXT NOT NULL, status INTEGER, headers_json TEXT, body TEXT, "
            "PRIMARY KEY (learner_id, idempotency_key))",
            "CREATE INDEX ace_replies_by_time ON ace_replies (at)",
        ),
    ),
)


async def migrate(database: Database, now: str) -> None:
    """Apply the migrations that the database lacks, all or none.

    Raises NewerFormat for a database with migrations that are unknown here, StoreUnavailable.
    """

    async def apply(execute: Execute) -> None:
        await execute(_APPLIED, ())
        rows = await execute("SELECT name FROM ace_conversation_migrations", ())
        applied = {str(row[0]) for row in rows}
        unknown = sorted(applied - {each.name for each in MIGRATIONS})
        if unknown:
            raise NewerFormat(
                f"the conversations have the migration {unknown[-1]}, unknown here: upgrade ace-graph"
            )
        for migration in MIGRATIONS:
            if migration.name in applied:
                continue
            for statement in migration.statements:
                await execute(statement, (now,) * statement.count("?"))
            await execute(
                "INSERT INTO ace_conversation_migrations (name, applied_at) VALUES (?, ?)",
                (migration.name, now),
            )

    await database.schema_change(apply)
