"""Conversations in a SQLite file, on one connection that LangGraph's checkpointer shares."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import LiteralString, cast

import aiosqlite
from langchain_core.messages import AnyMessage
from langgraph.checkpoint.base import Checkpoint
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from ace_graph.errors import StoreUnavailable
from ace_graph.server.conversations.database import Execute, Row

__all__ = ["SQLiteDatabase", "open_sqlite"]

_BUSY_TIMEOUT_MS = 10_000
# Both are LangGraph's tables; our threads have one namespace.
_PRUNE = (
    "DELETE FROM writes WHERE thread_id = ? AND checkpoint_id <> (SELECT MAX(checkpoint_id) FROM checkpoints "
    "WHERE thread_id = ? AND json_extract(CAST(metadata AS TEXT), '$.ace_run') = ?)",
    "DELETE FROM checkpoints WHERE thread_id = ? AND checkpoint_id <> (SELECT MAX(checkpoint_id) "
    "FROM checkpoints WHERE thread_id = ? AND json_extract(CAST(metadata AS TEXT), '$.ace_run') = ?)",
)

_NEWEST = (
    "SELECT type, checkpoint FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = '' "
    "ORDER BY checkpoint_id DESC LIMIT 1"
)


async def open_sqlite(path: Path | None) -> SQLiteDatabase:
    """Return the database in the file at `path`, made with its folder, for its owner only; None: in memory.

    Raises StoreUnavailable.
    """
    try:
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        connection = await aiosqlite.connect(path or ":memory:")
    except (OSError, sqlite3.Error) as error:
        raise StoreUnavailable(f"conversations can't be kept in {path}: {error}") from error
    try:
        for pragma in (f"busy_timeout={_BUSY_TIMEOUT_MS}", "secure_delete=ON", "synchronous=NORMAL"):
            await connection.execute(f"PRAGMA {pragma}")
        saver = AsyncSqliteSaver(connection)
        await saver.setup()
    except sqlite3.Error as error:
        await connection.close()
        raise StoreUnavailable(f"conversations can't be kept in {path}: {error}") from error
    return SQLiteDatabase(connection, saver)


class SQLiteDatabase:
    """See `database.Database`. The checkpointer's lock keeps its statements and ours apart."""

    thread_deletions: Sequence[LiteralString] = (
        "DELETE FROM writes WHERE thread_id = ?",
        "DELETE FROM checkpoints WHERE thread_id = ?",
    )

    def __init__(self, connection: aiosqlite.Connection, saver: AsyncSqliteSaver) -> None:
        self._connection = connection
        self.saver = saver

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[Execute]:
        """Run statements together, with the file's write lock held."""
        connection = self._connection

        async def execute(statement: LiteralString, values: Sequence[object]) -> list[Row]:
            # One call to the connection's thread; a cursor would take three.
            return cast("list[Row]", list(await connection.execute_fetchall(statement, tuple(values))))

        async with self.saver.lock:
            try:
                await self._begin()
                yield execute
                await connection.commit()
            except BaseException as error:
                # Runs after whatever a cancelled call still does in the connection's thread.
                await connection.rollback()
                if isinstance(error, sqlite3.Error):
                    raise StoreUnavailable(f"conversations can't be read or written: {error}") from error
                raise

    def schema_change(self) -> AbstractAsyncContextManager[Execute]:
        """Run statements that change tables: a transaction holds the file's write lock anyway."""
        return self.transaction()

    async def _begin(self) -> None:
        try:
            await self._connection.execute_fetchall("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            if not self._connection.in_transaction:
                raise
            # A cancelled checkpoint was written all the same and left its transaction open.
            await self._connection.rollback()
            await self._connection.execute_fetchall("BEGIN IMMEDIATE")

    @contextmanager
    def translated(self) -> Generator[None]:
        """Raise StoreUnavailable for the driver's errors."""
        try:
            yield
        except sqlite3.Error as error:
            raise StoreUnavailable(f"conversations can't be read or written: {error}") from error

    async def delete_thread(self, thread_id: str) -> None:
        """Delete all checkpoints of a thread."""
        with self.translated():
            await self.saver.adelete_thread(thread_id)

    async def messages(self, thread_id: str) -> list[AnyMessage]:
        """Return the messages of a thread's newest checkpoint."""
        async with self.saver.lock:
            with self.translated():
                rows = list(await self._connection.execute_fetchall(_NEWEST, (thread_id,)))
        if not rows:
            return []
        kept = await asyncio.to_thread(self.saver.serde.loads_typed, tuple(rows[0]))
        return cast("list[AnyMessage]", cast("Checkpoint", kept)["channel_values"].get("messages", []))

    async def prune(self, thread_id: str, run_id: str) -> None:
        """Delete all checkpoints of a thread but the last one of a run."""
        values = (thread_id, thread_id, run_id)
        async with self.transaction() as execute:
            for statement in _PRUNE:
                await execute(statement, values)

    async def size(self) -> int:
        """Return the bytes of the file, without its log."""
        async with self.saver.lock:
            try:
                (row,) = await self._connection.execute_fetchall(
                    "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
                )
            except sqlite3.Error as error:
                raise StoreUnavailable(f"conversations can't be read or written: {error}") from error
        return int(row[0])

    async def scrub(self) -> None:
        """Empty the write-ahead log, in which deleted rows can still be read."""
        async with self.saver.lock:
            with suppress(sqlite3.OperationalError):  # another process reads: the log is overwritten later
                await self._connection.execute_fetchall("PRAGMA wal_checkpoint(TRUNCATE)")

    async def close(self) -> None:
        """Close the connection."""
        await self._connection.close()
