"""Empty stores for attacks: new ones in memory, or the tables of a PostgreSQL, emptied each time."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import psycopg

from ace_graph.memory.stores.sql.postgres import PostgresStore
from ace_graph.memory.stores.sql.schema import TABLES
from ace_graph.memory.stores.sql.sqlite import SQLiteStore
from ace_graph.memory.stores.store import Store

__all__ = ["EmptyStores", "in_memory", "in_postgres"]

EmptyStores = Callable[[], AbstractAsyncContextManager[Store]]


@asynccontextmanager
async def in_memory() -> AsyncGenerator[Store]:
    """A new store in memory."""
    yield SQLiteStore()


@asynccontextmanager
async def in_postgres(url: str) -> AsyncGenerator[EmptyStores]:
    """The database at `url`, which loses all that is in it, again and again."""
    async with (
        PostgresStore(url) as store,
        await psycopg.AsyncConnection.connect(url, autocommit=True) as connection,
    ):
        await store.load("nobody")  # makes the tables

        @asynccontextmanager
        async def emptied() -> AsyncGenerator[Store]:
            for table in TABLES:  # quicker than TRUNCATE, for so little
                await connection.execute(f"DELETE FROM {table}".encode())
            yield store

        yield emptied
