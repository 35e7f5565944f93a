"""The connection to one Neo4j server: one driver per process, on the portal's loop, made on first use.

Each call has a timeout and is retried with jittered backoff on transient errors. Other errors become those of
this project. The first call makes the schema.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import LiteralString, TypeVar

from neo4j import (
    AsyncDriver,
    AsyncGraphDatabase,
    AsyncSession,
    NotificationDisabledClassification,
    NotificationMinimumSeverity,
)
from neo4j.exceptions import ClientError, DriverError, Neo4jError, ServiceUnavailable
from tenacity import AsyncRetrying, retry_if_exception, stop_after_delay, wait_random_exponential

from ace_graph.memory.stores.base import Timeouts
from ace_graph.memory.stores.commit_queue import CommitQueue
from ace_graph.memory.stores.neo4j.errors import checked_uri, is_retryable, translated
from ace_graph.memory.stores.neo4j.runner import Namespace, Row, Runner, fetch
from ace_graph.memory.stores.neo4j.schema import HELD, RECORD, SCHEMA, STATEMENTS, is_made
from ace_graph.portal import Portal, portal

__all__ = ["Link", "Login", "Neo4jConnection"]

T = TypeVar("T")
_IDLE_CHECK_SECONDS = 60.0
_ALREADY_EXISTS = frozenset(
    {
        "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists",
        "Neo.ClientError.Schema.ConstraintAlreadyExists",
        "Neo.ClientError.Schema.IndexAlreadyExists",
    }
)


@dataclass(frozen=True)
class Login:
    """The server's address and the credentials. The password appears in no message and no repr."""

    uri: str
    username: str | None
    password: str | None = field(repr=False)
    database: str | None

    @property
    def place(self) -> str:
        """Host and port, for messages."""
        return checked_uri(self.uri).netloc


@dataclass
class Link:
    """What belongs to one portal: the driver, the queues of commits, and what is known about the server."""

    portal: Portal
    driver: AsyncDriver
    queues: Mapping[Namespace, CommitQueue] = field(
        default_factory=lambda: {"learners": CommitQueue(), "playbooks": CommitQueue()}
    )
    making_schema: asyncio.Lock = field(default_factory=asyncio.Lock)
    answered: bool = False
    schema_made: bool = False


class Neo4jConnection:
    """Runs work with a driver that is made on first use. All of its coroutines run on the portal."""

    def __init__(self, login: Login, timeouts: Timeouts) -> None:
        """Raises StoreUrlError for an invalid address."""
        checked_uri(login.uri)
        self.timeouts = timeouts
        self.namespace: Namespace = "learners"
        self._login = login
        self._links: list[Link] = []

    def of_playbooks(self) -> Neo4jConnection:
        """Return a connection for the named playbooks, which shares the driver."""
        other = copy(self)
        other.namespace = "playbooks"
        return other

    @property
    def link(self) -> Link:
        """This process's link. One that a parent process made stays referenced and is never used."""
        here = portal()
        if not self._links or self._links[-1].portal is not here:
            self._links.append(Link(here, self._driver()))
            here.at_exit(self.close)
        return self._links[-1]

    async def close(self) -> None:
        """Close the driver; the next call makes another."""
        if self._links and self._links[-1].portal is portal():
            await self._links.pop().driver.close()

    async def work(self, attempt: Callable[[Link], Awaitable[T]], *, seconds: float | None = None) -> T:
        """Return the result of `attempt`, retried on transient errors, within `seconds` or a read's time.

        `attempt` must be safe to repeat. Raises StoreUnavailable, StoreAuthError, CommitContention,
        OtherSchema, StoreError, and what `attempt` raises of its own.
        """
        login = self._login
        link = self.link
        try:
            await self._make_schema(link)
            async with asyncio.timeout(self.timeouts.read if seconds is None else seconds):
                return await self._retried(link, lambda: attempt(link))
        except (Neo4jError, DriverError, OSError) as error:  # a TimeoutError is an OSError
            raise translated(error, login.place, login.username, login.database) from error

    @asynccontextmanager
    async def session(self, link: Link) -> AsyncGenerator[Runner]:
        """Open a session for one task; sessions must not be shared."""
        async with self._session(link) as session:
            yield Runner(session, self.namespace)

    async def rows(self, link: Link, query: LiteralString, /, **parameters: object) -> list[Row]:
        """Run one statement in a transaction of its own: one round trip."""
        async with self.session(link) as session:
            return await fetch(session, query, **parameters)

    async def _schema_rows(self, link: Link, query: LiteralString, /, **parameters: object) -> list[Row]:
        """Run one statement of the schema, which names the labels of both namespaces itself."""
        async with self._session(link) as session:
            return await fetch(Runner(session), query, **parameters)

    @asynccontextmanager
    async def transaction(self, link: Link) -> AsyncGenerator[Runner]:
        """Open a transaction that is committed at the end, and rolled back on an error."""
        async with self._session(link) as session, await session.begin_transaction() as transaction:
            yield Runner(transaction, self.namespace)
            await transaction.commit()

    def _session(self, link: Link) -> AsyncSession:
        # The driver types its options for type checkers only by name; pyright finds the rest unknown.
        return link.driver.session(database=self._login.database)  # pyright: ignore[reportUnknownMemberType]

    def _driver(self) -> AsyncDriver:
        login = self._login
        auth = None if login.username is None or login.password is None else (login.username, login.password)
        return AsyncGraphDatabase.driver(  # pyright: ignore[reportUnknownMemberType] as in `session`
            login.uri,
            auth=auth,
            connection_timeout=self.timeouts.connect,
            connection_acquisition_timeout=self.timeouts.connect,
            liveness_check_timeout=_IDLE_CHECK_SECONDS,
            notifications_min_severity=NotificationMinimumSeverity.WARNING,
            # In a new database no node has the properties that statements name; that needs no warning.
            notifications_disabled_classifications=[NotificationDisabledClassification.UNRECOGNIZED],
            telemetry_disabled=True,
        )

    async def _retried(self, link: Link, attempt: Callable[[], Awaitable[T]]) -> T:
        def is_transient(error: BaseException) -> bool:
            never_reached = isinstance(error, ServiceUnavailable) and not link.answered
            return is_retryable(error) and not never_reached

        attempts = AsyncRetrying(
            retry=retry_if_exception(is_transient),
            wait=wait_random_exponential(multiplier=0.02, max=0.5),
            stop=stop_after_delay(self.timeouts.connect),
            reraise=True,
        )
        async for each in attempts:
            with each:
                result = await attempt()
                link.answered = True
                return result
        raise AssertionError("tenacity ends with a result or an error")

    async def _make_schema(self, link: Link) -> None:
        """Make constraints and indexes. Another process or call may do the same at the same time."""
        if link.schema_made:
            return
        async with asyncio.timeout(self.timeouts.read):
            (held,) = await self._retried(link, lambda: self._schema_rows(link, HELD))
        if not is_made(held):
            async with asyncio.timeout(self.timeouts.schema), link.making_schema:
                for statement in STATEMENTS:
                    await self._retried(link, partial(self._change_schema, link, statement))
                await self._retried(link, lambda: self._schema_rows(link, RECORD, name=SCHEMA))
        link.schema_made = True

    async def _change_schema(self, link: Link, statement: LiteralString) -> None:
        try:
            await self._schema_rows(link, statement)
        except ClientError as error:
            if error.code not in _ALREADY_EXISTS:
                raise
