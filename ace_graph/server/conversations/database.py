"""The protocol of a database of conversations, which SQLite and PostgreSQL implement.

Statements have `?` for a value, which `PostgresDatabase` replaces by its own placeholder.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import LiteralString, Protocol

from langchain_core.messages import AnyMessage
from langgraph.checkpoint.base import BaseCheckpointSaver

__all__ = ["Database", "Execute", "Row"]

Row = tuple[object, ...]
Execute = Callable[[LiteralString, Sequence[object]], Awaitable[list[Row]]]
"""Runs one statement in a transaction and returns its rows."""


class Database(Protocol):
    """An open database with our tables and LangGraph's checkpoints."""

    @property
    def saver(self) -> BaseCheckpointSaver[str]:
        """LangGraph's checkpointer on the same database."""
        ...

    def transaction(self) -> AbstractAsyncContextManager[Execute]:
        """Run statements in one transaction. Raises StoreUnavailable."""
        ...

    def schema_change(self) -> AbstractAsyncContextManager[Execute]:
        """Run statements that change tables in one transaction, under a lock. Raises StoreUnavailable."""
        ...

    def translated(self) -> AbstractContextManager[None]:
        """Raise StoreUnavailable for the errors of the database's driver within the block.

        LangGraph's checkpointer raises them as they are.
        """
        ...

    async def delete_thread(self, thread_id: str) -> None:
        """Delete all checkpoints of a thread. Raises StoreUnavailable."""
        ...

    async def messages(self, thread_id: str) -> list[AnyMessage]:
        """Return the messages of a thread, read off the event loop: a conversation may hold megabytes."""
        ...

    @property
    def thread_deletions(self) -> Sequence[LiteralString]:
        """The statements that delete all checkpoints of one thread, within a transaction of ours."""
        ...

    async def size(self) -> int:
        """Return the bytes that conversations take. Raises StoreUnavailable."""
        ...

    async def prune(self, thread_id: str, run_id: str) -> None:
        """Delete all checkpoints of a thread but the last one of a run.

        It need not be the newest by its id, which holds the time: another server's clock may be ahead.
        """
        ...

    async def scrub(self) -> None:
        """Make deleted rows unreadable, if the database can do that on request."""
        ...

    async def close(self) -> None:
        """Release connections."""
        ...
