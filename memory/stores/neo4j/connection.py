"""The way to one Neo4j server: one driver per process, on the portal's loop, made on first use.

Every piece of work is bounded in time, is tried again with jitter where that can help, and ends in one
of this project's errors otherwise. On first use the schema is brought up to date.

Does not: know what is stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import LiteralString, TypeVar, cast

from neo4j import (
    AsyncDriver,
    AsyncGraphDatabase,
    AsyncSession,
    AsyncTransaction,
    NotificationDisabledClassification,
    NotificationMinimumSeverity,
)
from neo4j.exceptions import ClientError, DriverError, Neo4jError, ServiceUnavailable
from tenacity import AsyncRetrying, retry_if_exception, stop_after_delay, wait_random_exponential

from ace_graph.memory.stores.base import CommitQueue
from ace_graph.memory.stores.neo4j.errors import checked_uri, explained, worth_retrying
from ace_graph.memory.stores.neo4j.migrations import APPLIED, REMEMBER, Migration, missing_migrations
from ace_graph.portal import Portal, portal

__all__ = ["WRITE_SECONDS", "Link", "Login", "Neo4jConnection", "Row", "fetch"]

T = TypeVar("T")
Row = dict[str, object]

CONNECT_SECONDS = 5.0
ACQUIRE_SECONDS = 6.0
RETRY_SECONDS = 5.0
READ_SECONDS = 9.0
"""A server that is away, or has fallen silent, is given up after less than 10 seconds."""
WRITE_SECONDS = 20.0
"""A writer may have to wait for the learner's lock; a server that is away is noticed as soon as above."""
SCHEMA_SECONDS = 60.0
"""For the constraints of a new database, once: a server that has just started needs seconds for them."""

_IDLE_CHECK_SECONDS = 60.0
_MADE_BY_ANOTHER = frozenset(
    {
        "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists",
        "Neo.ClientError.Schema.ConstraintAlreadyExists",
        "Neo.ClientError.Schema.IndexAlreadyExists",
    }
)


@dataclass(frozen=True)
class Login:
    """Where the server is and who asks. The password appears in no message and no repr."""

    uri: str
    username: str | None
    password: str | None = field(repr=False)
    database: str | None

    @property
    def place(self) -> str:
        """Host and port."""
        return checked_uri(self.uri).netloc


@dataclass
class Link:
    """What lives on one portal: the driver, the queue of commits, and what is known of the server."""

    portal: Portal
    driver: AsyncDriver
    queue: CommitQueue = field(default_factory=CommitQueue)
    migrating: asyncio.Lock = field(default_factory=asyncio.Lock)
    answered: bool = False
    migrated: bool = False


async def fetch(
    run: AsyncSession | AsyncTransaction, query: LiteralString, /, **parameters: object
) -> list[Row]:
    """Run one statement and return its rows."""
    result = await run.run(query, {name: _unshown(value) for name, value in parameters.items()})
    return await result.data()


class _UnshownMap(dict[str, object]):
    """Properties that show their names only.

    The driver writes all parameters into a line for its log of debugging, also when nobody logs. With a
    playbook among them that takes milliseconds; and what people said is nothing for a log.
    """

    def __repr__(self) -> str:
        return f"<{', '.join(self)}>"


class _UnshownList(list[object]):
    """The same for several nodes."""

    def __repr__(self) -> str:
        return f"<{len(self)} values>"


def _unshown(value: object) -> object:
    if isinstance(value, dict):
        return _UnshownMap(cast("Row", value))
    return _UnshownList(cast("list[object]", value)) if isinstance(value, list) else value


