"""The PostgreSQL database of a test: stores on it, and direct access by SQL."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest
from psycopg import AsyncConnection

from ace_graph.memory import Policy
from ace_graph.memory.stores import KeyedStore, Namespace, PlaybookStore, Row, Timeouts, base_checksum
from ace_graph.memory.stores.sql import (
    PostgresDatabase,
    PostgresStore,
    PostgresTables,
    Values,
    checked_address,
    of_playbooks,
)
from ace_graph.testing.conformance import Traffic
from tests.plugins.sizes import PATIENT

__all__ = ["PostgresPlaybooksSubject", "PostgresSubject", "sent_statements"]

Rows = list[tuple[Any, ...]]  # Any: whatever the test's own SQL returns


class PostgresSubject:
    """Stores on one database."""

    namespace: Namespace = "learners"

    def __init__(self, url: str, partitions: int = 0) -> None:
        self.url = url
        self.partitions = partitions

    def open(self, policy: Policy | None = None) -> KeyedStore:
        """Return one more store on the database; the test closes it."""
        return PostgresStore(self.url, policy, connections=4, partitions=self.partitions, timeout=PATIENT)

    async def sql(self, statement: str, *values: object) -> Rows:
        """Run one statement past the store and return its rows."""
        named = statement if self.namespace == "learners" else of_playbooks(statement)
        async with await AsyncConnection.connect(self.url, autocommit=True) as connection:
            done = await connection.execute(named.encode(), values)
            return await done.fetchall() if done.description else []

    async def read_content(self, learner_id: str) -> str | None:
        rows = await self.sql(
            "SELECT b.memory_json FROM ace_learners l JOIN ace_bases b "
            "ON b.user_id = l.user_id AND b.version = l.content_base WHERE l.user_id = %s",
            learner_id,
        )
        return rows[0][0] if rows else None

    async def write_content(self, learner_id: str, text: str) -> None:
        ((n, etag),) = await self.sql(
            "UPDATE ace_learners SET content_base = version, effects_bytes = 0 WHERE user_id = %s "
            "RETURNING version, etag",
            learner_id,
        )
        await self.sql(
            "INSERT INTO ace_bases (user_id, version, etag, checksum, memory_json) "
            "VALUES (%s, %s, %s, %s, %s) ON CONFLICT (user_id, version) DO UPDATE "
            "SET checksum = excluded.checksum, memory_json = excluded.memory_json",
            *(learner_id, n, etag, base_checksum(n, etag, text), text),
        )

    async def measured(self, job: Callable[[], Awaitable[None]]) -> Traffic:
        """Count statements, the bytes of rows that were fetched, and those of values that were written.

        The server's own log can't be measured: other tests write to it at the same time.
        """
        traffic, rows, change = Traffic(), PostgresTables.fetch, PostgresTables.change

        def count(statement: str, values: Values) -> None:
            traffic.statements += 1
            if any(word in statement for word in ("INSERT", "UPDATE ace_", "DELETE")):
                given = values.values() if isinstance(values, Mapping) else values
                traffic.written += sum(map(_size, given))

        async def counted_rows(tables: PostgresTables, statement: str, values: Values = ()) -> list[Row]:
            count(statement, values)
            found = await rows(tables, statement, values)
            traffic.read += sum(sum(map(_size, row)) for row in found)
            return found

        async def counted_change(tables: PostgresTables, statement: str, values: Values = ()) -> int:
            count(statement, values)
            return await change(tables, statement, values)

        with (
            patch.object(PostgresTables, "fetch", counted_rows),
            patch.object(PostgresTables, "change", counted_change),
        ):
            await job()
        return traffic


def _size(value: object) -> int:
    return len(value.encode()) if isinstance(value, str) else 8


class PostgresPlaybooksSubject(PostgresSubject):
    """The namespaces of playbooks in one database."""

    namespace: Namespace = "playbooks"

    def open(self, policy: Policy | None = None) -> PlaybookStore:
        """Return one more store on the database; the test closes it."""
        database = PostgresDatabase(checked_address(self.url), 4, self.partitions, Timeouts(PATIENT))
        return PlaybookStore(database, policy)


@contextmanager
def sent_statements(monkeypatch: pytest.MonkeyPatch) -> Generator[list[bytes]]:
    """The statements that are sent meanwhile."""
    sent: list[bytes] = []
    real: Any = AsyncConnection.execute  # Any: its overloads

    async def execute(
        self: Any, query: bytes | str, *args: Any, **more: Any
    ) -> Any:  # Any: whatever is passed on
        sent.append(query if isinstance(query, bytes) else query.encode())
        return await real(self, query, *args, **more)

    with monkeypatch.context() as patched:
        patched.setattr(AsyncConnection, "execute", execute)
        yield sent
