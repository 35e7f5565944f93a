"""The protocol of a database of conversations, which SQLite and PostgreSQL implement.

Statements have `?` for a value, which `PostgresDatabase` replaces by its own placeholder.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, LiteralString, Protocol, TypeVar

from langchain_core.messages import AnyMessage
from langgraph.checkpoint.base import BaseCheckpointSaver

from ace_graph.base.errors import OtherSchema

R = TypeVar("R")
Row = tuple[object, ...]
Statement = tuple[LiteralString, Sequence[object]]
"""The text of a statement, and its values."""
Execute = Callable[[LiteralString, Sequence[object]], Coroutine[Any, Any, list[Row]]]  # Any: asyncio's own
"""Runs one statement in a transaction and returns its rows."""
Work = Callable[[Execute], Coroutine[Any, Any, R]]  # Any: asyncio's own
"""What a transaction does. It awaits its statements and nothing else."""


class ConversationDatabase(Protocol):
    """An open database with our tables and LangGraph's checkpoints."""

    @property
    def saver(self) -> BaseCheckpointSaver[str]:
        """LangGraph's checkpointer on the same database."""
        ...

    async def transaction(self, work: Work[R]) -> R:
        """Run `work` in one transaction, which is rolled back when it raises; return what it returns.

        Raises StoreUnavailable, and what `work` raises.
        """
        ...

    async def execute(self, statement: LiteralString, values: Sequence[object]) -> list[Row]:
        """Run one statement in a transaction of its own. Raises StoreUnavailable."""
        ...

    async def schema_change(self, work: Work[R]) -> R:
        """Run statements that change tables in one transaction, under a lock. Raises StoreUnavailable."""
        ...

    def translated(self) -> AbstractContextManager[None]:
        """Raise StoreUnavailable for the errors of the database's driver within the block.

        LangGraph's checkpointer raises them as they are.
        """
        ...

    async def messages(self, thread_id: str) -> list[AnyMessage]:
        """Return the messages of a thread, read off the event loop: a conversation may hold megabytes."""
        ...

    @property
    def named_tables(self) -> LiteralString:
        """The statement for those of two tables that the database has."""
        ...

    @property
    def thread_deletions(self) -> Sequence[LiteralString]:
        """The statements that delete all checkpoints of one thread, within a transaction of ours."""
        ...

    async def size(self) -> int:
        """Return the bytes that conversations take. Raises StoreUnavailable."""
        ...

    def prunings(self, thread_id: str, run_id: str) -> Sequence[Statement]:
        """Return the statements that delete all checkpoints of a thread but the last one of a run.

        It need not be the newest by its id, which holds the time: another server's clock may be ahead.
        """
        ...

    async def scrub(self) -> None:
        """Make deleted rows unreadable, if the database can do that on request."""
        ...

    async def close(self) -> None:
        """Release connections."""
        ...


# The tables of the conversations: one schema, the same statements on SQLite and PostgreSQL.
#
# Any number of servers may start at once: the one with the lock makes the tables. A database with another
# schema is refused as it is.


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


async def make_schema(database: ConversationDatabase, now: str) -> None:
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
