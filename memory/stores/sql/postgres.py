"""The driver of PostgreSQL, and the store in a database, for any number of processes and machines.

A turn costs one statement to load and one to commit, which locks the learner's row, compares it with the
commit's base, and writes; after a conflict, and where it folds, a commit is a transaction.

A process has one pool, on the portal's loop, made on first use. Each call has a timeout and is retried with
jittered backoff on transient errors. Other errors become those of this project. The first call connects on
its own, so that a permanent error is told at once, and makes the tables. Nothing outlives a transaction, so a
connection may be one of pgbouncer's in transaction mode.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast
from urllib.parse import unquote, urlsplit

import psycopg
from psycopg import AsyncConnection
from psycopg.abc import Buffer
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.string import StrDumper, StrDumperUnknown, TextLoader
from psycopg_pool import AsyncConnectionPool, PoolTimeout
from tenacity import AsyncRetrying, retry_if_exception, stop_after_delay, wait_random_exponential

from ace_graph.base.errors import (
    CommitContention,
    StoreAuthError,
    StoreError,
    StoreUnavailable,
    StoreUrlError,
)
from ace_graph.base.off_loop import Steps, in_slices
from ace_graph.base.portal import Portal, portal
from ace_graph.memory.commit import NewToken, begun_at
from ace_graph.memory.policy import Policy
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.backend import Backend, Job, Locked, Namespace, Row, Rows, Where
from ace_graph.memory.stores.base import TIMEOUT, Timeouts, random_token
from ace_graph.memory.stores.commit_queue import CommitRequest, SerializedPlan
from ace_graph.memory.stores.sql.database import Tables, Values, table_name
from ace_graph.memory.stores.sql.postgres_commit import write_at_once
from ace_graph.memory.stores.sql.schema import TABLES, make_schema
from ace_graph.memory.stores.states import HEAD_COLUMNS, head_of, read_report
from ace_graph.memory.stores.store import Store

_SCHEMES = ("postgresql", "postgres")
_FORM = "is like postgresql://user:password@host:5432/database"
_LOST = ("57P01", "57P02", "57P03")  # the server shuts down, crashed, or starts
_CONTENTION = ("40001", "40P01", "55P03")
_LOGIN = ("password", "authentication", "role ", "pg_hba", "no pg_hba.conf entry", "SASL", "certificate")


@dataclass(frozen=True)
class Address:
    """A database's URL, its parts and the setting that names it, for messages.

    The password appears in no message and no repr.
    """

    url: str = field(repr=False)
    place: str
    user: str
    database: str
    setting: str


def checked_address(url: str, setting: str = "ACE_STORE") -> Address:
    """Return the address. Raises StoreUrlError, which never quotes a password."""
    try:
        parts = urlsplit(url)
        known = conninfo_to_dict(url)
        place = parts.netloc.rpartition("@")[2] or str(known.get("host", "the local socket"))
    except (ValueError, psycopg.Error) as error:
        raise StoreUrlError(f"the address of PostgreSQL can't be read: {setting} {_FORM}") from error
    if parts.scheme not in _SCHEMES:
        raise StoreUrlError(f"an address of PostgreSQL begins with postgresql://: {setting} {_FORM}")
    ports = str(known.get("port") or "").split(",")
    if not all(port.isdecimal() or not port for port in ports):
        raise StoreUrlError(f"the port in the address of PostgreSQL is not a number: {setting} {_FORM}")
    user = str(known.get("user") or "")
    return Address(url, unquote(place), user, str(known.get("dbname") or user), setting)


def is_lost(error: BaseException) -> bool:
    """Whether the connection is gone, so that others of the pool may be, too."""
    if not isinstance(error, psycopg.OperationalError) or isinstance(error, PoolTimeout):
        return False
    return error.sqlstate is None or error.sqlstate.startswith("08") or error.sqlstate in _LOST


def is_retryable(error: BaseException) -> bool:
    """Whether a retry may succeed. A retry is safe, because every write has an op id."""
    return is_lost(error) or (isinstance(error, psycopg.Error) and error.sqlstate in _CONTENTION)


def translated(error: Exception, address: Address) -> StoreError:
    """Return the error to raise instead of the driver's."""
    place = f"PostgreSQL at {address.place}"
    if isinstance(error, PoolTimeout):
        return StoreUnavailable(
            f"{place}: all connections of this process were busy: raise ACE_POSTGRES_CONNECTIONS, or run "
            "fewer turns at once"
        )
    if isinstance(error, psycopg.Error) and error.sqlstate is not None:
        return _refused(error.sqlstate, address)
    if isinstance(error, psycopg.OperationalError):
        return _no_connection(error, address)
    if isinstance(error, TimeoutError):
        return StoreUnavailable(
            f"{place} did not answer in time: check that it runs and that {address.setting} names "
            "the right host"
        )
    if isinstance(error, OSError):
        return StoreUnavailable(
            f"{place} can't be reached ({error.strerror}): check the host in {address.setting}"
        )
    return StoreError(f"{place} failed ({type(error).__name__}): look into its log")


