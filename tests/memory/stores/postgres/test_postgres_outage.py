"""A PostgreSQL that hangs, stops or is too busy: calls end in time, say why, and work again afterwards."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from ace_graph.base import StoreUnavailable
from ace_graph.base.portal import portal
from ace_graph.memory.stores import Timeouts
from ace_graph.memory.stores.sql import PostgresDatabase, PostgresStore
from ace_graph.server.conversations import postgres as conversations
from ace_graph.testing.conformance import adding, contents, write
from tests.plugins.postgres_process import LocalPostgres
from tests.plugins.postgres_server import OwnPostgres
from tests.plugins.sizes import PATIENT


@pytest.mark.slow
async def test_a_server_that_hangs_or_is_away_is_told_in_time(own_postgres: OwnPostgres) -> None:
    server = own_postgres()
    await asyncio.to_thread(server.start)
    async with PostgresStore(server.url, timeout=PATIENT) as store:
        await write(store, "ada", adding("Draw a bar"))
        _signal(server, signal.SIGSTOP)
        await _unavailable(store)
        _signal(server, signal.SIGCONT)
        assert contents(await store.load("ada")) == ["Draw a bar"]

        await asyncio.to_thread(server.kill)
        await _unavailable(store)
        await asyncio.to_thread(server.start)
        assert contents(await store.load("ada")) == ["Draw a bar"]
        await write(store, "ada", adding("Name the unit"))


async def test_busy_connections_are_told_with_the_setting(postgres: str) -> None:
    async with PostgresStore(postgres, connections=2, timeout=PATIENT) as store:
        await store.load("ada")

        async def busy() -> None:
            pool = _database(store).link.pool
            pool.timeout = 0.2
            async with pool.connection(), pool.connection():
                with pytest.raises(StoreUnavailable, match="ACE_POSTGRES_CONNECTIONS"):
                    await store.load("ada")

        await portal().run(busy())
        await store.load("ada")


async def _unavailable(store: PostgresStore) -> None:
    _database(store).timeouts = Timeouts(0.5)
    async with asyncio.timeout(PATIENT):
        with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1"):
            await store.load("ada")
    _database(store).timeouts = Timeouts(PATIENT)


def _database(store: PostgresStore) -> PostgresDatabase:
    assert isinstance(store.backend, PostgresDatabase)
    return store.backend


def _signal(server: LocalPostgres, number: signal.Signals) -> None:
    """Send a signal to the server and all of its processes."""
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    for pid in (server.pid, *map(int, children)):
        os.kill(pid, number)


@pytest.mark.slow
async def test_conversations_are_back_as_soon_as_the_server_is(own_postgres: OwnPostgres) -> None:
    server = own_postgres()
    await asyncio.to_thread(server.start)
    database = await conversations.open_postgres(server.url, connections=3, timeouts=Timeouts(3))
    try:
        await asyncio.gather(*(database.execute("SELECT pg_sleep(0.1)", ()) for _ in range(3)))
        await asyncio.to_thread(server.kill)
        for _ in range(4):  # in the driver's own time the next attempt would be many seconds away
            with pytest.raises(StoreUnavailable, match=r"PostgreSQL at 127\.0\.0\.1"):
                await database.execute("SELECT 1", ())
        await asyncio.to_thread(server.start)
        assert await database.execute("SELECT 1", ()) == [(1,)]
    finally:
        await database.close()


@pytest.mark.slow
async def test_connections_that_a_restart_has_cut_fail_one_call(own_postgres: OwnPostgres) -> None:
    server = own_postgres()
    await asyncio.to_thread(server.start)
    database = await conversations.open_postgres(server.url, connections=3)
    try:
        await asyncio.gather(*(database.execute("SELECT pg_sleep(0.1)", ()) for _ in range(3)))
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)
        with pytest.raises(StoreUnavailable, match=r"look into the server's log|can't be reached"):
            await database.execute("SELECT 1", ())
        for _ in range(3):
            assert await database.execute("SELECT 1", ()) == [(1,)]
    finally:
        await database.close()
