"""What the conversations' SQLite file is like after calls that were broken off."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest
from langgraph.checkpoint.base import empty_checkpoint

from ace_graph.server.conversations.sqlite import SQLiteDatabase, open_sqlite
from tests.server.serving import until


@pytest.fixture
async def database(tmp_path: Path) -> AsyncGenerator[SQLiteDatabase]:
    opened = await open_sqlite(tmp_path / "conversations.db")
    yield opened
    await opened.close()


@pytest.fixture
def elsewhere(tmp_path: Path, database: SQLiteDatabase) -> Generator[sqlite3.Connection]:
    """Another process, which writes for a while."""
    connection = sqlite3.connect(tmp_path / "conversations.db", isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    yield connection
    connection.close()


async def test_a_transaction_that_was_cancelled_while_it_began_leaves_none_open(
    database: SQLiteDatabase, elsewhere: sqlite3.Connection
) -> None:
    async def work() -> None:
        async with database.transaction():
            raise AssertionError("somebody else holds the lock")

    working = asyncio.create_task(work())
    await until(database.saver.lock.locked)
    await asyncio.sleep(0)
    working.cancel()
    await asyncio.sleep(0)
    elsewhere.rollback()
    with pytest.raises(asyncio.CancelledError):
        await working
    async with database.transaction() as execute:
        assert await execute("SELECT 1", ()) == [(1,)]


async def test_a_checkpoint_whose_writing_was_cancelled_is_in_nobodys_way(
    database: SQLiteDatabase, elsewhere: sqlite3.Connection
) -> None:
    thread = {"thread_id": "c1", "checkpoint_ns": ""}
    writing = asyncio.create_task(database.saver.aput({"configurable": thread}, empty_checkpoint(), {}, {}))
    await until(database.saver.lock.locked)
    await asyncio.sleep(0)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    elsewhere.rollback()
    async with database.transaction() as execute:
        assert await execute("SELECT 1", ()) == [(1,)]
