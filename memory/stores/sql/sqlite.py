"""The driver of SQLite, and the store in one file, or in memory: no set-up, any number of processes.

A file has a thread with its own connection for reads, and one for writes, on which jobs run one after the
other; a database in memory has one for both. The first job opens the file: it is created readable by its
owner only (0600), and switched to WAL. It is opened again when the path leads to another file (restored from
a backup, or deleted). An error of SQLite or of the file system becomes one that names the file and says what
to do.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import sqlite3
import tempfile
import time
import weakref
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ace_graph.base.errors import CorruptPayload, OtherSchema, StoreError, StoreUnavailable
from ace_graph.base.portal import portal
from ace_graph.memory.serialization import load_report
from ace_graph.memory.stores import sql
from ace_graph.memory.stores.backend import Backend, Job, Locked, Namespace, Row, Rows, result_of
from ace_graph.memory.stores.base import TIMEOUT, random_token
from ace_graph.memory.stores.sql.database import Tables, Values
from ace_graph.memory.stores.states import HEAD_COLUMNS, head_of
from ace_graph.memory.stores.store import Store

if TYPE_CHECKING:
    from ace_graph.memory.commit import NewToken
    from ace_graph.memory.policy import Policy
    from ace_graph.memory.snapshot import Snapshot

T = TypeVar("T")

_OTHER_FILE = "or choose another file with ACE_MEMORY_FILE or ACE_STORE"
_REMEDIES = {
    sqlite3.SQLITE_BUSY: "is locked by another process: end that process",
    sqlite3.SQLITE_LOCKED: "is locked by another process: end that process",
    sqlite3.SQLITE_READONLY: "is read-only: make the file and its folder writable",
    sqlite3.SQLITE_PERM: "may not be used: make the file and its folder writable",
    sqlite3.SQLITE_FULL: "can't grow, the disk is full: make room",
    sqlite3.SQLITE_IOERR: "can't be read or written: check the disk and the room on it",
    sqlite3.SQLITE_CANTOPEN: "can't be opened: make its folder, and the file writable",
}
_BROKEN = {
    sqlite3.SQLITE_NOTADB: "is not a SQLite database and was left as it is: move it away",
    sqlite3.SQLITE_CORRUPT: "is damaged and was left as it is: restore it from a backup",
}


_REPORT = "(SELECT report_json FROM {table} WHERE user_id = :key AND op_id = :op_id)"
_STATE = (
    f"SELECT {HEAD_COLUMNS}, seq, coalesce({_REPORT.format(table='ace_deltas')}, "  # noqa: S608  constants
    f"{_REPORT.format(table='ace_turns')}) FROM ace_learners WHERE user_id = :key"
)


class SQLiteTables(Tables):
    """A connection of a thread, whose statements run within the call."""

    spelling = (
        (re.compile(r" = ANY\((\S+)\)"), r" IN (SELECT value FROM json_each(\1))"),
        (re.compile(r" <> ALL\((\S+)\)"), r" NOT IN (SELECT value FROM json_each(\1))"),
        (re.compile(r" FOR UPDATE( OF \w+)?( SKIP LOCKED)?"), ""),
        (re.compile(r' COLLATE "C"'), ""),
        (re.compile(r"\bBYTEA\b"), "BLOB"),
        # Small rows: the key is the table, one page less for each commit.
        (re.compile(r"(CREATE TABLE ace_\w*(?:touches|grants|members) .*)", re.DOTALL), r"\1 WITHOUT ROWID"),
    )
    version = "sqlite_version()"
    bytes_of_tables = "(SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size)"
    named_tables = "SELECT name FROM sqlite_master WHERE name = ANY(?)"

    def __init__(self, connection: sqlite3.Connection, namespace: Namespace) -> None:
        super().__init__(namespace)
        self.connection = connection

    def of(self, namespace: Namespace) -> SQLiteTables:
        """Return the same connection, for the tables of a namespace."""
        return SQLiteTables(self.connection, namespace)

    def execute(self, statement: str, values: Values = ()) -> sqlite3.Cursor:
        """Run a statement; lists are passed as JSON."""
        if isinstance(values, Mapping):
            return self.connection.execute(
                self.spelled(statement), {name: _stored(value) for name, value in values.items()}
            )
        return self.connection.execute(self.spelled(statement), tuple(map(_stored, values)))

    async def lock(self, key: str, *, wait: bool = True) -> bool:
        """Do nothing: a transaction that writes has the lock of the whole file."""
        return True

    async def lock_at_once(self, key: str, op_id: str, known: Snapshot) -> Locked:
        """Return a key's state with the report of an operation, in one statement."""
        row = self.execute(_STATE, {"key": key, "op_id": op_id}).fetchone()
        if row is None:
            return Locked()
        *head, seq, report = row
        return Locked(head_of(tuple(head)), seq, None if report is None else load_report(report))

    async def fetch(self, statement: str, values: Values = ()) -> list[Row]:
        """Run a statement and return its rows."""
        return self.execute(statement, values).fetchall()

    async def change(self, statement: str, values: Values = ()) -> int:
        """Run a statement and return how many rows it changed."""
        return self.execute(statement, values).rowcount

    async def change_each(self, statement: str, values: Iterable[Sequence[object]]) -> int:
        """Run a statement once for each of the values; return how many rows they changed."""
        before = self.connection.total_changes
        # The stubs want types that SQLite can store; what is passed here is checked by the columns' readers.
        self.connection.executemany(self.spelled(statement), cast("Iterable[Sequence[Any]]", values))
        return self.connection.total_changes - before

    @contextlib.asynccontextmanager
    async def reading(self, key: str | None = None) -> AsyncGenerator[None]:
        """A transaction in which all statements read the same state."""
        with _transaction(self.connection, "BEGIN"):
            yield

    @contextlib.asynccontextmanager
    async def writing(self) -> AsyncGenerator[None]:
        """A transaction that holds the write lock from its start."""
        with _transaction(self.connection, "BEGIN IMMEDIATE"):
            yield

    async def scrub(self) -> None:
        """Empty the write-ahead log, which still holds older states."""
        with contextlib.suppress(sqlite3.OperationalError):  # a reader is active: it is overwritten later
            self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()


