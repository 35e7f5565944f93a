"""One SQLite file as a process uses it: a thread for reads, one for writes, and the queues of commits."""

from __future__ import annotations

import os
import weakref
from collections.abc import Mapping
from pathlib import Path

from ace_graph.memory.stores.commit_queue import CommitQueue
from ace_graph.memory.stores.namespaces import Namespace
from ace_graph.memory.stores.sqlite.connection import SQLiteThread

__all__ = ["Connections", "SQLiteFile"]


class Connections:
    """The threads and the commit queues of one process."""

    def __init__(self, path: Path, *, make_folder: bool, lock_timeout: float) -> None:
        self.pid = os.getpid()
        self.reader = SQLiteThread(path, make_folder=make_folder, lock_timeout=lock_timeout)
        self.writer = SQLiteThread(path, make_folder=make_folder, lock_timeout=lock_timeout)
        self.queues: Mapping[Namespace, CommitQueue] = {"learners": CommitQueue(), "playbooks": CommitQueue()}

    def close_now(self) -> None:
        """Close what a store that was never closed has left open, in the process that opened it."""
        if self.pid == os.getpid():
            self.reader.close_now()
            self.writer.close_now()


class SQLiteFile:
    """Opens the file at the first call. The stores of both namespaces share one."""

    def __init__(self, path: Path, *, make_folder: bool, lock_timeout: float) -> None:
        self.path = path
        self._make_folder = make_folder
        self._lock_timeout = lock_timeout
        self._open: Connections | None = None
        self._finalizer: weakref.finalize[[], SQLiteFile] | None = None
        self._inherited: list[Connections] = []

    def connections(self) -> Connections:
        """Return this process's connections. A forked child opens its own and never uses the parent's."""
        if self._open is not None and self._open.pid != os.getpid():
            self._inherited.append(self._open)
            self._open = None
        if self._open is None:
            self._open = Connections(
                self.path, make_folder=self._make_folder, lock_timeout=self._lock_timeout
            )
            self._finalizer = weakref.finalize(self, self._open.close_now)
        return self._open

    async def close(self) -> None:
        """Close the connections when the current calls have ended; the next call opens them again."""
        connections, self._open = self._open, None
        if connections is not None and connections.pid == os.getpid():
            await connections.reader.close()
            await connections.writer.close()
            if self._finalizer is not None and self._open is None:
                self._finalizer.detach()
