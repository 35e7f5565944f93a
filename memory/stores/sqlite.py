"""The embedded default: every learner in one SQLite file, no set-up, any number of processes.

Reads and writes have a lane each: a thread with a connection of its own. A commit is planned before the
write lock is taken, from the newest snapshot this process knows; under the lock it is compared, and only
where another process was faster it is planned once more from what is stored.

Does not: hold SQL (`sqlite_rows`), threads and connections (`sqlite_lane`) or tables (`sqlite_migrations`).
"""

from __future__ import annotations

import os
import sqlite3
import time
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from functools import partial
from pathlib import Path
from typing import Self, TypeVar

from ace_graph.memory.commit import Commit, History, NewToken, meets, plan
from ace_graph.memory.delta import Delta
from ace_graph.memory.policy import Policy
from ace_graph.memory.portal import portal
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import CommitQueue, LearnerExport, checked_learner_id, random_token
from ace_graph.memory.stores.sqlite_lane import PATIENCE, Lane, reading, writing
from ace_graph.memory.stores.sqlite_rows import (
    Head,
    Prepared,
    delete_learner,
    read_head,
    read_history,
    read_report,
    read_snapshot,
    read_turns,
    write,
)
from ace_graph.memory.turn import TurnRecord

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
        self, learner_id: str, delta: Delta, base: Snapshot, record: TurnRecord | None = None
    ) -> Commit:
        """Apply `delta` once, and store `record` with it; see `Store.commit`."""
        learner = checked_learner_id(learner_id)
        return await portal().run(self._commit(learner, delta, base, record), whole=True)

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
        return await self._read(lambda connection: _export(connection, learner))

    async def forget(self, learner_id: str) -> bool:
        """Delete everything stored about the learner; see `Store.forget`."""
        learner = checked_learner_id(learner_id)
        return await portal().run(self._forget(learner), whole=True)

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

    async def _commit(self, learner: str, delta: Delta, base: Snapshot, record: TurnRecord | None) -> Commit:
        lanes, began = self._lanes(), time.monotonic()
        async with lanes.queue.place(learner, base) as place:
            start = place.base
            done = await lanes.writer.run(
                lambda connection: self._write(connection, learner, delta, base, start, record),
                began=began,  # so that a queue before a locked file fails together, not one by one
            )
            place.result = done.snapshot
        return done

    def _write(
        self,
        connection: sqlite3.Connection,
        learner: str,
        delta: Delta,
        base: Snapshot,
        start: Snapshot,
        record: TurnRecord | None,
    ) -> Commit:
        """Plan from `start`, the newest that the queue holds; `base` says which life the caller means."""
        prepared = self._prepared(start, delta, record)
        with writing(connection):
            report = read_report(connection, learner, delta.op_id)
            if report is not None:
                now = read_snapshot(connection, learner, start)
                return Commit("repeated", now.version, report, now)
            head = read_head(connection, learner)
            if not _holds(base, start, head):
                prepared = self._prepared(read_snapshot(connection, learner, start), delta, record)
            write(connection, learner, prepared, head.marks, self.policy.history_kept)
        return prepared.plan.commit()

    def _prepared(self, base: Snapshot, delta: Delta, record: TurnRecord | None) -> Prepared:
        return Prepared(plan(base, delta, self.policy, record, self._new_token), record)

    async def _forget(self, learner: str) -> bool:
        return await self._lanes().writer.run(lambda connection: _erase(connection, learner))

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


def _holds(base: Snapshot, start: Snapshot, head: Head) -> bool:
    """Whether a plan from `start` may be written onto `head`. Raises LearnerForgotten."""
    if base.absent and start.version.epoch != head.version.epoch:
        return False  # the queue held a life that has ended, the caller wants a new one
    clock = start.access.access_clock
    return meets(start.version, head.version, base_clock=clock, clock=head.access_clock)


def _within(
    transaction: Callable[[sqlite3.Connection], AbstractContextManager[None]],
    job: Callable[[sqlite3.Connection], T],
    connection: sqlite3.Connection,
) -> T:
    with transaction(connection):
        return job(connection)


def _erase(connection: sqlite3.Connection, learner: str) -> bool:
    """Delete the rows, and empty the log, in which older states of them can still be read."""
    with writing(connection):
        found = delete_learner(connection, learner)
    with suppress(sqlite3.OperationalError):  # somebody reads: the log is overwritten later
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return found


def _export(connection: sqlite3.Connection, learner: str) -> LearnerExport:
    return LearnerExport(
        learner,
        read_snapshot(connection, learner, None),
        read_history(connection, learner, everything=True),
        read_turns(connection, learner, -1),
    )
