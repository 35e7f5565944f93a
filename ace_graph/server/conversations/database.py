"""The protocol of a database of conversations, which SQLite and PostgreSQL implement.

Statements have `?` for a value, which `PostgresDatabase` replaces by its own placeholder.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractContextManager
from typing import Any, LiteralString, Protocol, TypeVar

from langchain_core.messages import AnyMessage
from langgraph.checkpoint.base import BaseCheckpointSaver

R = TypeVar("R")

Row = tuple[object, ...]
Statement = tuple[LiteralString, Sequence[object]]
"""The text of a statement, and its values."""

Execute = Callable[[LiteralString, Sequence[object]], Coroutine[Any, Any, list[Row]]]  # Any: asyncio's own
"""Runs one statement in a transaction and returns its rows."""

Work = Callable[[Execute], Coroutine[Any, Any, R]]  # Any: asyncio's own
"""What a transaction does. It awaits its statements and nothing else."""


class Database(Protocol):
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