def _no_connection(error: psycopg.OperationalError, address: Address) -> StoreError:
    """The error of a connection that could not be made; the driver gives a text only."""
    place, said = f"PostgreSQL at {address.place}", str(error)
    if f'database "{address.database}" does not exist' in said:
        return StoreUnavailable(
            f"{place} has no database {address.database!r}: create it, or name another in {address.setting}"
        )
    if "permission denied for database" in said:
        return StoreAuthError(
            f"{place} does not let the user {address.user!r} connect to the database {address.database!r}: "
            "GRANT CONNECT ON DATABASE to it"
        )
    if any(word in said for word in _LOGIN):
        who = f"the user {address.user!r}" if address.user else "a login without a user"
        return StoreAuthError(f"{place} refused {who}: check the user and the password in {address.setting}")
    if "too many" in said or "remaining connection slots" in said:
        return StoreUnavailable(
            f"{place} has no connection left: lower ACE_POSTGRES_CONNECTIONS, raise the server's "
            "max_connections, or put pgbouncer before it"
        )
    if "session is read-only" in said or "server is in hot standby" in said:
        return _read_only(address)
    return StoreUnavailable(
        f"{place} can't be reached{_reason(said)}: check that it runs and that {address.setting} names "
        "the right host"
    )


def _read_only(address: Address) -> StoreUnavailable:
    return StoreUnavailable(
        f"PostgreSQL at {address.place} is read-only: name the primary server in {address.setting}, or all "
        "servers (host1,host2), of which the primary is found"
    )


def _reason(said: str) -> str:
    """What the driver said, in a few words."""
    known = ("connection refused", "the database system is starting up", "could not translate host name")
    return next((f" ({reason})" for reason in known if reason in said.lower()), "")


def _refused(state: str, address: Address) -> StoreError:
    place = f"PostgreSQL at {address.place}"
    if state in ("42501", "3F000"):  # no right, or no schema that may be used
        return StoreAuthError(
            f"{place} does not allow this to the user {address.user!r}: GRANT USAGE, CREATE ON SCHEMA public "
            f"of the database {address.database!r} to it, or make it the owner of the tables ace_*"
        )
    if state in _CONTENTION:
        return CommitContention(f"other writers kept {place} busy ({state}): make the same commit again")
    if state == "25006":
        return _read_only(address)
    if state in ("53100", "53200"):
        return StoreUnavailable(f"{place} has no room left ({state}): make room on its disk")
    if state.startswith(("08", "53", "57", "58", "XX")):
        return StoreUnavailable(f"{place} failed ({state}): look into the server's log")
    return StoreError(f"{place} refused a statement ({state}): look into the server's log")


# The driver.


T = TypeVar("T")
Pool = AsyncConnectionPool[AsyncConnection[Row]]

