"""A lane: one thread and its own connection to one SQLite file, on which jobs run one after the other.

Opening makes the file private (0600), switches to WAL and migrates; it happens at the first job, and
again when the file at the path is another one (restored from a backup, or deleted). Whatever SQLite or
the file system refuses becomes an error that names the file and what to do, within the lane's patience.

Does not: know what a job reads or writes.
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

__all__ = ["PATIENCE", "Lane", "reading", "writing"]

T = TypeVar("T")

PATIENCE = 8.0
"""Seconds that a job waits for other processes at most, from when it was handed in."""

_OR_ELSE = "or choose another file with ACE_MEMORY_FILE or ACE_STORE"
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


class Lane:
    """Runs jobs on `path`. Belongs to one event loop; `close` it, or `abandon` it where there is no loop."""

    def __init__(self, path: Path, *, make_folder: bool, patience: float) -> None:
        self._path = path
        self._patience = patience
        self._make_folder = make_folder
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="ace-graph-sqlite")
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None

    async def run(self, job: Callable[[sqlite3.Connection], T], *, began: float | None = None) -> T:
        """Run `job` after those before it and return what it returns.

        Its patience counts from `began` (on the monotonic clock) where that is given, else from now.
        Raises StoreUnavailable, CorruptPayload, NewerFormat, and what the job raises.
        """
        deadline = (time.monotonic() if began is None else began) + self._patience
        try:
            running = self._pool.submit(self._work, job, deadline)
        except RuntimeError as error:  # Python ends: its executors take no more work
            raise StoreUnavailable(f"{self._path} is closed, because the program is ending") from error
        return await asyncio.wrap_future(running)

    async def close(self) -> None:
        """Let the jobs handed in finish, then close the connection and the thread."""
        try:
            await asyncio.wrap_future(self._pool.submit(self._disconnect))
        except RuntimeError:
            self._disconnect()
        self._pool.shutdown(wait=False)

    def abandon(self) -> None:
        """Close the connection and the thread when no job runs and none will come."""
        self._pool.shutdown(wait=False)
        self._disconnect()

    def _work(self, job: Callable[[sqlite3.Connection], T], deadline: float) -> T:
        with _explained(self._path):
            connection = self._connected(deadline)
            _wait_until(connection, deadline)
            return job(connection)

    def _connected(self, deadline: float) -> sqlite3.Connection:
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
            with contextlib.suppress(sqlite3.Error):  # a last checkpoint that fails is made at the next start
                connection.close()


@contextlib.contextmanager
def writing(connection: sqlite3.Connection) -> Generator[None, None, None]:
    """A transaction that holds the write lock from its first statement; undone when the block raises."""
    yield from _transaction(connection, "BEGIN IMMEDIATE")


@contextlib.contextmanager
def reading(connection: sqlite3.Connection) -> Generator[None, None, None]:
    """A transaction in which all statements read the state of one moment."""
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
        _wait_until(connection, deadline)
        connection.execute("PRAGMA secure_delete = ON")  # what is deleted or replaced is overwritten
        _use_wal(connection, deadline)
        _wait_until(connection, deadline)
        migrate(connection)
    except NewerFormat as error:
        connection.close()
        raise NewerFormat(f"{path}: {error}, {_OR_ELSE}") from error
    except BaseException:
        connection.close()
        raise
    return connection


def _wait_until(connection: sqlite3.Connection, deadline: float) -> None:
    left = max(1, int(1000 * (deadline - time.monotonic())))
    connection.execute(f"PRAGMA busy_timeout = {left}")


def _use_wal(connection: sqlite3.Connection, deadline: float) -> None:
    """Switching takes a lock for which SQLite does not always wait by itself."""
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
    """Make an empty file that only its owner can read, unless there is one.

    It is linked into place, not opened there: closing it would drop the locks that SQLite may hold on it
    in another thread.
    """
    if path.exists():
        return
    handle, made = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    try:
        os.link(made, path)
    except FileExistsError:
        pass
    except OSError:  # a file system without links
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
def _explained(path: Path) -> Generator[None, None, None]:
    try:
        yield
    except sqlite3.Error as error:
        raise _explanation(path, error) from error
    except OSError as error:
        raise StoreUnavailable(f"{path} can't be opened ({error.strerror}): mend that, {_OR_ELSE}") from error


def _explanation(path: Path, error: sqlite3.Error) -> StoreError:
    code = _code(error)
    if code in _BROKEN:
        return CorruptPayload(f"{path} {_BROKEN[code]}, {_OR_ELSE}")
    return StoreUnavailable(f"{path} {_REMEDIES.get(code, 'can not be used')}, {_OR_ELSE} ({error})")


def _code(error: sqlite3.Error) -> int:
    """The primary result code; 0 for an error that Python's module itself raised."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
