"""A database of conversations: what SQLite and PostgreSQL have in common, and its tables.

Statements have `?` for a value, which `PostgresDatabase` replaces by its own placeholder.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Final, LiteralString, TypeVar, cast

from ace_graph.base.errors import OtherSchema, StoreUnavailable
from ace_graph.base.tables import named_texts

if TYPE_CHECKING:
    from langchain_core.messages import AnyMessage
    from langgraph.checkpoint.base import BaseCheckpointSaver

R = TypeVar("R")
Row = tuple[object, ...]
Execute = Callable[[LiteralString, Sequence[object]], Coroutine[Any, Any, list[Row]]]  # Any: asyncio's own
"""Runs one statement in a transaction and returns its rows."""
Work = Callable[[Execute], Coroutine[Any, Any, R]]  # Any: asyncio's own
"""What a transaction does. It awaits its statements and nothing else."""


def read_statements(file: str) -> Mapping[str, LiteralString]:
    """Return the statements of a file of this package, by their names."""
    texts = named_texts("ace_graph.server.conversations", file)
    return cast("Mapping[str, LiteralString]", {name: text.strip() for name, text in texts.items()})


def in_turn(text: LiteralString) -> list[LiteralString]:
    """Return the statements that are to be run one after the other."""
    return text.split(";\n")


SQL = read_statements("statements.sql")
"""The statements that both databases have."""


class ConversationDatabase(ABC):
    """An open database with our tables and LangGraph's checkpoints."""

    saver: BaseCheckpointSaver[str]
    """LangGraph's checkpointer on the same database."""

    own: ClassVar[Mapping[str, LiteralString]]
    """The statements that the database has of its own."""

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
        rows = await self.execute(self.own["NEWEST"], (thread_id,))
        if not rows:
            return []
        kept = await asyncio.to_thread(self.saver.serde.loads_typed, cast("tuple[str, bytes]", rows[0]))
        return self._messages_in(kept)

    def _messages_in(self, kept: Any) -> list[AnyMessage]:  # Any: of a checkpoint
        return cast("list[AnyMessage]", kept)

    async def delete_thread(self, thread_id: str, execute: Execute) -> None:
        """Delete all checkpoints of a thread, within a transaction of ours."""
        for statement in in_turn(self.own["DELETE_THREAD"]):
            await execute(statement, (thread_id,))

    def prunings(self, thread_id: str, run_id: str) -> Sequence[tuple[LiteralString, Sequence[object]]]:
        """Return the statements that delete all checkpoints of a thread but the last one of a run.

        It need not be the newest by its id, which holds the time: another server's clock may be ahead.
        """
        values = (thread_id, run_id, thread_id, thread_id, thread_id)
        return [
            (statement, values[: statement.count("?")]) for statement in in_turn(self.own["PRUNE_THREAD"])
        ]

    async def size(self) -> int:
        """Return the bytes that conversations take. Raises StoreUnavailable."""
        ((size,),) = await self.execute(self.own["SIZE"], ())
        return int(cast("int", size))

    @abstractmethod
    async def scrub(self) -> None:
        """Make deleted rows unreadable, if the database can do that on request."""

    @abstractmethod
    async def close(self) -> None:
        """Release connections."""


SCHEMA: Final = "3"


async def make_schema(database: ConversationDatabase, now: str) -> None:
    """Make the tables where there are none; of several servers that start, the one with the lock makes them.

    A database with another schema is left as it is. Raises OtherSchema, StoreUnavailable.
    """

    async def make(execute: Execute) -> None:
        names = ("ace_conversation_schema", "ace_conversations")
        held = {row[0] for row in await execute(database.own["NAMED_TABLES"], names)}
        if not held:
            for statement in in_turn(read_statements("schema.sql")["TABLES"].removesuffix(";")):
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
