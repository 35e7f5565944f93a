"""The databases that the conformance suite runs on: SQLite in memory, and in a file.

Each holds learners and named playbooks; the suite runs on either, as one specification.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from unittest.mock import patch

from ace_graph.memory import Policy
from ace_graph.memory.stores import KeyedStore, Namespace, PlaybookStore, base_checksum
from ace_graph.memory.stores.sql import SQLiteDatabase, SQLiteStore, SQLiteTables, Values
from ace_graph.testing.conformance import Traffic
from tests.plugins.sizes import PATIENT

__all__ = ["MemoryPlaybooks", "MemorySubject", "SQLitePlaybooksSubject", "SQLiteSubject"]


class MemorySubject:
    """Stores that share a database in memory, as processes share a file."""

    def __init__(self) -> None:
        self._database = SQLiteDatabase()

    def open(self, policy: Policy | None = None) -> SQLiteStore:
        return SQLiteStore(self._database, policy)


class MemoryPlaybooks:
    """The namespaces of playbooks of such stores."""

    def __init__(self) -> None:
        self._database = SQLiteDatabase()

    def open(self, policy: Policy | None = None) -> PlaybookStore:
        return PlaybookStore(self._database, policy)


class SQLiteSubject:
    """Stores on one file."""

    tables: Namespace = "learners"

    def __init__(self, path: Path) -> None:
        self.path = path

    def open(self, policy: Policy | None = None) -> KeyedStore:
        return SQLiteStore(self.path, policy)

    async def measured(self, job: Callable[[], Awaitable[None]]) -> Traffic:
        """Count statements, the bytes of rows that were fetched, and those of the write-ahead log."""
        with closing(sqlite3.connect(self.path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            with _counted_statements() as traffic:
                await job()
            traffic.written = self.path.with_name(f"{self.path.name}-wal").stat().st_size
        return traffic

    async def read_content(self, learner_id: str) -> str | None:
        with closing(sqlite3.connect(self.path)) as connection:
            rows = await SQLiteTables(connection, self.tables).fetch(
                "SELECT b.memory_json FROM ace_learners l JOIN ace_bases b "
                "ON b.user_id = l.user_id AND b.version = l.content_base WHERE l.user_id = ?",
                (learner_id,),
            )
        return rows[0][0] if rows else None

    async def write_content(self, learner_id: str, text: str) -> None:
        with closing(sqlite3.connect(self.path)) as connection, connection:
            tables = SQLiteTables(connection, self.tables)
            ((n, etag),) = await tables.fetch(
                "UPDATE ace_learners SET content_base = version, effects_bytes = 0 WHERE user_id = ? "
                "RETURNING version, etag",
                (learner_id,),
            )
            await tables.change(
                "INSERT INTO ace_bases (user_id, version, etag, checksum, memory_json) "
                "VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE "
                "SET checksum = excluded.checksum, memory_json = excluded.memory_json",
                (learner_id, n, etag, base_checksum(n, etag, text), text),
            )


@contextmanager
def _counted_statements() -> Generator[Traffic]:
    traffic, execute = Traffic(), SQLiteTables.execute

    def size(value: object) -> int:
        return len(value.encode()) if isinstance(value, str) else 8

    def counted(_: sqlite3.Cursor, row: tuple[object, ...]) -> tuple[object, ...]:
        traffic.read += sum(map(size, row))
        return row

    def counting(tables: SQLiteTables, statement: str, values: Values = ()) -> sqlite3.Cursor:
        traffic.statements += 1
        cursor = execute(tables, statement, values)
        cursor.row_factory = counted
        return cursor

    with patch.object(SQLiteTables, "execute", counting):
        yield traffic


class SQLitePlaybooksSubject(SQLiteSubject):
    """The namespaces of playbooks on one file."""

    tables: Namespace = "playbooks"

    def open(self, policy: Policy | None = None) -> PlaybookStore:
        return PlaybookStore(SQLiteDatabase(self.path, lock_timeout=PATIENT), policy)
