"""The embedded default: every learner in one SQLite file, no set-up, any number of processes.

Reads and writes each have a thread with its own connection (connection.py). A commit is planned before the
write lock is taken, from the newest snapshot that this process knows. Under the lock it is compared with the
stored state, and planned again only where another process was faster (commit.py).

SQL is in rows.py, pending.py and cleaning.py, tables are in migrations.py.
"""

from __future__ import annotations

import os
import sqlite3
import time
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Self, TypeVar

from ace_graph.memory.commit import Commit, History, NewToken
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.pending import Amend, Pending, PendingCounts, PendingItem
from ace_graph.memory.policy import Policy
from ace_graph.memory.retention import START, Cleaned, Cutoffs, Place
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import (
    LearnerExport,
    LearnerSummary,
    StoreSizes,
    checked_learner_id,
    random_token,
)
from ace_graph.memory.stores.commit_queue import CommitQueue, CommitRequest
from ace_graph.memory.stores.sqlite.cleaning import (
    Batch,
    begin_cleaning,
    clean_batch,
    count_batch,
    list_learners,
    read_sizes,
)
from ace_graph.memory.stores.sqlite.commit import delete_all, read_export, write_commit
from ace_graph.memory.stores.sqlite.connection import LOCK_TIMEOUT, SQLiteThread, reading, writing
from ace_graph.memory.stores.sqlite.pending import (
    amend_turn,
    claim_next,
    count_items,
    find_turns,
    read_items,
    release,
    renew_lease,
    retry_dead,
)
from ace_graph.memory.stores.sqlite.rows import read_description, read_history, read_snapshot, read_turns
from ace_graph.memory.trajectory import TrajectoryFilter
from ace_graph.memory.turn import TurnRecord
from ace_graph.portal import portal

__all__ = ["SQLiteStore"]

T = TypeVar("T")


