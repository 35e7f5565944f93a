"""Conversations in PostgreSQL, which several servers may share."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import LiteralString, cast

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import AsyncConnection, Error, IsolationLevel
from psycopg.rows import DictRow, TupleRow, dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from ace_graph.memory.stores.base import Timeouts
from ace_graph.memory.stores.sql.postgres import (
    Address,
    checked_address,
    connection_options,
    is_lost,
    translated,
)
from ace_graph.server.conversations.database import (
    ConversationDatabase,
    Execute,
    R,
    Row,
    Work,
    read_statements,
)

_TRY_SECONDS = 0.05
_SCHEMA_LOCK = 0x6163655F  # "ace_" in ASCII; any constant would do
_TRY_LOCK = "SELECT pg_try_advisory_xact_lock(1633903968)"
"""Without a parameter: a statement that has one keeps its snapshot until the next one."""
_Pool = AsyncConnectionPool[AsyncConnection[DictRow]]


async def open_postgres(
    url: str, connections: int = 16, setting: str = "ACE_CONVERSATIONS", timeouts: Timeouts | None = None
) -> PostgresConversations:
    """Return the database at `url`, which the setting names, with its tables; at most so many connections.

    Raises StoreUrlError, StoreUnavailable, StoreAuthError, StoreError.
    """
    address, timeouts = checked_address(url, setting), timeouts or Timeouts()
    pool = _Pool(
        url,
        min_size=1,
        max_size=connections,
        open=False,
        timeout=timeouts.read,
        reconnect_timeout=timeouts.connect,  # then the next call tries at once, however long it was away
        kwargs={**connection_options(timeouts), "row_factory": dict_row},
    )
    try:
        # Past the pool, which would not tell why it can't connect.
        async with await AsyncConnection.connect(
            url,
            autocommit=True,
            prepare_threshold=None,
            connect_timeout=max(2, int(timeouts.connect)),
            target_session_attrs="read-write",
        ) as beside:
            await pool.open(wait=True, timeout=timeouts.read)
            saver = AsyncPostgresSaver(pool)
            await _make_tables(saver, beside, timeouts)
    except (Error, PoolTimeout, OSError) as error:
        await pool.close()
        raise translated(error, address) from error
    return PostgresConversations(pool, saver, address)


async def _make_tables(
    saver: AsyncPostgresSaver, beside: AsyncConnection[TupleRow], timeouts: Timeouts
) -> None:
    """Let LangGraph make its tables, one process at a time: two at once would collide.

    Its `CREATE INDEX CONCURRENTLY` waits for every snapshot, so nobody may wait for the lock in a statement:
    it is tried again and again. Raises TimeoutError, the driver's errors.
    """
    await beside.set_isolation_level(IsolationLevel.READ_COMMITTED)  # others keep a snapshot
    async with asyncio.timeout(timeouts.schema):
        while True:
            async with beside.transaction():
                tried = await beside.execute(_TRY_LOCK)
                if (await tried.fetchall())[0][0]:
                    await saver.setup()
                    return
            await asyncio.sleep(_TRY_SECONDS)


async def _execute(
    connection: AsyncConnection[DictRow], statement: LiteralString, values: Sequence[object]
) -> list[Row]:
    cursor = await connection.execute(statement.replace("?", "%s"), tuple(values))
    if cursor.description is None:
        return []
    return [tuple(cast("dict[str, object]", row).values()) for row in await cursor.fetchall()]


class PostgresConversations(ConversationDatabase):
    """A database on a server."""

    own = read_statements("postgres.sql")

    def __init__(self, pool: _Pool, saver: AsyncPostgresSaver, address: Address) -> None:
        self._pool = pool
        self._address = address
        self.saver = saver

    async def transaction(self, work: Work[R]) -> R:
        with self.translated():
            try:
                async with self._pool.connection() as connection, connection.transaction():
                    return await work(partial(_execute, connection))
            except Error as error:
                await self._check_others(error)
                raise

    async def execute(self, statement: LiteralString, values: Sequence[object]) -> list[Row]:
        """Run one statement, which needs no BEGIN and no COMMIT: a connection commits by itself."""
        with self.translated():
            try:
                async with self._pool.connection() as connection:
                    return await _execute(connection, statement, values)
            except Error as error:
                await self._check_others(error)
                raise

    async def schema_change(self, work: Work[R]) -> R:
        """Run statements that change tables, under an advisory lock."""

        async def locked(execute: Execute) -> R:
            await execute("SELECT pg_advisory_xact_lock(?)", (_SCHEMA_LOCK,))
            return await work(execute)

        return await self.transaction(locked)

    async def _check_others(self, error: Error) -> None:
        """Check the connections that were idle, where one was lost."""
        if is_lost(error):
            await self._pool.check()

    def _why(self, error: Exception) -> str | None:
        if isinstance(error, PoolTimeout):
            return (
                f"PostgreSQL at {self._address.place} gave no connection within {self._pool.timeout:g} s: "
                "check that it runs; if it does, raise ACE_POSTGRES_CONNECTIONS"
            )
        return str(translated(error, self._address)) if isinstance(error, Error) else None

    async def scrub(self) -> None:
        """Do nothing: PostgreSQL's vacuum overwrites deleted rows in its own time."""

    async def close(self) -> None:
        await self._pool.close()