CONNECTIONS = 16
_IDLE_SECONDS = 60.0
_SCHEMA_LOCK = 0x6163655F6D656D  # "ace_mem" in ASCII; any constant would do
COUNTED_ROWS = 100_000
"""Of a table with more, the number of rows is estimated: counting reads them all."""
_ESTIMATE = (
    "SELECT coalesce(sum(greatest(reltuples, 0)), 0)::bigint FROM pg_class WHERE relkind = 'r' AND "
    "(oid = '{0}'::regclass OR oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = '{0}'::regclass))"
)
_NAMES = ", ".join(f"'{name}'" for name in TABLES)


class PostgresTables(Tables):
    """A connection of the pool."""

    locks_rows = True
    spelling = ((re.compile(r"\?"), "%s"), (re.compile(r"(?<![:\w]):([a-z]\w*)"), r"%(\1)s"))
    version = "split_part(current_setting('server_version'), ' ', 1)"
    bytes_of_tables = (
        "(SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c "  # noqa: S608  ours
        f"WHERE c.oid = ANY(ARRAY[{_NAMES}]::regclass[]) "
        f"OR c.oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = ANY(ARRAY[{_NAMES}]::regclass[])))"
    )
    # Not to_regclass, which may answer from before another process made the table.
    named_tables = "SELECT relname::text FROM pg_class WHERE relname = ANY(?) AND pg_table_is_visible(oid)"

    def __init__(self, connection: AsyncConnection[Row], namespace: Namespace) -> None:
        super().__init__(namespace)
        self.connection = connection

    def of(self, namespace: Namespace) -> PostgresTables:
        """Return the same connection, for the tables of a namespace."""
        return PostgresTables(self.connection, namespace)

    async def lock(self, key: str, *, wait: bool = True) -> bool:
        """Lock the row of a state; one that is absent locks nothing."""
        how = "" if wait else " SKIP LOCKED"
        statement = f"SELECT 1 FROM ace_learners WHERE user_id = ? FOR UPDATE{how}"  # noqa: S608  constants
        return bool(await self.fetch(statement, (key,)))

    async def lock_at_once(self, key: str, op_id: str, known: Snapshot) -> Locked:
        """Lock the row of a state and read it, in one statement; and what was stored for an operation."""
        statement = f"SELECT {HEAD_COLUMNS}, seq FROM ace_learners WHERE user_id = ? FOR UPDATE"  # noqa: S608  constants
        found = await self.fetch(statement, (key,))
        if not found:
            return Locked()
        (row,) = found
        return Locked(head_of(row[:-1]), row[-1], await read_report(self, key, op_id))

    async def last_turns_at_once(self, keys: Sequence[str]) -> Mapping[str, str | None]:
        """Return when the newest turn of each of these learners ended, or else began."""
        statement = (
            "SELECT k.key, t.at FROM unnest(?::text[]) AS k (key) CROSS JOIN LATERAL ("
            "SELECT coalesce(completed_at, started_at) AS at FROM ace_turns "
            "WHERE user_id = k.key AND NOT deleted ORDER BY seq DESC LIMIT 1) AS t"
        )
        return dict(await self.fetch(statement, (list(keys),)))

    async def fetch(self, statement: str, values: Values = ()) -> list[Row]:
        """Run a statement and return its rows."""
        return await (await self.connection.execute(self.spelled(statement).encode(), values)).fetchall()

    async def change(self, statement: str, values: Values = ()) -> int:
        """Run a statement and return how many rows it changed."""
        return (await self.connection.execute(self.spelled(statement).encode(), values)).rowcount

    async def count(self, table: str, *where: Where) -> int:
        """Return how many rows match; of a whole table with very many an estimate, of its last ANALYZE."""
        if not where:
            ((estimate,),) = await self.fetch(_ESTIMATE.format(table_name(table)))
            if estimate > COUNTED_ROWS:
                return int(estimate)
        return await super().count(table, *where)

    async def change_each(self, statement: str, values: Iterable[Sequence[object]]) -> int:
        """Run a statement for each of the values, in one round trip; return how many rows they changed."""
        given = list(values)
        if not given:
            return 0
        async with self.connection.cursor() as cursor:
            await cursor.executemany(self.spelled(statement).encode(), given)
            return cursor.rowcount

    @asynccontextmanager
    async def reading(self, key: str | None = None) -> AsyncGenerator[None]:
        """A transaction in which all statements read the same state."""
        async with self._transaction(b"BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"):
            yield

    @asynccontextmanager
    async def writing(self) -> AsyncGenerator[None]:
        """A transaction in which each statement reads what was committed before it."""
        async with self._transaction(b"BEGIN"):
            yield

    @asynccontextmanager
    async def _transaction(self, begin: bytes) -> AsyncGenerator[None]:
        await self.connection.execute(begin)
        try:
            yield
        except BaseException:
            if not self.connection.closed:
                await self.connection.rollback()
            raise
        await self.connection.commit()

    async def carry_out(self, steps: Steps[T], whose: str) -> T:
        """Do the work away from the event loop."""
        return await in_slices(steps, whose)

    async def begin_schema(self) -> None:
        """Take an advisory lock, which ends with the transaction. Raises StoreError for another encoding."""
        await self.connection.execute("SELECT pg_advisory_xact_lock(%s)", (_SCHEMA_LOCK,))
        ((encoding,),) = await self.fetch(
            "SELECT pg_encoding_to_char(encoding) FROM pg_database WHERE datname = current_database()"
        )
        if encoding != "UTF8":
            raise StoreError(
                f"the database is in the encoding {encoding}, which can't hold every text: "
                "create one WITH ENCODING 'UTF8' TEMPLATE template0, and name it in ACE_STORE"
            )


