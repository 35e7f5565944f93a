"""The learners, or the named playbooks, of one SQLite file: what both namespaces do alike.

A commit is planned before the write lock is taken, from the newest snapshot that this process knows, and away
from the threads of the file. Under the lock it is compared with the stored state; where another process was
faster, it is planned again from what is stored (commit.py). SQL is in rows.py, pending.py, cleaning.py and
catalogue.py, tables are in migrations.py.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from functools import partial
from typing import Self, TypeVar

from ace_graph.errors import CommitContention
from ace_graph.memory.commit import Commit, History, NewToken
from ace_graph.memory.pending import Amend, PendingCounts, PendingItem
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.policy import Policy
from ace_graph.memory.retention import START, Cleaned, Place
from ace_graph.memory.sharing.right import Right
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import (
    LearnerExport,
    LearnerSummary,
    StoreSizes,
    checked_learner_id,
)
from ace_graph.memory.stores.cleaning_batch import Batch
from ace_graph.memory.stores.commit_queue import CommitRequest, CommittingNamespace
from ace_graph.memory.stores.namespaces import Namespace
from ace_graph.memory.stores.playbooks import StoredVersion
from ace_graph.memory.stores.serialized_plan import SerializedPlan
from ace_graph.memory.stores.sqlite.catalogue import check_right, read_content_at, read_versions
from ace_graph.memory.stores.sqlite.cleaning import (
    begin_cleaning,
    clean_batch,
    count_batch,
    list_learners,
    read_sizes,
)
from ace_graph.memory.stores.sqlite.commit import delete_all, read_export, read_start, write_commit
from ace_graph.memory.stores.sqlite.connection import reading, writing
from ace_graph.memory.stores.sqlite.file import SQLiteFile
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
from ace_graph.memory.stores.sqlite.rows import read_history, read_turns
from ace_graph.memory.stores.sqlite.state import read_snapshot
from ace_graph.memory.stores.sqlite.tables import Tables
from ace_graph.memory.stores.sqlite.vectors import put_vectors, read_vectors
from ace_graph.memory.stores.sqlite.whole import put_whole, read_whole
from ace_graph.memory.stores.vectors import VectorChange
from ace_graph.memory.stores.whole import WholeMemory
from ace_graph.memory.trajectory import TrajectoryFilter
from ace_graph.memory.turn import TurnRecord
from ace_graph.portal import portal
from ace_graph.retention import Cutoffs

__all__ = ["SQLiteNamespace"]

T = TypeVar("T")

_ATTEMPTS = 5
"""How often a commit is planned before the lock is taken; the last one may be planned again under it."""


class SQLiteNamespace(CommittingNamespace):
    """A store over one namespace of the file; in that of playbooks, a learner's id is a playbook's id."""

    name = "SQLite"

    def __init__(self, file: SQLiteFile, namespace: Namespace, policy: Policy, new_token: NewToken) -> None:
        super().__init__(policy, new_token)
        self._file = file
        self._namespace: Namespace = namespace

    async def load(self, learner_id: str, known: Snapshot | None = None) -> Snapshot:
        """Return the newest snapshot; see `Store.load`."""
        learner = checked_learner_id(learner_id)
        return await self._read(lambda tables: read_snapshot(tables, learner, known))

    async def amend(self, learner_id: str, amend: Amend) -> TurnRecord | None:
        """Change a turn's record; see `PendingStore.amend`."""
        learner = checked_learner_id(learner_id)
        return await self._write(lambda tables: amend_turn(tables, learner, amend))

    async def find_turns(
        self, learner_id: str, wanted: TrajectoryFilter, *, limit: int = 100, skip: int = 0
    ) -> tuple[TurnRecord, ...]:
        """Return the turns that match; see `PendingStore.find_turns`."""
        learner = checked_learner_id(learner_id)
        return await self._read(
            lambda tables: find_turns(tables, learner, wanted, max(0, limit), max(0, skip))
        )

    async def claim(
        self, owner: str, now: datetime, seconds: float, learner_id: str | None = None
    ) -> PendingItem | None:
        """Lease the next item; see `PendingStore.claim`."""
        token = self._new_token()
        return await self._write(lambda tables: claim_next(tables, owner, now, seconds, learner_id, token))

    async def renew(self, item: PendingItem, until: datetime) -> bool:
        """Extend the lease; see `PendingStore.renew`."""
        return await self._write(lambda tables: renew_lease(tables, item, until))

    async def fail(self, item: PendingItem, error: str, retry_at: datetime | None) -> bool:
        """Release the item with the error; see `PendingStore.fail`."""
        return await self._write(lambda tables: release(tables, item, error, retry_at))

    async def retry(self, learner_id: str, pending_id: str, now: datetime) -> bool:
        """Make a dead letter pending again; see `PendingStore.retry`."""
        learner = checked_learner_id(learner_id)
        return await self._write(lambda tables: retry_dead(tables, learner, pending_id, now))

    async def list_pending(
        self, learner_id: str | None = None, *, dead: bool | None = None, limit: int = 100
    ) -> tuple[PendingItem, ...]:
        """Return the items in order; see `PendingStore.list_pending`."""
        return await self._read(lambda tables: read_items(tables, learner_id, dead, max(0, limit)))

    async def count_pending(self) -> PendingCounts:
        """Return how many items there are; see `PendingStore.count_pending`."""
        return await self._read(count_items)

    async def history(self, learner_id: str) -> History:
        """Return the content changes whose effect is kept; see `Store.history`."""
        learner = checked_learner_id(learner_id)
        return await self._read(lambda tables: read_history(tables, learner, everything=False))

    async def versions(self, key: str) -> tuple[StoredVersion, ...]:
        """Return all versions, the oldest first; see `VersionedStore.versions`."""
        return await self._read(lambda tables: read_versions(tables, key))

    async def content_at(self, key: str, n: int) -> Playbook | None:
        """Return the content of a version; see `VersionedStore.content_at`."""
        return await self._read(lambda tables: read_content_at(tables, key, n))

    async def turns(self, learner_id: str, limit: int = 100) -> tuple[TurnRecord, ...]:
        """Return the newest turn records; see `Store.turns`."""
        learner = checked_learner_id(learner_id)
        return await self._read(lambda tables: read_turns(tables, learner, max(0, limit)))

    async def export(self, learner_id: str) -> LearnerExport:
        """Return everything stored about the learner; see `Store.export`."""
        learner = checked_learner_id(learner_id)
        return await self._read(lambda tables: read_export(tables, learner), Right.OWN)

    async def forget(self, learner_id: str, expected_etag: str | None = None) -> bool:
        """Delete everything stored about the learner; see `Store.forget`, `PlaybookStore.forget`."""
        learner = checked_learner_id(learner_id)
        return await portal().run(self._forget(learner, expected_etag), shielded=True)

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
            return await self._read(lambda tables: count_batch(tables, batch))

        async def write() -> Cleaned:
            return await self._file.connections().writer.run(
                lambda link: clean_batch(self._tables(link), batch)
            )

        return await portal().run(write(), shielded=True)

    async def begin_cleaning(self, now: datetime, every: float) -> bool:
        """Return whether the caller should clean now; see `CleanableStore.begin_cleaning`."""
        return await self._write(lambda tables: begin_cleaning(tables, now, every))

    async def learners(self, limit: int = 100, after: str = "") -> tuple[LearnerSummary, ...]:
        """Return learners in the order of their ids; see `CleanableStore.learners`."""
        return await self._read(lambda tables: list_learners(tables, max(0, limit), after))

    async def sizes(self) -> StoreSizes:
        """Return how much is stored; see `CleanableStore.sizes`."""
        return await self._read(read_sizes)

    async def whole(self, key: str) -> WholeMemory | None:
        """Return everything stored under the key; see `WholeStore.whole`."""
        return await self._read(lambda tables: read_whole(tables, checked_learner_id(key)))

    async def put_whole(self, key: str, memory: WholeMemory, held: WholeMemory | None = None) -> bool:
        """Store everything under the key; see `WholeStore.put_whole`."""
        learner = checked_learner_id(key)
        return await self._write(lambda tables: put_whole(tables, learner, memory, held))

    async def vectors(self, learner_id: str, model: str) -> Mapping[str, bytes]:
        """Return the rows of a model; see `VectorStore.vectors`."""
        learner = checked_learner_id(learner_id)
        return await self._read(lambda tables: read_vectors(tables, learner, model))

    async def put_vectors(self, learner_id: str, epoch: str | None, change: VectorChange) -> bool:
        """Store and delete rows; see `VectorStore.put_vectors`."""
        learner = checked_learner_id(learner_id)
        return await self._write(lambda tables: put_vectors(tables, learner, epoch, change))

    async def close(self) -> None:
        """Close both connections when the current calls have ended; the next call opens them again."""
        await portal().run(self._file.close(), shielded=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    def _tables(self, connection: sqlite3.Connection) -> Tables:
        return Tables(connection, self._namespace)

    async def _read(self, job: Callable[[Tables], T], needed: Right = Right.READ) -> T:
        checked = self._checked(job, needed)

        async def read() -> T:
            return await self._file.connections().reader.run(
                lambda link: _within(reading, checked, self._tables(link))
            )

        return await portal().run(read())

    async def _write(self, job: Callable[[Tables], T], needed: Right = Right.WRITE) -> T:
        checked = self._checked(job, needed)

        async def write() -> T:
            return await self._file.connections().writer.run(
                lambda link: _within(writing, checked, self._tables(link))
            )

        return await portal().run(write(), shielded=True)

    def _checked(self, job: Callable[[Tables], T], needed: Right) -> Callable[[Tables], T]:
        """Return the job, after a check of the caller's right in the same transaction where somebody asks."""
        asked = self._asked
        if asked is None:
            return job

        def checked(tables: Tables) -> T:
            check_right(tables, asked, needed)
            return job(tables)

        return checked

    async def _commit(self, request: CommitRequest) -> Commit:
        connections, began = self._file.connections(), time.monotonic()
        async with connections.queues[self._namespace].slot(request.learner, request.base) as slot:
            start, unknown = slot.base, frozenset[str]()
            for attempt in range(_ATTEMPTS):
                if attempt or request.looks_up(start):
                    found = await connections.reader.run(partial(self._start, request, start))
                    if isinstance(found, Commit):
                        slot.result = found.snapshot
                        return found
                    start, unknown = found
                planning = time.monotonic()
                planned = await SerializedPlan.of(request, start, unknown)
                began += time.monotonic() - planning
                commit = await connections.writer.run(
                    partial(self._written, request, start, planned, attempt == _ATTEMPTS - 1),
                    began=began,  # so that all commits queued for a locked file fail together, not one by one
                )
                if commit is not None:
                    slot.result = commit.snapshot
                    return commit
        raise CommitContention("each attempt met another writer: make the same commit again")

    def _start(
        self, request: CommitRequest, known: Snapshot, link: sqlite3.Connection
    ) -> Commit | tuple[Snapshot, frozenset[str]]:
        return _within(reading, lambda tables: read_start(tables, request, known), self._tables(link))

    def _written(
        self,
        request: CommitRequest,
        start: Snapshot,
        planned: SerializedPlan,
        at_last: bool,
        link: sqlite3.Connection,
    ) -> Commit | None:
        return write_commit(self._tables(link), request, start, planned, at_last=at_last)

    async def _forget(self, learner: str, expected_etag: str | None) -> bool:
        return await self._file.connections().writer.run(
            lambda link: delete_all(self._tables(link), learner, self._asked, expected_etag)
        )


def _within(
    transaction: Callable[[sqlite3.Connection], AbstractContextManager[None]],
    job: Callable[[Tables], T],
    tables: Tables,
) -> T:
    with transaction(tables.connection):
        return job(tables)
