"""Conversations in a SQLite file: one connection in one thread, which LangGraph's checkpointer shares.

A transaction is one job of that thread, so it costs one change of threads, however many statements it has.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, LiteralString, Protocol, cast

from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.checkpoint.sqlite import SqliteSaver

from ace_graph.base.errors import StoreUnavailable
from ace_graph.memory.stores.backend import result_of
from ace_graph.server.conversations.database import ConversationDatabase, R, Row, Work, read_statements


class _Run(Protocol):
    """Runs a job in the connection's thread."""

    def __call__(self, job: Callable[[], R]) -> Coroutine[Any, Any, R]: ...  # Any: asyncio's own


class ThreadSaver(SqliteSaver):
    """A checkpointer whose calls are jobs of a thread. Its connection is used in no other one.

    LangGraph's own AsyncSqliteSaver changes threads for every cursor, statement and row.
    """

    def __init__(self, connection: sqlite3.Connection, run: _Run) -> None:
        super().__init__(connection)
        self.is_setup = True
        self._run = run

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await self._run(partial(self.get_tuple, config))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # Any: LangGraph's own
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        listed = partial(self.list, config, filter=filter, before=before, limit=limit)
        for found in await self._run(lambda: list(listed())):
            yield found

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Write a checkpoint; it is made into bytes in the thread, too."""
        return await self._run(partial(self.put, config, checkpoint, metadata, new_versions))

    async def adelete_thread(self, thread_id: str) -> None:
        await self._run(partial(self.delete_thread, thread_id))


_BUSY_TIMEOUT_MS = 10_000


async def open_sqlite(path: Path | None) -> SQLiteConversations:
    """Return the database in the file at `path`, made with its folder, for its owner only; None: in memory.

    Raises StoreUnavailable.
    """
    thread = ThreadPoolExecutor(1, thread_name_prefix="ace-graph-conversations")
    try:
        saver = await asyncio.get_running_loop().run_in_executor(thread, _open, path)
    except (OSError, sqlite3.Error) as error:
        thread.shutdown(wait=False)
        raise StoreUnavailable(f"conversations can't be kept in {path}: {error}") from error
    return SQLiteConversations(saver, thread)


def _open(path: Path | None) -> SqliteSaver:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    connection = sqlite3.connect(path or ":memory:", check_same_thread=False)
    try:
        for pragma in (f"busy_timeout={_BUSY_TIMEOUT_MS}", "secure_delete=ON", "synchronous=NORMAL"):
            connection.execute(f"PRAGMA {pragma}")
        saver = SqliteSaver(connection)
        saver.setup()
    except sqlite3.Error:
        connection.close()
        raise
    return saver


class SQLiteConversations(ConversationDatabase):
    """A database in a file: statements and checkpoints are jobs of one thread, one after the other.

    A job whose caller is cancelled is done all the same: its transaction is whole, and holds the file's write
    lock. The size is without the log.
    """

    own = read_statements("sqlite.sql")

    def __init__(self, saver: SqliteSaver, thread: ThreadPoolExecutor) -> None:
        self._connection = saver.conn
        self._thread = thread
        self.saver = ThreadSaver(saver.conn, self._run)

    async def transaction(self, work: Work[R]) -> R:
        """Run `work` with the file's write lock held."""
        with self.translated():
            return await self._run(partial(_transact, self._connection, work))

    def _why(self, error: Exception) -> str | None:
        return str(error) if isinstance(error, sqlite3.Error) else None

    def _messages_in(self, kept: Any) -> list[AnyMessage]:  # Any: of a checkpoint
        return cast("list[AnyMessage]", kept["channel_values"].get("messages", []))

    async def scrub(self) -> None:
        """Empty the write-ahead log, in which deleted rows can still be read."""
        with suppress(sqlite3.OperationalError):  # another process reads: the log is overwritten later
            await self._run(lambda: self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())

    async def close(self) -> None:
        """Close the connection when the jobs under way have ended."""
        await self._run(self._connection.close)
        self._thread.shutdown(wait=False)

    async def _run(self, job: Callable[[], R]) -> R:
        return await asyncio.get_running_loop().run_in_executor(self._thread, job)


def _transact(connection: sqlite3.Connection, work: Work[R]) -> R:
    async def execute(statement: LiteralString, values: Sequence[object]) -> list[Row]:
        return connection.execute(statement, tuple(values)).fetchall()

    if connection.in_transaction:  # a checkpoint whose end failed, as on a full disk, has left it open
        connection.rollback()
    connection.execute("BEGIN IMMEDIATE")
    try:
        result = result_of(work(execute))
        connection.commit()
    except BaseException:
        connection.rollback()
        raise
    return result
