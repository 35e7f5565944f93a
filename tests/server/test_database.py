"""What the conversations' SQLite file is like after calls that were broken off."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver

from ace_graph.server.conversations import Execute, SQLiteConversations, open_sqlite


@pytest.fixture
async def database(tmp_path: Path) -> AsyncGenerator[SQLiteConversations]:
    opened = await open_sqlite(tmp_path / "conversations.db")
    yield opened
    await opened.close()


@pytest.fixture
def elsewhere(tmp_path: Path, database: SQLiteConversations) -> Generator[sqlite3.Connection]:
    """Another process, which writes for a while."""
    connection = sqlite3.connect(tmp_path / "conversations.db", isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    yield connection
    connection.close()


async def test_a_transaction_that_was_cancelled_while_it_began_leaves_none_open(
    database: SQLiteConversations, elsewhere: sqlite3.Connection
) -> None:
    waits = "INSERT INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id) VALUES ('t', '', '1')"
    working = asyncio.create_task(database.execute(waits, ()))
    await asyncio.sleep(0)
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    elsewhere.rollback()
    assert await database.execute("SELECT 1", ()) == [(1,)]


async def test_a_checkpoint_whose_writing_was_cancelled_is_in_nobodys_way(
    database: SQLiteConversations, elsewhere: sqlite3.Connection
) -> None:
    thread = {"thread_id": "c1", "checkpoint_ns": ""}
    writing = asyncio.create_task(database.saver.aput({"configurable": thread}, empty_checkpoint(), {}, {}))
    await asyncio.sleep(0)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    elsewhere.rollback()
    assert await database.execute("SELECT 1", ()) == [(1,)]


async def test_a_transaction_that_raises_changes_nothing(database: SQLiteConversations) -> None:
    async def work(execute: Execute) -> None:
        await execute("INSERT INTO checkpoints (thread_id, checkpoint_id) VALUES ('t', '1')", ())
        raise KeyError("nothing more")

    with pytest.raises(KeyError):
        await database.transaction(work)
    assert await database.execute("SELECT count(*) FROM checkpoints", ()) == [(0,)]


async def test_a_transaction_that_waits_for_something_else_is_refused(database: SQLiteConversations) -> None:
    async def work(execute: Execute) -> None:
        await execute("INSERT INTO checkpoints (thread_id, checkpoint_id) VALUES ('t', '1')", ())
        await asyncio.sleep(0)

    with pytest.raises(TypeError, match="awaits its statements"):
        await database.transaction(work)
    assert await database.execute("SELECT count(*) FROM checkpoints", ()) == [(0,)]


async def test_a_transaction_left_open_by_a_checkpoint_is_rolled_back() -> None:
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    saver = SqliteSaver(connection)
    saver.setup()
    database = SQLiteConversations(saver, ThreadPoolExecutor(1))
    connection.execute("INSERT INTO checkpoints (thread_id, checkpoint_id) VALUES ('t', '1')")
    assert await database.execute("SELECT count(*) FROM checkpoints", ()) == [(0,)]
    await database.close()
