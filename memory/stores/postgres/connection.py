"""The connection to one PostgreSQL database: a pool per process, on the portal's loop, made on first use.

Each call has a timeout and is retried with jittered backoff on transient errors. Other errors become those of
this project. The first call connects on its own, so that a permanent error is told at once, and migrates.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import dataclass, field
from typing import Any, TypeVar

import psycopg
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool, PoolTimeout
from tenacity import AsyncRetrying, retry_if_exception, stop_after_delay, wait_random_exponential

from ace_graph.errors import StoreError
from ace_graph.memory.stores.base import Timeouts
from ace_graph.memory.stores.commit_queue import CommitQueue
from ace_graph.memory.stores.namespaces import Namespace
from ace_graph.memory.stores.postgres.errors import Address, is_lost, is_retryable, translated
from ace_graph.memory.stores.postgres.migrations import migrate
from ace_graph.memory.stores.postgres.tables import Row, Tables, reading, writing
from ace_graph.memory.stores.postgres.text import register_texts
from ace_graph.portal import Portal, portal

__all__ = ["Link", "PostgresConnection", "connection_options"]

T = TypeVar("T")
Pool = AsyncConnectionPool[AsyncConnection[Row]]

_IDLE_SECONDS = 60.0


def connection_options(timeouts: Timeouts) -> dict[str, object]:
    """Return what every connection of this project is made with, those of conversations, too."""
    return {
        "autocommit": True,
        "prepare_threshold": None,  # pgbouncer gives each transaction another of the server's sessions
        "client_encoding": "UTF8",
        "target_session_attrs": "read-write",  # a replica may lag behind, so reads go to the primary, too
        "connect_timeout": max(2, int(timeouts.connect)),  # libpq takes whole seconds, and no fewer than two
        "keepalives_idle": 30,
        "tcp_user_timeout": 30_000,  # milliseconds
    }


@dataclass
class Link:
    """What belongs to one portal: the pool, the queues of commits, and what is known about the server."""

    portal: Portal
    pool: Pool
    queues: Mapping[Namespace, CommitQueue] = field(
        default_factory=lambda: {"learners": CommitQueue(), "playbooks": CommitQueue()}
    )
    opening: asyncio.Future[None] | None = None
    opened: bool = False
    abandoned: set[asyncio.Future[Any]] = field(default_factory=set[asyncio.Future[Any]])  # of any result


class PostgresConnection:
    """Runs work with a pool that is made on first use. All of its coroutines run on the portal."""

    def __init__(self, address: Address, connections: int, partitions: int, timeouts: Timeouts) -> None:
        self.timeouts = timeouts
        self.namespace: Namespace = "learners"
        self.address = address
        self._connections = connections
        self._partitions = partitions
        self._links: list[Link] = []

    def of_playbooks(self) -> PostgresConnection:
        """Return a connection for the named playbooks, which shares the pool."""
        other = copy(self)
        other.namespace = "playbooks"
        return other

    @property
    def link(self) -> Link:
        """This process's link. One that a parent process made stays referenced and is never used."""
        here = portal()
        if not self._links or self._links[-1].portal is not here:
            self._links.append(Link(here, self._pool()))
            here.at_exit(self.close)
        return self._links[-1]

    async def close(self) -> None:
        """Close the pool; the next call makes another."""
        if self._links and self._links[-1].portal is portal():
            await self._links.pop().pool.close(timeout=1)

    async def work(self, attempt: Callable[[Link], Awaitable[T]], *, seconds: float | None = None) -> T:
        """Return the result of `attempt`, retried on transient errors, within `seconds` or a read's time.

        `attempt` must be safe to repeat. Raises StoreUnavailable, StoreAuthError, CommitContention,
        NewerFormat, StoreError, and what `attempt` raises of its own.
        """
        link = self.link
        try:
            await self._open(link)
            limit = self.timeouts.read if seconds is None else seconds
            return await _within(link, limit, self._retried(link, lambda: attempt(link)))
        except PoolTimeout as error:
            raise await self._why_none_is_free(error) from error
        except (psycopg.Error, OSError) as error:  # a TimeoutError is an OSError
            raise translated(error, self.address) from error

    @asynccontextmanager
    async def statement(self, link: Link) -> AsyncGenerator[Tables]:
        """Lend a connection for one statement, which is a transaction of its own: one round trip."""
        async with link.pool.connection() as connection:
            yield Tables(connection, self.namespace)

    @asynccontextmanager
    async def reading(self, link: Link) -> AsyncGenerator[Tables]:
        """Lend a connection for statements that read the same state."""
        async with link.pool.connection() as connection, reading(connection):
            yield Tables(connection, self.namespace)

    @asynccontextmanager
    async def writing(self, link: Link) -> AsyncGenerator[Tables]:
        """Lend a connection for a transaction that is committed at the end, and rolled back on an error."""
        async with link.pool.connection() as connection, writing(connection):
            yield Tables(connection, self.namespace)

    def _pool(self) -> Pool:
        log = logging.getLogger("psycopg.pool")
        if not log.handlers:  # else Python prints what the pool logs, where the program sets up no logging
            log.addHandler(logging.NullHandler())
        return AsyncConnectionPool(
            self.address.url,
            kwargs=connection_options(self.timeouts),
            configure=_configure,
            min_size=0,
            max_size=self._connections,
            open=False,
            timeout=self.timeouts.connect,
            reconnect_timeout=self.timeouts.connect,
            max_idle=_IDLE_SECONDS,
            num_workers=1,
        )

    async def _open(self, link: Link) -> None:
        """Make the tables and open the pool, once for all calls that wait for it."""
        if link.opened:
            return
        if link.opening is None:
            link.opening = asyncio.ensure_future(self._prepare(link))
            link.opening.add_done_callback(_seen)  # where nobody waits for it any more
        opening = link.opening
        await asyncio.wait({opening})
        if link.opening is opening:
            link.opening = None
        opening.result()  # raises what the attempt raised, in every call

    async def _prepare(self, link: Link) -> None:
        """Connect past the pool, which would not tell why it can't, and bring the tables up to date."""
        connection = await self._connect()
        try:
            await _within(link, self.timeouts.schema, migrate(connection, self._partitions))
        finally:
            await connection.close()
        await link.pool.open()
        link.opened = True

    async def _connect(self) -> AsyncConnection[Row]:
        async with asyncio.timeout(self.timeouts.read):
            # The options' types are known to the driver only by name.
            connection = await AsyncConnection.connect(self.address.url, **connection_options(self.timeouts))  # type: ignore[arg-type]
        await _configure(connection)
        return connection

    async def _why_none_is_free(self, error: PoolTimeout) -> StoreError:
        """Why the pool gave no connection: none can be made, or all are in use."""
        try:
            await (await self._connect()).close()
        except (psycopg.Error, OSError) as why:
            return translated(why, self.address)
        return translated(error, self.address)

    async def _retried(self, link: Link, attempt: Callable[[], Awaitable[T]]) -> T:
        attempts = AsyncRetrying(
            retry=retry_if_exception(is_retryable),
            wait=wait_random_exponential(multiplier=0.02, max=0.5),
            stop=stop_after_delay(self.timeouts.connect),
            reraise=True,
        )
        async for each in attempts:
            with each:
                try:
                    return await attempt()
                except psycopg.Error as error:
                    if is_lost(error):  # the others that were idle are lost, too
                        await link.pool.check()
                    raise
        raise AssertionError("tenacity ends with a result or an error")


async def _configure(connection: AsyncConnection[Row]) -> None:
    register_texts(connection)


async def _within(link: Link, seconds: float, work: Coroutine[Any, Any, T]) -> T:  # Any: as asyncio has it
    """Return the result of `work`. Raises TimeoutError after `seconds`, whatever `work` waits for.

    Cancelled work waits until the server has heard of it; a server that hangs never does.
    """
    task = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
        if done:
            return task.result()
        raise TimeoutError
    finally:
        if not task.done():
            task.cancel()
            link.abandoned.add(task)
            task.add_done_callback(lambda ended: _forget(link, ended))


def _forget(link: Link, task: asyncio.Future[Any]) -> None:  # Any: as above
    link.abandoned.discard(task)
    _seen(task)


def _seen(task: asyncio.Future[Any]) -> None:  # Any: as above
    if not task.cancelled():
        task.exception()
