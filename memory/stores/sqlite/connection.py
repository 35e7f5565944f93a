"""A thread with its own connection to one SQLite file, on which jobs run one after the other.

The first job opens the file: it is created readable by its owner only (0600), switched to WAL and migrated.
It is opened again when the path leads to another file (restored from a backup, or deleted). An error of
SQLite or of the file system becomes one that names the file and says what to do.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from ace_graph.errors import CorruptPayload, NewerFormat, StoreError, StoreUnavailable
from ace_graph.memory.stores.sqlite.migrations import migrate

__all__ = ["SQLiteThread", "reading", "writing"]

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


class SQLiteThread:
    """Runs jobs on `path`. Belongs to one event loop; `close` it, or `close_now` where there is no loop."""

    def __init__(self, path: Path, *, make_folder: bool, lock_timeout: float) -> None:
        self._path = path
        self._lock_timeout = lock_timeout
        self._make_folder = make_folder
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="ace-graph-sqlite")
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None

    async def run(self, job: Callable[[sqlite3.Connection], T], *, began: float | None = None) -> T:
        """Run `job` after the earlier ones and return its result.

        The lock timeout counts from `began` (on the monotonic clock) where that is given, else from now.
        Raises StoreUnavailable, CorruptPayload, NewerFormat, and what the job raises.
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
            await asyncio.wrap_future(self._pool.submit(self._disconnect))
        except RuntimeError:
            self._disconnect()
        self._pool.shutdown(wait=False)

    def close_now(self) -> None:
        """Close the connection and the thread without waiting; no job may be running or come later."""
        self._pool.shutdown(wait=False)
        self._disconnect()

    def _work(self, job: Callable[[sqlite3.Connection], T], deadline: float) -> T:
        with _translated_errors(self._path):
            connection = self._connection_for(deadline)
            _set_busy_timeout(connection, deadline)
            return job(connection)

    def _connection_for(self, deadline: float) -> sqlite3.Connection:
        if self._connection is not None and self._file != _identity(self._path):
            self._disconnect()
        if self._connection is None:
            if self._make_folder:
                self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _create_private(self._path)
            self._connection = _connect(self._path, deadline)
            self._file = _identity(self._path)
        return self._connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):  # a failed last checkpoint is repeated at the next start
                connection.close()


@contextlib.contextmanager
def writing(connection: sqlite3.Connection) -> Generator[None, None, None]:
    """A transaction that holds the write lock from its start; rolled back when the block raises."""
    yield from _transaction(connection, "BEGIN IMMEDIATE")


@contextlib.contextmanager
def reading(connection: sqlite3.Connection) -> Generator[None, None, None]:
    """A transaction in which all statements read the same state."""
    yield from _transaction(connection, "BEGIN")


def _transaction(connection: sqlite3.Connection, begin: str) -> Generator[None, None, None]:
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _connect(path: Path, deadline: float) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        _set_busy_timeout(connection, deadline)
        connection.execute("PRAGMA secure_delete = ON")  # overwrites deleted and replaced content
        _use_wal(connection, deadline)
        _set_busy_timeout(connection, deadline)
        migrate(connection)
    except NewerFormat as error:
        connection.close()
        raise NewerFormat(f"{path}: {error}, {_OTHER_FILE}") from error
    except BaseException:
        connection.close()
        raise
    return connection


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


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


@contextlib.contextmanager
def _translated_errors(path: Path) -> Generator[None, None, None]:
    try:
        yield
    except sqlite3.Error as error:
        raise _translated(path, error) from error
    except OSError as error:
        raise StoreUnavailable(
            f"{path} can't be opened ({error.strerror}): fix that, {_OTHER_FILE}"
        ) from error


def _translated(path: Path, error: sqlite3.Error) -> StoreError:
    code = _code(error)
    if code in _BROKEN:
        return CorruptPayload(f"{path} {_BROKEN[code]}, {_OTHER_FILE}")
    if path.is_dir():
        return StoreUnavailable(f"{path} is a folder: name a file in it, {_OTHER_FILE}")
    return StoreUnavailable(f"{path} {_REMEDIES.get(code, 'can not be used')}, {_OTHER_FILE} ({error})")


def _code(error: sqlite3.Error) -> int:
    """The primary result code; 0 for an error that Python's own module raised."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
