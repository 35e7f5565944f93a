"""A PostgreSQL that hangs, stops or is too busy: calls end in time, say why, and work again afterwards."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from ace_graph.errors import StoreUnavailable
from ace_graph.memory.stores.postgres.store import PostgresStore
from ace_graph.portal import portal
from ace_graph.testing.conformance.writing import adding, contents, write
from tests.plugins.postgres_process import LocalPostgres
from tests.plugins.postgres_server import OwnPostgres


@pytest.mark.heavy
async def test_a_server_that_hangs_or_is_away_is_told_in_time(own_postgres: OwnPostgres) -> None:
    server = own_postgres()
    await asyncio.to_thread(server.start)
    async with PostgresStore(server.url) as store:
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
    async with PostgresStore(postgres, connections=2) as store:
        await store.load("ada")

        async def busy() -> None:
            pool = store.connection.link.pool
            async with pool.connection(), pool.connection():
                with pytest.raises(StoreUnavailable, match="ACE_POSTGRES_CONNECTIONS"):
                    await store.load("ada")

        await portal().run(busy())
        await store.load("ada")


async def _unavailable(store: PostgresStore) -> None:
    async with asyncio.timeout(11):
        with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1"):
            await store.load("ada")


def _signal(server: LocalPostgres, number: signal.Signals) -> None:
    """Send a signal to the server and all of its processes."""
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    for pid in (server.pid, *map(int, children)):
        os.kill(pid, number)