class SQLiteStore:
    """A `Store` (see `ace_graph.memory.stores.base`) in the file at `path`.

    The constructor does no I/O. The first call creates the file, readable by its owner only, and with
    `make_folder` its folder. A call waits at most `lock_timeout` seconds for the locks of other processes.
    """

    name = "SQLite"

    def __init__(
        self,
        path: Path | str,
        policy: Policy | None = None,
        *,
        make_folder: bool = False,
        lock_timeout: float = LOCK_TIMEOUT,
        new_token: NewToken = random_token,
    ) -> None:
        self.path = Path(path).absolute()
        self.policy = policy or Policy()
        self._make_folder = make_folder
        self._lock_timeout = lock_timeout
        self._new_token = new_token
        self._open: _Connections | None = None
        self._finalizer: weakref.finalize[[], SQLiteStore] | None = None
        self._inherited: list[_Connections] = []

    async def load(self, learner_id: str, known: Snapshot | None = None) -> Snapshot:
        """Return the newest snapshot; see `Store.load`."""
        learner = checked_learner_id(learner_id)
        return await self._read(lambda connection: read_snapshot(connection, learner, known))

    async def commit(
        self,
        learner_id: str,
        delta: Delta,
        base: Snapshot,
        record: TurnRecord | Amend | None = None,
        pending: Pending | PendingItem | None = None,
    ) -> Commit:
        """Apply `delta` once, and store `record` and `pending` with it; see `PendingStore.commit`."""
        learner = checked_learner_id(learner_id)
        request = CommitRequest(learner, delta, base, record, pending, self.policy, self._new_token)
        return await portal().run(self._commit(request), shielded=True)

    async def amend(self, learner_id: str, amend: Amend) -> TurnRecord | None:
        """Change a turn's record; see `PendingStore.amend`."""
        learner = checked_learner_id(learner_id)
        return await self._write(lambda connection: amend_turn(connection, learner, amend))

    async def find_turns(
        self, learner_id: str, wanted: TrajectoryFilter, *, limit: int = 100, skip: int = 0
    ) -> tuple[TurnRecord, ...]:
        """Return the turns that match; see `PendingStore.find_turns`."""
        learner = checked_learner_id(learner_id)
        return await self._read(lambda link: find_turns(link, learner, wanted, max(0, limit), max(0, skip)))

    async def claim(
        self, owner: str, now: datetime, seconds: float, learner_id: str | None = None
    ) -> PendingItem | None:
        """Lease the next item; see `PendingStore.claim`."""
        token = self._new_token()
        return await self._write(lambda link: claim_next(link, owner, now, seconds, learner_id, token))

    async def renew(self, item: PendingItem, until: datetime) -> bool:
        """Extend the lease; see `PendingStore.renew`."""
        return await self._write(lambda connection: renew_lease(connection, item, until))

    async def fail(self, item: PendingItem, error: str, retry_at: datetime | None) -> bool:
        """Release the item with the error; see `PendingStore.fail`."""
        return await self._write(lambda connection: release(connection, item, error, retry_at))

    async def retry(self, learner_id: str, pending_id: str, now: datetime) -> bool:
        """Make a dead letter pending again; see `PendingStore.retry`."""
        learner = checked_learner_id(learner_id)
        return await self._write(lambda connection: retry_dead(connection, learner, pending_id, now))

    async def list_pending(
        self, learner_id: str | None = None, *, dead: bool | None = None, limit: int = 100
    ) -> tuple[PendingItem, ...]:
        """Return the items in order; see `PendingStore.list_pending`."""
        return await self._read(lambda connection: read_items(connection, learner_id, dead, max(0, limit)))

    async def count_pending(self) -> PendingCounts:
        """Return how many items there are; see `PendingStore.count_pending`."""
        return await self._read(count_items)

    async def history(self, learner_id: str) -> History:
        """Return the content changes whose effect is kept; see `Store.history`."""
        learner = checked_learner_id(learner_id)
        return await self._read(lambda connection: read_history(connection, learner, everything=False))

    async def turns(self, learner_id: str, limit: int = 100) -> tuple[TurnRecord, ...]:
        """Return the newest turn records; see `Store.turns`."""
        learner = checked_learner_id(learner_id)
        return await self._read(lambda connection: read_turns(connection, learner, max(0, limit)))

    async def export(self, learner_id: str) -> LearnerExport:
        """Return everything stored about the learner; see `Store.export`."""
        learner = checked_learner_id(learner_id)
        return await self._read(lambda connection: read_export(connection, learner))

    async def forget(self, learner_id: str) -> bool:
        """Delete everything stored about the learner; see `Store.forget`."""
        learner = checked_learner_id(learner_id)
        return await portal().run(self._forget(learner), shielded=True)

    async def clean(
        self,
        learner_id: str,
        cutoffs: Cutoffs,
        place: Place = START,
        *,
        most: int = 200,
        dry_run: bool = False,
    ) -> Cleaned:
        """Clean one batch; see `CleanableStore.clean`."""
        batch = Batch(checked_learner_id(learner_id), cutoffs, place, max(1, most))
        if dry_run:
            return await self._read(lambda connection: count_batch(connection, batch))

        async def write() -> Cleaned:
            return await self._connections().writer.run(lambda connection: clean_batch(connection, batch))

        return await portal().run(write(), shielded=True)

    async def begin_cleaning(self, now: datetime, every: float) -> bool:
        """Return whether the caller should clean now; see `CleanableStore.begin_cleaning`."""
        return await self._write(lambda connection: begin_cleaning(connection, now, every))

    async def learners(self, limit: int = 100, after: str = "") -> tuple[LearnerSummary, ...]:
        """Return learners in the order of their ids; see `CleanableStore.learners`."""
        return await self._read(lambda connection: list_learners(connection, max(0, limit), after))

    async def sizes(self) -> StoreSizes:
        """Return how much is stored; see `CleanableStore.sizes`."""
        return await self._read(read_sizes)

    async def describe(self) -> str:
        """Return the versions of SQLite and of the schema, and the number of learners."""
        return await self._read(read_description)

    async def close(self) -> None:
        """Close both connections when the current calls have ended; the next call opens them again."""
        await portal().run(self._close(), shielded=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def _read(self, job: Callable[[sqlite3.Connection], T]) -> T:
        async def read() -> T:
            return await self._connections().reader.run(partial(_within, reading, job))

        return await portal().run(read())

    async def _write(self, job: Callable[[sqlite3.Connection], T]) -> T:
        async def write() -> T:
            return await self._connections().writer.run(partial(_within, writing, job))

        return await portal().run(write(), shielded=True)

    async def _commit(self, request: CommitRequest) -> Commit:
        connections, began = self._connections(), time.monotonic()
        async with connections.queue.slot(request.learner, request.base) as slot:
            start = slot.base
            commit = await connections.writer.run(
                lambda connection: write_commit(connection, request, start),
                began=began,  # so that all commits queued for a locked file fail together, not one by one
            )
            slot.result = commit.snapshot
        return commit

    async def _forget(self, learner: str) -> bool:
        return await self._connections().writer.run(lambda connection: delete_all(connection, learner))

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

    async def _close(self) -> None:
        connections, self._open = self._open, None
        if connections is not None and connections.pid == os.getpid():
            await connections.reader.close()
            await connections.writer.close()
            if self._finalizer is not None and self._open is None:
                self._finalizer.detach()


class _Connections:
    """The threads and the commit queue of one process."""

    def __init__(self, path: Path, *, make_folder: bool, lock_timeout: float) -> None:
        self.pid = os.getpid()
        self.reader = SQLiteThread(path, make_folder=make_folder, lock_timeout=lock_timeout)
        self.writer = SQLiteThread(path, make_folder=make_folder, lock_timeout=lock_timeout)
        self.queue = CommitQueue()

    def close_now(self) -> None:
        """Close what a store that was never closed has left open, in the process that opened it."""
        if self.pid == os.getpid():
            self.reader.close_now()
            self.writer.close_now()


def _within(
    transaction: Callable[[sqlite3.Connection], AbstractContextManager[None]],
    job: Callable[[sqlite3.Connection], T],
    connection: sqlite3.Connection,
) -> T:
    with transaction(connection):
        return job(connection)
