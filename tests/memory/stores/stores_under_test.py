"""The databases that the conformance suite runs on: two dictionaries and a SQLite file.

Each holds learners and named playbooks; the suite runs on either, as one specification.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from unittest.mock import patch

from ace_graph.memory.policy import Policy
from ace_graph.memory.stores.base_and_tail import base_checksum
from ace_graph.memory.stores.in_memory.store import InMemoryPlaybooks, InMemoryStore, Learners
from ace_graph.memory.stores.namespaces import Namespace
from ace_graph.memory.stores.sqlite.file import SQLiteFile
from ace_graph.memory.stores.sqlite.namespace import SQLiteNamespace
from ace_graph.memory.stores.sqlite.store import SQLitePlaybooks, SQLiteStore
from ace_graph.memory.stores.sqlite.tables import Tables, Values
from ace_graph.testing.conformance import Traffic
from tests.plugins.sizes import PATIENT

__all__ = ["MemoryPlaybooks", "MemorySubject", "SQLitePlaybooksSubject", "SQLiteSubject"]


class MemorySubject:
    """Stores that share their learners, as processes share a database."""

    def __init__(self) -> None:
        self._learners = Learners()

    def open(self, policy: Policy | None = None) -> InMemoryStore:
        return InMemoryStore(policy, learners=self._learners)


class MemoryPlaybooks:
    """The namespaces of playbooks of such stores."""

    def __init__(self) -> None:
        self._learners = Learners()

    def open(self, policy: Policy | None = None) -> InMemoryPlaybooks:
        return InMemoryPlaybooks(self._learners, policy or Policy())


class SQLiteSubject:
    """Stores on one file."""

    tables: Namespace = "learners"

    def __init__(self, path: Path) -> None:
        self.path = path

    def open(self, policy: Policy | None = None) -> SQLiteNamespace:
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
            row = (
                Tables(connection, self.tables)
                .execute(
                    "SELECT c.memory_json FROM ace_learners l JOIN ace_base_contents c "
                    "ON c.user_id = l.user_id AND c.version = l.content_base WHERE l.user_id = ?",
                    (learner_id,),
                )
                .fetchone()
            )
        return None if row is None else row[0]

    async def write_content(self, learner_id: str, text: str) -> None:
        with closing(sqlite3.connect(self.path)) as connection, connection:
            tables = Tables(connection, self.tables)
            (n, etag) = tables.execute(
                "UPDATE ace_learners SET content_base = version, effects_bytes = 0 WHERE user_id = ? "
                "RETURNING version, etag",
                (learner_id,),
            ).fetchone()
            tables.execute(
                "INSERT INTO ace_base_contents (user_id, version, etag, checksum, memory_json) "
                "VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE "
                "SET checksum = excluded.checksum, memory_json = excluded.memory_json",
                (learner_id, n, etag, base_checksum(n, etag, text), text),
            )


@contextmanager
def _counted_statements() -> Generator[Traffic]:
    traffic, execute = Traffic(), Tables.execute

    def size(value: object) -> int:
        return len(value.encode()) if isinstance(value, str) else 8

    def counted(_: sqlite3.Cursor, row: tuple[object, ...]) -> tuple[object, ...]:
        traffic.read += sum(map(size, row))
        return row

    def counting(tables: Tables, statement: str, values: Values = ()) -> sqlite3.Cursor:
        traffic.statements += 1
        cursor = execute(tables, statement, values)
        cursor.row_factory = counted
        return cursor

    with patch.object(Tables, "execute", counting):
        yield traffic


class SQLitePlaybooksSubject(SQLiteSubject):
    """The namespaces of playbooks on one file."""

    tables: Namespace = "playbooks"

    def open(self, policy: Policy | None = None) -> SQLitePlaybooks:
        file = SQLiteFile(self.path, make_folder=False, lock_timeout=PATIENT)
        return SQLitePlaybooks(file, policy or Policy())
