"""The tables of the conversations: one schema, the same statements on SQLite and PostgreSQL.

Any number of servers may start at once: the one with the lock makes the tables. A database with another
schema is refused as it is.
"""

from __future__ import annotations

from typing import Final, LiteralString

from ace_graph.errors import OtherSchema
from ace_graph.server.conversations.database import Database, Execute

SCHEMA: Final = "1"

_STATEMENTS: Final[tuple[LiteralString, ...]] = (
    "CREATE TABLE ace_conversation_schema (name TEXT PRIMARY KEY, made_at TEXT NOT NULL)",
    "CREATE TABLE ace_conversations (learner_id TEXT NOT NULL, id TEXT NOT NULL, "
    "thread_id TEXT NOT NULL UNIQUE, created_at TEXT NOT NULL, used_at TEXT NOT NULL DEFAULT '', "
    "title TEXT NOT NULL DEFAULT '', PRIMARY KEY (learner_id, id))",
    "CREATE INDEX ace_conversations_by_use ON ace_conversations (used_at)",
    "CREATE INDEX ace_conversations_of_learner ON ace_conversations (learner_id, used_at)",
    "CREATE TABLE ace_runs (thread_id TEXT PRIMARY KEY, run_id TEXT NOT NULL, learner_id TEXT NOT NULL, "
    "conversation_id TEXT NOT NULL, asked_json TEXT NOT NULL, owner TEXT NOT NULL, "
    "lease_until DOUBLE PRECISION NOT NULL, tries INTEGER NOT NULL)",
    "CREATE INDEX ace_runs_by_learner ON ace_runs (learner_id)",
    "CREATE TABLE ace_unsaved (turn_id TEXT PRIMARY KEY, learner_id TEXT NOT NULL, "
    "unsaved_json TEXT NOT NULL)",
    "CREATE TABLE ace_duties (name TEXT PRIMARY KEY, began_at DOUBLE PRECISION NOT NULL)",
    "CREATE TABLE ace_given_up (run_id TEXT PRIMARY KEY, learner_id TEXT NOT NULL, "
    "conversation_id TEXT NOT NULL, reason TEXT NOT NULL, at TEXT NOT NULL)",
    "CREATE INDEX ace_given_up_by_learner ON ace_given_up (learner_id)",
    "CREATE TABLE ace_replies (learner_id TEXT NOT NULL, idempotency_key TEXT NOT NULL, "
    "request TEXT NOT NULL, at TEXT NOT NULL, status INTEGER, headers_json TEXT, body TEXT, "
    "PRIMARY KEY (learner_id, idempotency_key))",
    "CREATE INDEX ace_replies_by_time ON ace_replies (at)",
)


async def make_schema(database: Database, now: str) -> None:
    """Make the tables where there are none. Raises OtherSchema, StoreUnavailable."""

    async def make(execute: Execute) -> None:
        names = ("ace_conversation_schema", "ace_conversations")
        held = {row[0] for row in await execute(database.named_tables, names)}
        if not held:
            for statement in _STATEMENTS:
                await execute(statement, ())
            await execute("INSERT INTO ace_conversation_schema VALUES (?, ?)", (SCHEMA, now))
            return
        made: list[object] = ["older"]
        if "ace_conversation_schema" in held:
            made = [row[0] for row in await execute("SELECT name FROM ace_conversation_schema", ())]
        if made != [SCHEMA]:
            raise OtherSchema(
                f"the conversations have a schema of another version ({made[-1]}, here {SCHEMA}) and were "
                "left as they are: name another place in ACE_CONVERSATIONS; with that version of ace-graph, "
                "ace-graph learner export LEARNER --output FILE writes a learner's to a file"
            )

    await database.schema_change(make)
