"""A connection whose statements run on the tables of one namespace, and its transactions.

Nothing outlives a transaction, so a connection may be one of pgbouncer's in transaction mode.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from psycopg import AsyncConnection, AsyncCopy, AsyncCursor

from ace_graph.memory.stores.namespaces import Namespace, of_playbooks

__all__ = ["Row", "Tables", "Values", "reading", "writing"]

Row = tuple[Any, ...]  # Any: whatever the statement selects
Values = Sequence[object] | Mapping[str, object]


class Tables:
    """A connection, for one namespace."""

    def __init__(self, connection: AsyncConnection[Row], namespace: Namespace) -> None:
        self.connection = connection
        self.namespace = namespace

    def of(self, namespace: Namespace) -> Tables:
        """Return the same connection, for the tables of a namespace."""
        return Tables(self.connection, namespace)

    async def run(self, statement: str, values: Values = ()) -> AsyncCursor[Row]:
        """Run a statement."""
        return await self.connection.execute(self._named(statement), values)

    async def rows(self, statement: str, values: Values = ()) -> list[Row]:
        """Run a statement and return its rows."""
        return await (await self.run(statement, values)).fetchall()

    async def row(self, statement: str, values: Values = ()) -> Row | None:
        """Run a statement and return its first row."""
        return await (await self.run(statement, values)).fetchone()

    async def change(self, statement: str, values: Values = ()) -> int:
        """Run a statement and return how many rows it changed."""
        return (await self.run(statement, values)).rowcount

    async def insert(self, table: str, values: Mapping[str, object], after: str = "") -> int:
        """Insert a row, with `ON CONFLICT ...` in `after`; return how many were inserted."""
        names, places = ", ".join(values), ", ".join("%s" for _ in values)
        statement = f"INSERT INTO {table} ({names}) VALUES ({places}) {after}"  # noqa: S608  names of ours
        return await self.change(statement, tuple(values.values()))

    def copy_into(self, table: str, columns: Sequence[str]) -> AbstractAsyncContextManager[AsyncCopy]:
        """Return what takes many rows of a table in one statement."""
        statement = f"COPY {table} ({', '.join(columns)}) FROM STDIN"
        return self.connection.cursor().copy(self._named(statement))

    def _named(self, statement: str) -> bytes:
        named = statement if self.namespace == "learners" else of_playbooks(statement)
        return named.encode()


@asynccontextmanager
async def reading(connection: AsyncConnection[Row]) -> AsyncGenerator[None]:
    """A transaction in which all statements read the same state."""
    await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    async with _ended(connection):
        yield


@asynccontextmanager
async def writing(connection: AsyncConnection[Row]) -> AsyncGenerator[None]:
    """A transaction in which each statement reads what was committed before it; rolled back on an error."""
    await connection.execute("BEGIN")
    async with _ended(connection):
        yield


@asynccontextmanager
async def _ended(connection: AsyncConnection[Row]) -> AsyncGenerator[None]:
    try:
        yield
    except BaseException:
        if not connection.closed:
            await connection.rollback()
        raise
    await connection.commit()