def _stored(value: object) -> Any:  # Any: whatever SQLite can store
    return json.dumps(value) if isinstance(value, list) else value


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection, begin: str) -> Generator[None]:
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


class SQLiteThread:
    """Runs jobs on the file at `path`, or on a database in memory, for any event loop.

    `close` it, or `close_now` where there is no loop.
    """

    def __init__(self, path: Path | None, *, make_folder: bool, lock_timeout: float) -> None:
        self._path = path
        self._lock_timeout = lock_timeout
        self._make_folder = make_folder
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="ace-graph-sqlite")
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._waits = 0.0
        self._closed = False

    async def run(self, job: Callable[[sqlite3.Connection], T], *, began: float | None = None) -> T:
        """Run `job` after the earlier ones and return its result.

        The lock timeout counts from `began` (on the monotonic clock) where that is given, else from now.
        Raises StoreUnavailable, CorruptPayload, OtherSchema, and what the job raises.
        """
        deadline = (time.monotonic() if began is None else began) + self._lock_timeout
        try:
            running = self._pool.submit(self._work, job, deadline)
        except RuntimeError as error:  # Python is shutting down: its executors refuse new jobs
            raise StoreUnavailable(f"{self._path} is closed, because the program is shutting down") from error
        return await asyncio.wrap_future(running)

    async def close(self) -> None:
        """Wait for the submitted jobs, then close the connection and the thread."""
        try:
            await asyncio.wrap_future(self._pool.submit(self._end))
        except RuntimeError:
            self._end()
        self._pool.shutdown(wait=False)

    def close_now(self) -> None:
        """Close the connection and the thread without waiting; no job may be running or come later."""
        self._pool.shutdown(wait=False)
        self._disconnect()

    def _work(self, job: Callable[[sqlite3.Connection], T], deadline: float) -> T:
        if self._closed:
            raise StoreUnavailable(f"{self._path} was closed meanwhile: make the same call again")
        with _translated_errors(self._path):
            connection = self._connection_for(deadline)
            left = deadline - time.monotonic()
            if abs(left - self._waits) > self._lock_timeout / 100:
                _set_busy_timeout(connection, deadline)
                self._waits = left
            return job(connection)

    def _connection_for(self, deadline: float) -> sqlite3.Connection:
        if self._connection is not None and self._file != _identity(self._path):
            self._disconnect()
        if self._connection is None:
            if self._path is not None:
                if self._make_folder:
                    self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                _create_private(self._path)
            path = self._path
            connection = sqlite3.connect(path or ":memory:", isolation_level=None, check_same_thread=False)
            try:
                _set_busy_timeout(connection, deadline)
                connection.execute("PRAGMA secure_delete = ON")  # overwrites deleted and replaced content
                if path is not None:
                    _use_wal(connection, deadline)
                    _set_busy_timeout(connection, deadline)
                result_of(sql.make_schema(SQLiteTables(connection, "learners")))
            except OtherSchema as error:
                connection.close()
                raise OtherSchema(f"{path}: {error}; {_OTHER_FILE}") from error
            except BaseException:
                connection.close()
                raise
            self._connection = connection
            self._waits = 0.0
            self._file = _identity(self._path)
        return self._connection

    def _end(self) -> None:
        self._closed = True
        self._disconnect()

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):  # a failed last checkpoint is repeated at the next start
                connection.close()


