"""The connection to one Neo4j server: one driver per process, on the portal's loop, made on first use.

Each call has a timeout and is retried with jittered backoff on transient errors. Other errors become those of
this project. The first call makes the schema.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from typing import Final, TypeVar, cast
from urllib.parse import SplitResult, urlsplit

from neo4j import (
    AsyncDriver,
    AsyncGraphDatabase,
    AsyncSession,
    NotificationDisabledClassification,
    NotificationMinimumSeverity,
)
from neo4j.exceptions import (
    AuthError,
    ClientError,
    ConfigurationError,
    DriverError,
    IncompleteCommit,
    Neo4jError,
    ServiceUnavailable,
    TransientError,
)
from tenacity import AsyncRetrying, retry_if_exception, stop_after_delay, wait_random_exponential

from ace_graph.base.errors import (
    CommitContention,
    OtherSchema,
    StoreAuthError,
    StoreError,
    StoreUnavailable,
    StoreUrlError,
)
from ace_graph.base.off_loop import off_loop
from ace_graph.base.portal import Portal, portal
from ace_graph.memory.stores.backend import Backend, Job, Namespace, Rows
from ace_graph.memory.stores.base import Timeouts, other_schema
from ace_graph.memory.stores.commit_queue import CommitRequest, SerializedPlan
from ace_graph.memory.stores.neo4j.queries import statement
from ace_graph.memory.stores.neo4j.rows import MovedError, Neo4jRows, Neo4jSession, fresh_parameters, unstage
from ace_graph.memory.stores.neo4j.runner import Row, Runner, fetch
from ace_graph.memory.stores.snapshot_and_log import StateHead

# The schema of the Neo4j store: constraints and indexes, made at the first call, and its name.
#
# Every statement is idempotent, so any number of processes can start at once. A database with another schema
# is refused as it is. There is no constraint and no index on `User`: those nodes may belong to the host
# application.


SCHEMA: Final = "2"

_SCHEMA_TEXT = files("ace_graph.memory.stores.neo4j").joinpath("schema.cypher").read_text("utf-8")
STATEMENTS: Final = tuple(line.removesuffix(";") for line in _SCHEMA_TEXT.splitlines() if line.endswith(";"))
"""They run one at a time, each in a transaction of its own, as schema changes must."""

HELD: Final = """
OPTIONAL MATCH (n:AceSchema)
WITH collect(n.name) AS names
OPTIONAL MATCH (older:AceMigration)
RETURN names, count(older) AS older
"""
"""The names of the schemas that the database has; schemas of before this one have steps."""

RECORD: Final = "MERGE (n:AceSchema {name: $name}) ON CREATE SET n.made_at = datetime()"


def is_made(held: Row) -> bool:
    """Whether the schema is there, by what `HELD` returned. Raises OtherSchema."""
    names = held["names"]
    if held["older"] or names not in ([], [SCHEMA]):
        raise OtherSchema(other_schema("older" if held["older"] else str(names), SCHEMA))
    return names == [SCHEMA]


# Translates the driver's errors into those of this project; each message names the setting to check.
#
# No message contains a password, a statement or a stored value. The driver's own error is the cause
# (`__cause__`) of the one raised.


_SCHEMES = frozenset({"neo4j", "neo4j+s", "neo4j+ssc", "bolt", "bolt+s", "bolt+ssc"})
_SECURITY = "Neo.ClientError.Security."
_CHECK = "check that it runs and that its address is right (ACE_STORE, or NEO4J_URI)"


def checked_uri(uri: str) -> SplitResult:
    """Return the parts of a Neo4j address. Raises StoreUrlError, which never quotes a password."""
    try:
        parts = urlsplit(uri)
        port = parts.port
    except ValueError as error:
        raise StoreUrlError(
            f"the Neo4j address can't be read ({error}): ACE_STORE, or NEO4J_URI, is like neo4j://host:7687"
        ) from error
    if parts.scheme not in _SCHEMES or not parts.hostname or port == 0:
        raise StoreUrlError(
            f"a Neo4j address begins with one of {', '.join(sorted(_SCHEMES))} and names a host: "
            "ACE_STORE, or NEO4J_URI, is like neo4j://host:7687"
        )
    if parts.username is not None or parts.password is not None:
        raise StoreUrlError(
            "the Neo4j address holds a login: take it out of ACE_STORE, or NEO4J_URI, "
            "and set NEO4J_USERNAME and NEO4J_PASSWORD instead"
        )
    return parts


def is_retryable(error: BaseException) -> bool:
    """Whether a retry may succeed. A retry is safe, because every write has an op id."""
    if isinstance(error, IncompleteCommit):
        return True
    return isinstance(error, Neo4jError | DriverError) and error.is_retryable()


def translated(error: Exception, place: str, user: str | None, database: str | None) -> StoreError:
    """Return the error to raise instead of the driver's.

    `place` is the server's host and port, for the reader of the message.
    """
    if isinstance(error, Neo4jError):
        return _server_error(error, place, user, database)
    if isinstance(error, ConfigurationError):
        return StoreUnavailable(
            f"The driver can't use the address of Neo4j at {place}: check ACE_STORE, or NEO4J_URI."
        )
    if isinstance(error, TimeoutError):
        return StoreUnavailable(f"Neo4j at {place} did not answer in time: {_CHECK}.")
    reasons = [_reason(cause) for cause in _causes(error)]
    reason = next((found for found in reasons if found), "")
    return StoreUnavailable(f"Neo4j at {place} can't be reached{reason}: {_CHECK}.")


def _server_error(error: Neo4jError, place: str, user: str | None, database: str | None) -> StoreError:
    code = error.code or ""
    who = f"the user {user!r}" if user else "a login without a name"
    if code.startswith(_SECURITY) or isinstance(error, AuthError):
        return _login_error(code, place, who)
    if code == "Neo.ClientError.Database.DatabaseNotFound":
        return StoreUnavailable(
            f"Neo4j at {place} has no database {database!r}: check NEO4J_DATABASE, or leave it empty."
        )
    if isinstance(error, TransientError) and ".Transaction." in code:
        return CommitContention(
            f"Other writers kept Neo4j at {place} busy ({code}): make the same commit again."
        )
    if isinstance(error, TransientError) or code.startswith(("Neo.DatabaseError.", "Neo.TransientError.")):
        return StoreUnavailable(f"Neo4j at {place} failed ({code}): look into the server's log.")
    return StoreError(f"Neo4j at {place} refused ({code}): look into the server's log.")


def _login_error(code: str, place: str, who: str) -> StoreAuthError:
    check = "check NEO4J_USERNAME and NEO4J_PASSWORD"
    why = {
        "CredentialsExpired": f"wants {who} to change the first password: do that, then set NEO4J_PASSWORD",
        "AuthenticationRateLimit": f"refuses {who} for some seconds after too many wrong passwords: {check}",
        "Forbidden": f"does not allow this to {who}: it must read, write and make constraints",
    }
    said = why.get(code.removeprefix(_SECURITY), f"refused {who}: {check}")
    return StoreAuthError(f"Neo4j at {place} {said}.")


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and the chain of its causes; of a group of errors the first one."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        if isinstance(cause, BaseExceptionGroup):
            cause = cast("BaseExceptionGroup[BaseException]", cause).exceptions[0]
        else:
            cause = cause.__cause__ or cause.__context__


def _reason(cause: BaseException) -> str:
    if "looks like HTTP" in str(cause):
        return " (that port speaks HTTP; Bolt is usually on 7687)"
    if not isinstance(cause, OSError) or cause.errno is None:
        return ""
    return f" ({os.strerror(cause.errno) if cause.errno > 0 else cause.strerror})"


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
class Neo4jLink:
    """What belongs to one portal: the driver, and what is known about the server."""

    portal: Portal
    driver: AsyncDriver
    making_schema: asyncio.Lock = field(default_factory=asyncio.Lock)
    answered: bool = False
    schema_made: bool = False


class Neo4jConnection(Backend):
    """Runs work with a driver that is made on first use. All of its coroutines run on the portal."""

    name = "Neo4j"
    locks_rows = True

    def __init__(self, login: Login, timeouts: Timeouts) -> None:
        """Raises StoreUrlError for an invalid address."""
        super().__init__()
        checked_uri(login.uri)
        self.timeouts = timeouts
        self._login = login
        self._links: list[Neo4jLink] = []

    @property
    def link(self) -> Neo4jLink:
        """This process's link. One that a parent process made stays referenced and is never used."""
        here = portal()
        if not self._links or self._links[-1].portal is not here:
            self._links.append(Neo4jLink(here, self._driver()))
            here.at_exit(self.close)
        return self._links[-1]

    async def run(
        self,
        namespace: Namespace,
        job: Job[T],
        *,
        writes: bool = False,
        seconds: float | None = None,
        began: float | None = None,
    ) -> T:
        """Return the result of a job in a session of its own, retried on transient errors."""
        again = False

        async def attempt(link: Neo4jLink) -> T:
            nonlocal again
            async with self._session(link) as session:
                on = Neo4jSession(session, again, lambda: self._session(link))
                again = True
                try:
                    return await job(Neo4jRows(on, namespace))
                finally:
                    if on.staged is not None:
                        async with self._session(link) as aside:
                            await unstage(Runner(aside, namespace), on.staged)

        return await self.work(attempt, seconds=seconds or (self.timeouts.write if writes else None))

    async def commit_at_once(
        self, namespace: Namespace, request: CommitRequest, planned: SerializedPlan
    ) -> bool:
        """Lock, compare and write in one round trip; not where the commit has to write anything whole."""
        head, create = StateHead(), planned.plan.parent.epoch is None
        if planned.touched is None or (create and namespace == "playbooks"):
            return False
        if create:
            await off_loop(planned.prepare, head)
            folds = planned.folding(head)
            if folds.access or (folds.content and planned.plan.content_changed):
                return False
        parameters = fresh_parameters(request, planned)

        async def write(rows: Rows) -> bool:
            query = statement(f"queries.{'CREATE' if create else 'UPDATE'}")
            found = await fetch(cast("Neo4jRows", rows).run, query, **parameters)
            return bool(found) and found[0]["fresh"] is True

        return await self.run(namespace, write, writes=True)

    async def close(self) -> None:
        """Close the driver; the next call makes another."""
        if self._links and self._links[-1].portal is portal():
            await self._links.pop().driver.close()

    async def work(self, attempt: Callable[[Neo4jLink], Awaitable[T]], *, seconds: float | None = None) -> T:
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

    async def _schema_rows(self, link: Neo4jLink, query: str, /, **parameters: object) -> list[Row]:
        """Run one statement of the schema, which names the labels of both namespaces itself."""
        async with self._session(link) as session:
            return await fetch(Runner(session), query, **parameters)

    def _session(self, link: Neo4jLink) -> AsyncSession:
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

    async def _retried(self, link: Neo4jLink, attempt: Callable[[], Awaitable[T]]) -> T:
        async def answered() -> T:
            result = await attempt()
            link.answered = True
            return result

        def is_transient(error: BaseException) -> bool:
            never_reached = isinstance(error, ServiceUnavailable) and not link.answered
            moved = isinstance(error, MovedError)
            return moved or (is_retryable(error) and not never_reached)

        attempts = AsyncRetrying(
            retry=retry_if_exception(is_transient),
            wait=wait_random_exponential(multiplier=0.02, max=0.5),
            stop=stop_after_delay(self.timeouts.connect),
            reraise=True,
        )
        return await attempts(answered)

    async def _make_schema(self, link: Neo4jLink) -> None:
        """Make constraints and indexes. Another process or call may do the same at the same time."""
        if link.schema_made:
            return
        async with asyncio.timeout(self.timeouts.read):
            (held,) = await self._retried(link, lambda: self._schema_rows(link, HELD))
        if not is_made(held):
            async with asyncio.timeout(self.timeouts.schema), link.making_schema:
                for change in STATEMENTS:
                    await self._retried(link, partial(self._change_schema, link, change))
                await self._retried(link, lambda: self._schema_rows(link, RECORD, name=SCHEMA))
        link.schema_made = True

    async def _change_schema(self, link: Neo4jLink, change: str) -> None:
        try:
            await self._schema_rows(link, change)
        except ClientError as error:
            if error.code not in _ALREADY_EXISTS:
                raise