_ESCAPE = "\x1a"


def stored_text(text: str) -> str:
    """Return a text without U+0000, which PostgreSQL refuses, that no other text becomes.

    U+0000 becomes U+001A and "0", U+001A becomes U+001A and "1", so keys stay exact. JSON text holds neither
    character, so it is stored as it is.
    """
    if "\x00" not in text and _ESCAPE not in text:
        return text
    return text.replace(_ESCAPE, f"{_ESCAPE}1").replace("\x00", f"{_ESCAPE}0")


def restored_text(stored: str) -> str:
    """Return the text that `stored_text` was given."""
    if _ESCAPE not in stored:
        return stored
    return stored.replace(f"{_ESCAPE}0", "\x00").replace(f"{_ESCAPE}1", _ESCAPE)


class _Stored(StrDumper):
    def dump(self, obj: str) -> Buffer | None:
        return super().dump(stored_text(obj))


class _StoredUnknown(StrDumperUnknown):
    def dump(self, obj: str) -> Buffer | None:
        return super().dump(stored_text(obj))


class _Restored(TextLoader):
    def load(self, data: Buffer) -> bytes | str:
        found = super().load(data)
        return restored_text(found) if isinstance(found, str) else found


async def _configure(connection: AsyncConnection[Row]) -> None:
    """Make a connection store and read texts so."""
    connection.adapters.register_dumper(str, _Stored)
    connection.adapters.register_dumper(str, _StoredUnknown)
    connection.adapters.register_loader("text", _Restored)


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
class PortalPool:
    """What belongs to one portal: the pool, and what is known about the server."""

    portal: Portal
    pool: Pool
    opening: asyncio.Future[None] | None = None
    opened: bool = False
    abandoned: set[asyncio.Future[Any]] = field(default_factory=set[asyncio.Future[Any]])  # of any result