def _set_busy_timeout(connection: sqlite3.Connection, deadline: float) -> None:
    left = max(1, int(1000 * (deadline - time.monotonic())))
    connection.execute(f"PRAGMA busy_timeout = {left}")


def _use_wal(connection: sqlite3.Connection, deadline: float) -> None:
    """Switch to WAL. SQLite does not always wait for the lock that this takes, so it is retried here."""
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def _create_private(path: Path) -> None:
    """Create an empty file that only its owner can read, unless there is one.

    It is linked into place, not opened there: POSIX drops all locks of a process on a file when any handle is
    closed, also those that SQLite may hold in another thread.
    """
    if path.exists():
        return
    handle, made = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    try:
        os.link(made, path)
    except FileExistsError:
        pass
    except OSError:  # the file system has no hard links
        path.touch(mode=0o600)
    finally:
        os.unlink(made)


def _identity(path: Path | None) -> tuple[int, int] | None:
    try:
        found = None if path is None else path.stat()
    except FileNotFoundError:
        return None
    return None if found is None else (found.st_dev, found.st_ino)


@contextlib.contextmanager
def _translated_errors(path: Path | None) -> Generator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise _translated(path, error) from error
    except OSError as error:
        raise StoreUnavailable(
            f"{path} can't be opened ({error.strerror}): fix that, {_OTHER_FILE}"
        ) from error


def _translated(path: Path | None, error: sqlite3.Error) -> StoreError:
    code = _code(error)
    if path is None:
        return StoreUnavailable(f"the database in memory failed: {error}")
    if code in _BROKEN:
        return CorruptPayload(f"{path} {_BROKEN[code]}, {_OTHER_FILE}")
    if path.is_dir():
        return StoreUnavailable(f"{path} is a folder: name a file in it, {_OTHER_FILE}")
    return StoreUnavailable(f"{path} {_REMEDIES.get(code, 'can not be used')}, {_OTHER_FILE} ({error})")