class Neo4jConnection:
    """Runs work on a driver that is made on first use. All of its coroutines run on the portal."""

    def __init__(self, login: Login) -> None:
        """Raises StoreUrlError for an address that is none."""
        checked_uri(login.uri)
        self._login = login
        self._links: list[Link] = []

    @property
    def link(self) -> Link:
        """This process's link. The one a parent process made stays referenced and is never used."""
        here = portal()
        if not self._links or self._links[-1].portal is not here:
            self._links.append(Link(here, self._driver()))
            here.at_exit(self.close)
        return self._links[-1]

    async def close(self) -> None:
        """Close the driver; the next piece of work makes another."""
        if self._links and self._links[-1].portal is portal():
            await self._links.pop().driver.close()

    async def work(self, attempt: Callable[[Link], Awaitable[T]], *, seconds: float = READ_SECONDS) -> T:
        """Return what `attempt` returns, tried again where that can help, within `seconds`.

        `attempt` must be safe to repeat. Raises StoreUnavailable, StoreAuthError, CommitContention,
        NewerFormat, StoreError, and what `attempt` raises of its own.
        """
        login = self._login
        link = self.link
        try:
            await self._migrate(link)
            async with asyncio.timeout(seconds):
                return await self._again(link, lambda: attempt(link))
        except (Neo4jError, DriverError, OSError) as error:  # a TimeoutError is an OSError
            raise explained(error, login.place, login.username, login.database) from error

    @asynccontextmanager
    async def session(self, link: Link) -> AsyncGenerator[AsyncSession]:
        """Open a session for one task; sessions must not be shared."""
        # The driver types its options for type checkers only by name; pyright finds the rest unknown.
        async with link.driver.session(database=self._login.database) as session:  # pyright: ignore[reportUnknownMemberType]
            yield session

    async def rows(self, link: Link, query: LiteralString, /, **parameters: object) -> list[Row]:
        """Run one statement in a transaction of its own: one round trip."""
        async with self.session(link) as session:
            return await fetch(session, query, **parameters)

    @asynccontextmanager
    async def transaction(self, link: Link) -> AsyncGenerator[AsyncTransaction]:
        """Open a transaction that is committed at the end, and rolled back on an error."""
        async with self.session(link) as session, await session.begin_transaction() as transaction:
            yield transaction
            await transaction.commit()

    def _driver(self) -> AsyncDriver:
        login = self._login
        auth = None if login.username is None or login.password is None else (login.username, login.password)
        return AsyncGraphDatabase.driver(  # pyright: ignore[reportUnknownMemberType] as in `session`
            login.uri,
            auth=auth,
            connection_timeout=CONNECT_SECONDS,
            connection_acquisition_timeout=ACQUIRE_SECONDS,
            liveness_check_timeout=_IDLE_CHECK_SECONDS,
            notifications_min_severity=NotificationMinimumSeverity.WARNING,
            # A property that no node has yet, in a new database, is no reason for a warning.
            notifications_disabled_classifications=[NotificationDisabledClassification.UNRECOGNIZED],
            telemetry_disabled=True,
        )

    async def _again(self, link: Link, attempt: Callable[[], Awaitable[T]]) -> T:
        def may_help(error: BaseException) -> bool:
            never_there = isinstance(error, ServiceUnavailable) and not link.answered
            return worth_retrying(error) and not never_there

        tries = AsyncRetrying(
            retry=retry_if_exception(may_help),
            wait=wait_random_exponential(multiplier=0.02, max=0.5),
            stop=stop_after_delay(RETRY_SECONDS),
            reraise=True,
        )
        async for one_try in tries:
            with one_try:
                result = await attempt()
                link.answered = True
                return result
        raise AssertionError("tenacity ends with a result or an error")

    async def _migrate(self, link: Link) -> None:
        if link.migrated:
            return
        async with asyncio.timeout(READ_SECONDS):
            applied = await self._again(link, lambda: self._applied(link))
        missing = missing_migrations(applied)
        if missing:
            async with asyncio.timeout(SCHEMA_SECONDS), link.migrating:
                for migration in missing:
                    await self._apply(link, migration)
        link.migrated = True

    async def _applied(self, link: Link) -> frozenset[str]:
        (row,) = await self.rows(link, APPLIED)
        return frozenset(cast("list[str]", row["names"]))

    async def _apply(self, link: Link, migration: Migration) -> None:
        """Harmless when another process, or another call here, does or did the same."""
        for statement in migration.statements:
            await self._again(link, partial(self._change_schema, link, statement))
        await self._again(link, lambda: self.rows(link, REMEMBER, name=migration.name))

    async def _change_schema(self, link: Link, statement: LiteralString) -> None:
        try:
            await self.rows(link, statement)
        except ClientError as error:
            if error.code not in _MADE_BY_ANOTHER:
                raise