class PostgresDatabase(Backend):
    """A database with a pool of connections that is made on first use."""

    name = "PostgreSQL"
    locks_rows = True

    def __init__(self, address: Address, connections: int, partitions: int, timeouts: Timeouts) -> None:
        super().__init__()
        self.timeouts = timeouts
        self.address = address
        self._connections = connections
        self._partitions = partitions
        self._links: list[PortalPool] = []

    async def run(
        self,
        namespace: Namespace,
        job: Job[T],
        *,
        writes: bool = False,
        seconds: float | None = None,
        began: float | None = None,
    ) -> T:
        """Return the result of a job, with a connection of the pool, retried on transient errors."""

        async def attempt(link: PortalPool) -> T:
            async with link.pool.connection() as connection:
                return await job(PostgresTables(connection, namespace))

        return await self.work(attempt, seconds=seconds or (self.timeouts.write if writes else None))

    async def commit_at_once(
        self, namespace: Namespace, request: CommitRequest, planned: SerializedPlan
    ) -> bool:
        """Whether the plan is written, in one statement; where it can't be, the lock is needed."""
        works = (request.pending, planned.plan.scheduled)
        begun = begun_at(request.delta, request.new_turn)

        async def write(rows: Rows) -> bool:
            tables = cast("PostgresTables", rows)
            return await write_at_once(tables, request.learner, planned, works, begun)

        return await self.run(namespace, write, writes=True)

    @property
    def link(self) -> PortalPool:
        """This process's link. One that a parent process made stays referenced and is never used."""
        here = portal()
        if not self._links or self._links[-1].portal is not here:
            self._links.append(PortalPool(here, self._pool()))
            here.at_exit(self.close)
        return self._links[-1]

    async def close(self) -> None:
        """Close the pool; the next call makes another."""
        if self._links and self._links[-1].portal is portal():
            await self._links.pop().pool.close(timeout=1)

    async def work(self, attempt: Callable[[PortalPool], Awaitable[T]], *, seconds: float | None = None) -> T:
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

    async def _open(self, link: PortalPool) -> None:
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

    async def _prepare(self, link: PortalPool) -> None:
        """Connect past the pool, which would not tell why it can't, and bring the tables up to date."""
        connection = await self._connect()
        try:
            await _within(
                link,
                self.timeouts.schema,
                make_schema(PostgresTables(connection, "learners"), self._partitions),
            )
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

    async def _retried(self, link: PortalPool, attempt: Callable[[], Awaitable[T]]) -> T:
        async def attempt_or_check() -> T:
            try:
                return await attempt()
            except psycopg.Error as error:
                if is_lost(error):  # the others that were idle are lost, too
                    await link.pool.check()
                raise

        attempts = AsyncRetrying(
            retry=retry_if_exception(is_retryable),
            wait=wait_random_exponential(multiplier=0.02, max=0.5),
            stop=stop_after_delay(self.timeouts.connect),
            reraise=True,
        )
        return await attempts(attempt_or_check)


async def _within(link: PortalPool, seconds: float, work: Coroutine[Any, Any, T]) -> T:  # Any: asyncio
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
            task.add_done_callback(link.abandoned.discard)
            task.add_done_callback(_seen)


def _seen(task: asyncio.Future[Any]) -> None:  # Any: as above
    if not task.cancelled():
        task.exception()


class PostgresStore(Store):
    """A `Store` (see `ace_graph.memory.stores.base`) on PostgreSQL 14 or newer."""

    def __init__(
        self,
        url: str,
        policy: Policy | None = None,
        *,
        connections: int = CONNECTIONS,
        partitions: int = 0,
        new_token: NewToken = random_token,
        timeout: float = TIMEOUT,
    ) -> None:
        """Keep the address; the first call connects, and makes the tables where there are none.

        `url` is like `postgresql://user:password@host:5432/database`. A process has at most so many
        `connections`. The tables of a new database are divided into so many `partitions` by learner.
        A read takes at most `timeout` seconds, a write twice as long.
        Raises StoreUrlError.
        """
        database = PostgresDatabase(checked_address(url), connections, partitions, Timeouts(timeout))
        super().__init__(database, policy, new_token=new_token)