def _code(error: sqlite3.Error) -> int:
    """The primary result code; 0 for an error that Python's own module raised."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


class _Connections:
    """The threads and the commit queues of one process."""

    def __init__(self, path: Path | None, *, make_folder: bool, lock_timeout: float) -> None:
        self.pid = os.getpid()
        self.writer = SQLiteThread(path, make_folder=make_folder, lock_timeout=lock_timeout)
        self.reader = self.writer
        if path is not None:
            self.reader = SQLiteThread(path, make_folder=make_folder, lock_timeout=lock_timeout)

    def close_now(self) -> None:
        """Close what a store that was never closed has left open, in the process that opened it."""
        if self.pid == os.getpid():
            self.reader.close_now()
            self.writer.close_now()


class SQLiteDatabase(Backend):
    """One SQLite file as a process uses it, or a database in memory; the first call opens it.

    A database in memory lasts as long as this object, however often its stores are closed.
    """

    name = "SQLite"
    anywhere = True

    def __init__(
        self, path: Path | None = None, *, make_folder: bool = False, lock_timeout: float = TIMEOUT
    ) -> None:
        super().__init__()
        self.path = path
        self._make_folder = make_folder
        self._lock_timeout = lock_timeout
        self._open: _Connections | None = None
        self._finalizer: weakref.finalize[[], SQLiteDatabase] | None = None
        self._inherited: list[_Connections] = []

    async def run(
        self,
        namespace: Namespace,
        job: Job[T],
        *,
        writes: bool = False,
        seconds: float | None = None,
        began: float | None = None,
    ) -> T:
        """Return the result of a job, which waits at most the lock timeout for other processes."""
        began = time.monotonic() if began is None else began
        connections, at_home = self._open, portal().here
        if at_home:
            connections = self._connections()
        if connections is not None and connections.pid == os.getpid():
            thread = connections.writer if writes else connections.reader
            try:
                return await thread.run(
                    lambda link: result_of(job(SQLiteTables(link, namespace))), began=began
                )
            except StoreUnavailable:
                if at_home or connections is self._open:
                    raise
        # Connections are opened and closed on the portal: there are none, or they were just closed.
        return await portal().run(self.run(namespace, job, writes=writes, began=began))

    async def close(self) -> None:
        """Close the connections when the current calls have ended; the next call opens them again."""
        if self.path is None:
            return
        connections, self._open = self._open, None
        if connections is not None and connections.pid == os.getpid():
            await connections.reader.close()
            await connections.writer.close()
            if self._finalizer is not None and self._open is None:
                self._finalizer.detach()

    def _connections(self) -> _Connections:
        """Return this process's connections. A forked child opens its own and never uses the parent's."""
        if self._open is not None and self._open.pid != os.getpid():
            self._inherited.append(self._open)
            self._open = None
        if self._open is None:
            self._open = _Connections(
                self.path, make_folder=self._make_folder, lock_timeout=self._lock_timeout
            )
            self._finalizer = weakref.finalize(self, self._open.close_now)
        return self._open


class SQLiteStore(Store):
    """A `Store` (see `ace_graph.memory.stores.base`) in the file at `path`; without one, in memory.

    The constructor does no I/O. The first call creates the file, readable by its owner only, and with
    `make_folder` its folder. A call waits at most `lock_timeout` seconds, counted from its submission, for
    the locks of other processes. What is in memory lasts as long as the store, even when that is closed;
    stores of one `SQLiteDatabase` share it.
    """

    def __init__(
        self,
        path: Path | str | SQLiteDatabase | None = None,
        policy: Policy | None = None,
        *,
        make_folder: bool = False,
        lock_timeout: float = TIMEOUT,
        new_token: NewToken = random_token,
    ) -> None:
        if not isinstance(path, SQLiteDatabase):
            file = None if path is None else Path(path).absolute()
            path = SQLiteDatabase(file, make_folder=make_folder, lock_timeout=lock_timeout)
        self.path = path.path
        super().__init__(path, policy, new_token=new_token)

    async def integrity(self) -> tuple[str, ...]:
        """Return what SQLite itself finds damaged in the file: pages, indexes, rows that should be unique."""

        async def check(rows: Rows) -> list[Row]:
            return await cast("SQLiteTables", rows).fetch("PRAGMA integrity_check(20)")

        found = await self._statement(check)
        return tuple(
            f"SQLite finds damage: {why}; restore it from a backup" for (why,) in found if why != "ok"
        )
