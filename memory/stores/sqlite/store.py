"""The embedded default: every learner in one SQLite file, no set-up, any number of processes.

Reads and writes have a lane each: a thread with a connection of its own. A commit is planned before the
write lock is taken, from the newest snapshot this process knows; under the lock it is compared, and only
where another process was faster it is planned once more from what is stored.

Does not: hold SQL (`sqlite_rows`, `sqlite_pending`), what a commit does (`sqlite_jobs`), threads and
connections (`sqlite_lane`) or tables (`sqlite_migrations`).
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
    CommitQueue,
    LearnerExport,
    LearnerSummary,
    StoreSizes,
    checked_learner_id,
    random_token,
)
from ace_graph.memory.stores.sqlite.cleaning import (
    Batch,
    begin_duty,
    clean_batch,
    count_batch,
    list_learners,
    read_sizes,
)
from ace_graph.memory.stores.sqlite.commit import Job, erase, read_export, write_job
from ace_graph.memory.stores.sqlite.connection import PATIENCE, Lane, reading, writing
from ace_graph.memory.stores.sqlite.pending import (
    amend_turn,
    claim_next,
    count_items,
    find_turns,
    give_back,
    read_items,
    renew_lease,
    revive,
)
from ace_graph.memory.stores.sqlite.rows import read_history, read_snapshot, read_turns
from ace_graph.memory.trajectory import TrajectoryFilter
from ace_graph.memory.turn import TurnRecord
from ace_graph.portal import portal

__all__ = ["SQLiteStore"]

T = TypeVar("T")


class SQLiteStore:
    """A `Store` (see `ace_graph.memory.stores.base`) in the file at `path`.

    Making one does no I/O. The file is created at the first call, readable by its owner only; its folder
    too with `make_folder`. A call waits at most `patience` seconds for the locks of other processes.
    """

    name = "SQLite"

    def __init__(
        self,
        path: Path | str,
        policy: Policy | None = None,
        *,
        make_folder: bool = False,
        patience: float = PATIENCE,
        new_token: NewToken = random_token,
    ) -> None:
        self.path = Path(path).absolute()
        self.policy = policy or Policy()
        self._make_folder = make_folder
        self._patience = patience
        self._new_token = new_token
        self._open: _Lanes | None = None
        self._last_resort: weakref.finalize[[], SQLiteStore] | None = None
        self._inherited: list[_Lanes] = []

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
        job = Job(checked_learner_id(learner_id), delta, base, record, pending, self.policy, self._new_token)
        return await portal().run(self._commit(job), whole=True)

    async def amend(self, learner_id: str, amend: Amend) -> TurnRecord | None:
        """Change a turn's record; see `PendingStore.amend`."""
        learner = checked_learner_id(learner_id)
        return await self._change(lambda connection: amend_turn(connection, learner, amend))

    async def find_turns(
        self, learner_id: str, wanted: TrajectoryFilter, *, limit: int = 100, skip: int = 0
    ) -> tuple[TurnRecord, ...]:
        """Return the turns that are meant; see `PendingStore.find_turns`."""
        learner = checked_learner_id(learner_id)
        return await self._read(lambda link: find_turns(link, learner, wanted, max(0, limit), max(0, skip)))

    async def claim(
        self, owner: str, now: datetime, seconds: float, learner_id: str | None = None
    ) -> PendingItem | None:
        """Lease the item that is next; see `PendingStore.claim`."""
        token = self._new_token()
        return await self._change(lambda link: claim_next(link, owner, now, seconds, learner_id, token))

    async def renew(self, item: PendingItem, until: datetime) -> bool:
        """Extend the lease; see `PendingStore.renew`."""
        return await self._change(lambda connection: renew_lease(connection, item, until))

    async def fail(self, item: PendingItem, error: str, retry_at: datetime | None) -> bool:
        """Give the item back with the error; see `PendingStore.fail`."""
        return await self._change(lambda connection: give_back(connection, item, error, retry_at))

    async def retry(self, learner_id: str, pending_id: str, now: datetime) -> bool:
        """Make a dead letter pending again; see `PendingStore.retry`."""
        learner = checked_learner_id(learner_id)
        return await self._change(lambda connection: revive(connection, learner, pending_id, now))

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
        return await portal().run(self._forget(learner), whole=True)

    async def clean(
        self,
        learner_id: str,
        cutoffs: Cutoffs,
        place: Place = START,
        *,
        most: int = 200,
        dry_run: bool = False,
    ) -> Cleaned:
        """Do one batch of a cleaning; see `CleanableStore.clean`."""
        batch = Batch(checked_learner_id(learner_id), cutoffs, place, max(1, most))
        if dry_run:
            return await self._read(lambda connection: count_batch(connection, batch))

        async def with_the_lock() -> Cleaned:
            return await self._lanes().writer.run(lambda connection: clean_batch(connection, batch))

        return await portal().run(with_the_lock(), whole=True)

    async def begin_cleaning(self, now: datetime, every: float) -> bool:
        """Whether a cleaning is due; see `CleanableStore.begin_cleaning`."""
        return await self._change(lambda connection: begin_duty(connection, now, every))

    async def learners(self, limit: int = 100, after: str = "") -> tuple[LearnerSummary, ...]:
        """Return learners in the order of their ids; see `CleanableStore.learners`."""
        return await self._read(lambda connection: list_learners(connection, max(0, limit), after))

    async def sizes(self) -> StoreSizes:
        """Return how much is stored; see `CleanableStore.sizes`."""
        return await self._read(read_sizes)

    async def close(self) -> None:
        """Close both connections once the calls under way have ended; the next call opens them again."""
        await portal().run(self._close(), whole=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def _read(self, job: Callable[[sqlite3.Connection], T]) -> T:
        async def in_one_moment() -> T:
            return await self._lanes().reader.run(partial(_within, reading, job))

        return await portal().run(in_one_moment())

    async def _change(self, job: Callable[[sqlite3.Connection], T]) -> T:
        async def with_the_lock() -> T:
            return await self._lanes().writer.run(partial(_within, writing, job))

        return await portal().run(with_the_lock(), whole=True)

    async def _commit(self, job: Job) -> Commit:
        lanes, began = self._lanes(), time.monotonic()
        async with lanes.queue.place(job.learner, job.base) as place:
            start = place.base
            done = await lanes.writer.run(
                lambda connection: write_job(connection, job, start),
                began=began,  # so that a queue before a locked file fails together, not one by one
            )
            place.result = done.snapshot
        return done

    async def _forget(self, learner: str) -> bool:
        return await self._lanes().writer.run(lambda connection: erase(connection, learner))

    def _lanes(self) -> _Lanes:
        """Both lanes of this process. A forked child makes its own and leaves the parent's alone."""
        if self._open is not None and self._open.pid != os.getpid():
            self._inherited.append(self._open)
            self._open = None
        if self._open is None:
            self._open = _Lanes(self.path, make_folder=self._make_folder, patience=self._patience)
            self._last_resort = weakref.finalize(self, self._open.abandon)
        return self._open

    async def _close(self) -> None:
        lanes, self._open = self._open, None
        if lanes is not None and lanes.pid == os.getpid():
            await lanes.reader.close()
            await lanes.writer.close()
            if self._last_resort is not None and self._open is None:
                self._last_resort.detach()


class _Lanes:
    """What one process holds open."""

    def __init__(self, path: Path, *, make_folder: bool, patience: float) -> None:
        self.pid = os.getpid()
        self.reader = Lane(path, make_folder=make_folder, patience=patience)
        self.writer = Lane(path, make_folder=make_folder, patience=patience)
        self.queue = CommitQueue()

    def abandon(self) -> None:
        """Close what a store that nobody closed has left, in the process that opened it."""
        if self.pid == os.getpid():
            self.reader.abandon()
            self.writer.abandon()


def _within(
    transaction: Callable[[sqlite3.Connection], AbstractContextManager[None]],
    job: Callable[[sqlite3.Connection], T],
    connection: sqlite3.Connection,
) -> T:
    with transaction(connection):
        return job(connection)
