"""The learners, or the named playbooks, of one PostgreSQL database: what both namespaces do alike."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Self, TypeVar

from ace_graph.memory.commit import Commit, History, NewToken
from ace_graph.memory.pending import Amend, PendingCounts, PendingItem
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.policy import Policy
from ace_graph.memory.retention import START, Cleaned, Place
from ace_graph.memory.sharing.right import Right
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import LearnerExport, LearnerSummary, StoreSizes, checked_learner_id
from ace_graph.memory.stores.cleaning_batch import Batch, next_part
from ace_graph.memory.stores.commit_queue import CommitRequest, CommittingNamespace
from ace_graph.memory.stores.playbooks import StoredVersion
from ace_graph.memory.stores.postgres import cleaning
from ace_graph.memory.stores.postgres import pending as pending_items
from ace_graph.memory.stores.postgres.catalogue import check_right
from ace_graph.memory.stores.postgres.commit import commit_once, delete_all, read_export
from ace_graph.memory.stores.postgres.connection import Link, PostgresConnection
from ace_graph.memory.stores.postgres.history import read_content_at, read_history, read_turns, read_versions
from ace_graph.memory.stores.postgres.state import lock, read_snapshot
from ace_graph.memory.stores.postgres.tables import Tables
from ace_graph.memory.stores.postgres.vectors import put_vectors, read_vectors
from ace_graph.memory.stores.postgres.whole import put_whole, read_whole
from ace_graph.memory.stores.serialized_plan import SerializedPlan
from ace_graph.memory.stores.vectors import VectorChange
from ace_graph.memory.stores.whole import COPY_SECONDS, WholeMemory
from ace_graph.memory.trajectory import TrajectoryFilter
from ace_graph.memory.turn import TurnRecord
from ace_graph.portal import portal
from ace_graph.retention import Cutoffs

__all__ = ["PostgresNamespace"]

T = TypeVar("T")
Job = Callable[[Tables], Awaitable[T]]


class PostgresNamespace(CommittingNamespace):
    """A store over one namespace of the database; in that of playbooks, a learner's id is a playbook's id."""

    name = "PostgreSQL"

    def __init__(self, connection: PostgresConnection, policy: Policy, new_token: NewToken) -> None:
        super().__init__(policy, new_token)
        self.connection = connection

    async def load(self, learner_id: str, known: Snapshot | None = None) -> Snapshot:
        """Return the newest snapshot, read in one statement; see `Store.load`."""
        learner = checked_learner_id(learner_id)
        return await self._statement(lambda tables: read_snapshot(tables, learner, known))

    async def amend(self, learner_id: str, amend: Amend) -> TurnRecord | None:
        """Change a turn's record; see `PendingStore.amend`."""
        learner = checked_learner_id(learner_id)
        return await self._locked(learner, lambda work: pending_items.amend_turn(work, learner, amend))

    async def find_turns(
        self, learner_id: str, wanted: TrajectoryFilter, *, limit: int = 100, skip: int = 0
    ) -> tuple[TurnRecord, ...]:
        """Return the turns that match; see `PendingStore.find_turns`."""
        learner, most, start = checked_learner_id(learner_id), max(0, limit), max(0, skip)
        return await self._statement(
            lambda tables: pending_items.find_turns(tables, learner, wanted, most, start)
        )

    async def claim(
        self, owner: str, now: datetime, seconds: float, learner_id: str | None = None
    ) -> PendingItem | None:
        """Lease the next item; see `PendingStore.claim`."""
        request = pending_items.ClaimRequest(owner, now, seconds, learner_id, self._new_token())
        return await self._write(lambda tables: pending_items.claim_next(tables, request))

    async def renew(self, item: PendingItem, until: datetime) -> bool:
        """Extend the lease; see `PendingStore.renew`."""
        return await self._write(lambda tables: pending_items.renew_lease(tables, item, until))

    async def fail(self, item: PendingItem, error: str, retry_at: datetime | None) -> bool:
        """Release the item with the error; see `PendingStore.fail`."""
        return await self._write(lambda tables: pending_items.release(tables, item, error, retry_at))

    async def retry(self, learner_id: str, pending_id: str, now: datetime) -> bool:
        """Make a dead letter pending again; see `PendingStore.retry`."""
        learner = checked_learner_id(learner_id)
        return await self._write(lambda tables: pending_items.retry_dead(tables, learner, pending_id, now))

    async def list_pending(
        self, learner_id: str | None = None, *, dead: bool | None = None, limit: int = 100
    ) -> tuple[PendingItem, ...]:
        """Return the items in order; see `PendingStore.list_pending`."""
        return await self._statement(
            lambda tables: pending_items.read_items(tables, learner_id, dead, max(0, limit))
        )

    async def count_pending(self) -> PendingCounts:
        """Return how many items there are; see `PendingStore.count_pending`."""
        return await self._statement(pending_items.count_items)

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
        return await self._statement(lambda tables: read_turns(tables, learner, max(0, limit)))

    async def export(self, learner_id: str) -> LearnerExport:
        """Return everything stored about the learner; see `Store.export`."""
        learner = checked_learner_id(learner_id)
        return await self._read(lambda tables: read_export(tables, learner), Right.OWN)

    async def forget(self, learner_id: str, expected_etag: str | None = None) -> bool:
        """Delete everything stored about the learner; see `Store.forget`, `PlaybookStore.forget`."""
        learner = checked_learner_id(learner_id)
        return await self._locked(learner, lambda work: delete_all(work, learner, expected_etag), Right.OWN)

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
            return await self._read(lambda tables: cleaning.count_batch(tables, batch))
        if not await self._read(lambda tables: cleaning.is_anything_old(tables, batch)):
            return Cleaned(next=next_part(place))
        return await self._locked(batch.learner, lambda work: cleaning.clean_batch(work, batch))

    async def begin_cleaning(self, now: datetime, every: float) -> bool:
        """Return whether the caller should clean now; see `CleanableStore.begin_cleaning`."""
        return await self._write(lambda tables: cleaning.begin_cleaning(tables, now, every))

    async def learners(self, limit: int = 100, after: str = "") -> tuple[LearnerSummary, ...]:
        """Return learners in the order of their ids; see `CleanableStore.learners`."""
        return await self._statement(lambda tables: cleaning.list_learners(tables, max(0, limit), after))

    async def sizes(self) -> StoreSizes:
        """Return how much is stored; see `CleanableStore.sizes`."""
        return await self._statement(cleaning.read_sizes)

    async def whole(self, key: str) -> WholeMemory | None:
        """Return everything stored under the key; see `WholeStore.whole`."""
        return await self._read(
            lambda tables: read_whole(tables, checked_learner_id(key)), seconds=COPY_SECONDS
        )

    async def put_whole(self, key: str, memory: WholeMemory, held: WholeMemory | None = None) -> bool:
        """Store everything under the key; see `WholeStore.put_whole`."""
        learner = checked_learner_id(key)

        async def put(tables: Tables) -> bool:
            await lock(tables, learner)
            return await put_whole(tables, learner, memory, held)

        return await self._write(put, seconds=COPY_SECONDS)

    async def vectors(self, learner_id: str, model: str) -> Mapping[str, bytes]:
        """Return the rows of a model; see `VectorStore.vectors`."""
        learner = checked_learner_id(learner_id)
        return await self._statement(lambda tables: read_vectors(tables, learner, model))

    async def put_vectors(self, learner_id: str, epoch: str | None, change: VectorChange) -> bool:
        """Store and delete rows; see `VectorStore.put_vectors`."""
        learner = checked_learner_id(learner_id)
        return await self._locked(learner, lambda work: put_vectors(work, learner, epoch, change))

    async def close(self) -> None:
        """Close the connections; the next call opens them again."""
        await portal().run(self.connection.close(), shielded=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def _statement(self, job: Job[T]) -> T:
        """Run a job of one statement, which is its own transaction; a caller who asks needs the right."""
        if self._asked is not None:
            return await self._read(job)

        async def read(link: Link) -> T:
            async with self.connection.statement(link) as tables:
                return await job(tables)

        return await portal().run(self.connection.work(read))

    async def _read(self, job: Job[T], needed: Right = Right.READ, seconds: float | None = None) -> T:
        """Run a job whose statements read the same state, the caller's right included."""

        async def read(link: Link) -> T:
            async with self.connection.reading(link) as tables:
                if self._asked is not None:
                    await check_right(tables, self._asked, needed)
                return await job(tables)

        return await portal().run(self.connection.work(read, seconds=seconds))

    async def _write(self, job: Job[T], seconds: float | None = None) -> T:
        """Run a job in a transaction."""

        async def write(link: Link) -> T:
            async with self.connection.writing(link) as tables:
                return await job(tables)

        return await portal().run(
            self.connection.work(write, seconds=seconds or self.connection.timeouts.write), shielded=True
        )

    async def _locked(self, key: str, job: Job[T], needed: Right = Right.WRITE) -> T:
        """Run a job in a transaction that holds the lock of a key; a caller who asks needs the right."""

        async def locked(tables: Tables) -> T:
            await lock(tables, key)
            if self._asked is not None:
                await check_right(tables, self._asked, needed)
            return await job(tables)

        return await self._write(locked)

    async def _commit(self, request: CommitRequest) -> Commit:
        queue = self.connection.link.queues[self.connection.namespace]
        async with queue.slot(request.learner, request.base) as slot:
            start = slot.base
            planned = None if request.looks_up(start) else await SerializedPlan.of(request, start)

            async def attempt(link: Link) -> Commit:
                return await commit_once(self.connection, link, request, start, planned)

            commit = await self.connection.work(attempt, seconds=self.connection.timeouts.write)
            slot.result = commit.snapshot
            return commit
