"""A database of conversations: what SQLite and PostgreSQL have in common, and its tables.

Statements have `?` for a value, which `PostgresDatabase` replaces by its own placeholder.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Final, LiteralString, TypeVar, cast

from langchain_core.messages import AnyMessage
from langgraph.checkpoint.base import BaseCheckpointSaver

from ace_graph.base.errors import OtherSchema, StoreUnavailable

R = TypeVar("R")
Row = tuple[object, ...]
Execute = Callable[[LiteralString, Sequence[object]], Coroutine[Any, Any, list[Row]]]  # Any: asyncio's own
"""Runs one statement in a transaction and returns its rows."""
Work = Callable[[Execute], Coroutine[Any, Any, R]]  # Any: asyncio's own
"""What a transaction does. It awaits its statements and nothing else."""


class ConversationDatabase(ABC):
    """An open database with our tables and LangGraph's checkpoints."""

    saver: BaseCheckpointSaver[str]
    """LangGraph's checkpointer on the same database."""

    named_tables: ClassVar[LiteralString]
    """The statement for those of two tables that the database has."""

    _thread_deletions: ClassVar[Sequence[LiteralString]]
    """The statements that delete all checkpoints of one thread, within a transaction of ours."""

    _pruning: ClassVar[Sequence[LiteralString]]
    _newest: ClassVar[LiteralString]
    """The statement for the kind and the bytes of what holds the messages of a thread's newest checkpoint."""

    _size: ClassVar[LiteralString]
    """The statement for the bytes that conversations take."""

    @abstractmethod
    async def transaction(self, work: Work[R]) -> R:
        """Run `work` in one transaction, which is rolled back when it raises; return what it returns.

        Raises StoreUnavailable, and what `work` raises.
        """

    async def execute(self, statement: LiteralString, values: Sequence[object]) -> list[Row]:
        """Run one statement in a transaction of its own. Raises StoreUnavailable."""
        return await self.transaction(lambda execute: execute(statement, values))

    async def schema_change(self, work: Work[R]) -> R:
        """Run statements that change tables in one transaction, under a lock. Raises StoreUnavailable."""
        return await self.transaction(work)

    @contextmanager
    def translated(self) -> Generator[None]:
        """Raise StoreUnavailable for the errors of the database's driver within the block.

        LangGraph's checkpointer raises them as they are.
        """
        try:
            yield
        except Exception as error:
            if (why := self._why(error)) is None:
                raise
            raise StoreUnavailable(f"conversations can't be read or written: {why}") from error

    @abstractmethod
    def _why(self, error: Exception) -> str | None:
        """Return what an error of the database's driver says; None for any other error."""

    async def messages(self, thread_id: str) -> list[AnyMessage]:
        """Return the messages of a thread, read off the event loop: a conversation may hold megabytes."""
        rows = await self.execute(self._newest, (thread_id,))
        if not rows:
            return []
        kept = await asyncio.to_thread(self.saver.serde.loads_typed, cast("tuple[str, bytes]", rows[0]))
        return self._messages_in(kept)

    def _messages_in(self, kept: Any) -> list[AnyMessage]:  # Any: of a checkpoint
        """Return the messages in what `_newest` has found."""
        return cast("list[AnyMessage]", kept)

    async def delete_thread(self, thread_id: str, execute: Execute) -> None:
        """Delete all checkpoints of a thread, within a transaction of ours."""
        for statement in self._thread_deletions:
            await execute(statement, (thread_id,))

    def prunings(self, thread_id: str, run_id: str) -> Sequence[tuple[LiteralString, Sequence[object]]]:
        """Return the statements that delete all checkpoints of a thread but the last one of a run.

        It need not be the newest by its id, which holds the time: another server's clock may be ahead.
        """
        values = (thread_id, thread_id, run_id)
        return [(statement, values[: statement.count("?")]) for statement in self._pruning]

    async def size(self) -> int:
        """Return the bytes that conversations take. Raises StoreUnavailable."""
        ((size,),) = await self.execute(self._size, ())
        return int(cast("int", size))

    @abstractmethod
    async def scrub(self) -> None:
        """Make deleted rows unreadable, if the database can do that on request."""

    @abstractmethod
    async def close(self) -> None:
        """Release connections."""


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
    """Make the tables where there are none; of several servers that start, the one with the lock makes them.

    A database with another schema is left as it is. Raises OtherSchema, StoreUnavailable.
    """

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
