"""The learners, or the named playbooks, of one database: what both namespaces do alike."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Self, TypeVar

from ace_graph.errors import IncompleteState, StoreError
from ace_graph.memory.commit import Commit, History, NewToken, check_expected
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
from ace_graph.memory.stores.commit_queue import CommitRequest, CommittingNamespace
from ace_graph.memory.stores.neo4j import cleaning
from ace_graph.memory.stores.neo4j import pending as pending_items
from ace_graph.memory.stores.neo4j import queries as cypher
from ace_graph.memory.stores.neo4j.catalogue import (
    check_right,
    delete_owned,
    read_content_at,
    read_entry,
    read_versions,
)
from ace_graph.memory.stores.neo4j.commit import commit_once, lock, read_locked
from ace_graph.memory.stores.neo4j.connection import Link, Neo4jConnection
from ace_graph.memory.stores.neo4j.folding import fold
from ace_graph.memory.stores.neo4j.history import read_export, read_history, read_turns
from ace_graph.memory.stores.neo4j.rows import Reply, known_parameter
from ace_graph.memory.stores.neo4j.runner import Runner, fetch
from ace_graph.memory.stores.neo4j.sharing import delete_sharing, forget_member
from ace_graph.memory.stores.neo4j.vectors import put_vectors, read_vectors
from ace_graph.memory.stores.neo4j.whole import put_whole, read_whole, stage, unstage
from ace_graph.memory.stores.playbooks import StoredVersion
from ace_graph.memory.stores.serialized_plan import SerializedPlan
from ace_graph.memory.stores.vectors import VectorChange
from ace_graph.memory.stores.whole import COPY_SECONDS, WholeMemory
from ace_graph.memory.trajectory import TrajectoryFilter
from ace_graph.memory.turn import TurnRecord
from ace_graph.off_loop import off_loop
from ace_graph.portal import portal
from ace_graph.retention import Cutoffs

__all__ = ["Neo4jNamespace"]

T = TypeVar("T")
_log = logging.getLogger("ace_graph")


class Neo4jNamespace(CommittingNamespace):
    """A store over one namespace of the database; in that of playbooks, a learner's id is a playbook's id."""

    name = "Neo4j"

    def __init__(self, connection: Neo4jConnection, policy: Policy, new_token: NewToken) -> None:
        super().__init__(policy, new_token)
        self.connection = connection

    async def load(self, learner_id: str, known: Snapshot | None = None) -> Snapshot:
        """Return the newest snapshot; see `Store.load`."""
        learner, held = checked_learner_id(learner_id), known or Snapshot()
        if self._asked is not None:
            return await self._locked(learner, lambda run: read_locked(run, learner))
        return await self._on_portal(lambda link: self._read(link, learner, held))

    async def amend(self, learner_id: str, amend: Amend) -> TurnRecord | None:
        """Change a turn's record; see `PendingStore.amend`."""
        learner = checked_learner_id(learner_id)
        return await self._locked(learner, lambda work: pending_items.amend_turn(work, learner, amend))

    async def find_turns(
        self, learner_id: str, wanted: TrajectoryFilter, *, limit: int = 100, skip: int = 0
    ) -> tuple[TurnRecord, ...]:
        """Return the turns that match; see `PendingStore.find_turns`."""
        learner = checked_learner_id(learner_id)
        most, start = max(0, limit), max(0, skip)
        return await self._in_session(lambda run: pending_items.find_turns(run, learner, wanted, most, start))

    async def claim(
        self, owner: str, now: datetime, seconds: float, learner_id: str | None = None
    ) -> PendingItem | None:
        """Lease the next item; see `PendingStore.claim`."""
        request = pending_items.ClaimRequest(owner, now, seconds, learner_id, self._new_token())
        return await self._write(lambda link: pending_items.claim_next(self.connection, link, request))

    async def renew(self, item: PendingItem, until: datetime) -> bool:
        """Extend the lease; see `PendingStore.renew`."""
        return await self._locked(item.learner_id, lambda work: pending_items.renew_lease(work, item, until))

    async def fail(self, item: PendingItem, error: str, retry_at: datetime | None) -> bool:
        """Release the item with the error; see `PendingStore.fail`."""
        return await self._locked(
            item.learner_id, lambda work: pending_items.release(work, item, error, retry_at)
        )

    async def retry(self, learner_id: str, pending_id: str, now: datetime) -> bool:
        """Make a dead letter pending again; see `PendingStore.retry`."""
        learner = checked_learner_id(learner_id)
        return await self._locked(
            learner, lambda work: pending_items.retry_dead(work, learner, pending_id, now)
        )

    async def list_pending(
        self, learner_id: str | None = None, *, dead: bool | None = None, limit: int = 100
    ) -> tuple[PendingItem, ...]:
        """Return the items in order; see `PendingStore.list_pending`."""
        return await self._in_session(
            lambda run: pending_items.read_items(run, learner_id, dead, max(0, limit))
        )

    async def count_pending(self) -> PendingCounts:
        """Return how many items there are; see `PendingStore.count_pending`."""
        return await self._in_session(pending_items.count_items)

    async def history(self, learner_id: str) -> History:
        """Return the content changes whose effect is kept; see `Store.history`."""
        learner = checked_learner_id(learner_id)
        return await self._locked(learner, lambda run: read_history(run, learner))

    async def versions(self, key: str) -> tuple[StoredVersion, ...]:
        """Return all versions, the oldest first; see `VersionedStore.versions`."""
        return await self._locked(key, lambda run: read_versions(run, key))

    async def content_at(self, key: str, n: int) -> Playbook | None:
        """Return the content of a version; see `VersionedStore.content_at`."""
        return await self._locked(key, lambda run: read_content_at(run, key, n))

    async def turns(self, learner_id: str, limit: int = 100) -> tuple[TurnRecord, ...]:
        """Return the newest turn records; see `Store.turns`."""
        learner = checked_learner_id(learner_id)
        return await self._in_session(lambda run: read_turns(run, learner, limit))

    async def export(self, learner_id: str) -> LearnerExport:
        """Return everything stored about the learner, read under the learner's lock; see `Store.export`."""
        learner = checked_learner_id(learner_id)

        async def read(link: Link) -> LearnerExport:
            async with self.connection.transaction(link) as transaction:
                if self._asked is not None:
                    await check_right(transaction, self._asked, Right.OWN)
                return await read_export(transaction, learner)

        return await self._write(read)

    async def forget(self, learner_id: str, expected_etag: str | None = None) -> bool:
        """Delete everything stored about the learner; see `Store.forget`, `PlaybookStore.forget`.

        Deletes the learner's User node too if this store created it and nothing was added to it, and the
        playbooks that the learner owns.
        """
        learner = checked_learner_id(learner_id)

        async def delete(link: Link) -> bool:
            async with self.connection.transaction(link) as transaction:
                if self._asked is not None or expected_etag is not None:
                    await lock(transaction, learner)
                if self._asked is not None:
                    await check_right(transaction, self._asked, Right.OWN)
                if expected_etag is not None and (entry := await read_entry(transaction, learner)):
                    check_expected(expected_etag, entry.version)
                rows = await fetch(transaction, cypher.DELETE_LEARNER, uid=learner)
                found = any(row["found"] is True for row in rows)
                if transaction.namespace == "learners":
                    named = transaction.of("playbooks")
                    found = await delete_owned(named, learner, cypher.DELETE_LEARNER) or found
                    return await forget_member(transaction, learner) or found
                await delete_sharing(transaction, learner)
                return found

        return await self._write(delete)

    async def clean(
        self,
        learner_id: str,
        cutoffs: Cutoffs,
        place: Place = START,
        *,
        most: int = 200,
        dry_run: bool = False,
    ) -> Cleaned:
        """Clean one batch, under the learner's lock; see `CleanableStore.clean`."""
        batch = cleaning.Batch(checked_learner_id(learner_id), cutoffs, place, max(1, most), dry_run)
        return await self._write(lambda link: cleaning.clean_batch(self.connection, link, batch))

    async def begin_cleaning(self, now: datetime, every: float) -> bool:
        """Return whether the caller should clean now; see `CleanableStore.begin_cleaning`."""
        return await self._write(lambda link: cleaning.begin_cleaning(self.connection, link, now, every))

    async def learners(self, limit: int = 100, after: str = "") -> tuple[LearnerSummary, ...]:
        """Return learners in the order of their ids; see `CleanableStore.learners`."""
        return await self._in_session(lambda run: cleaning.list_learners(run, max(0, limit), after))

    async def sizes(self) -> StoreSizes:
        """Return how much is stored; see `CleanableStore.sizes`."""
        return await self._in_session(cleaning.read_sizes)

    async def whole(self, key: str) -> WholeMemory | None:
        """Return everything stored under the key; see `WholeStore.whole`."""
        learner = checked_learner_id(key)

        async def read(link: Link) -> WholeMemory | None:
            async with self.connection.transaction(link) as transaction:
                return await read_whole(transaction, learner)

        return await portal().run(self.connection.work(read, seconds=COPY_SECONDS))

    async def put_whole(self, key: str, memory: WholeMemory, held: WholeMemory | None = None) -> bool:
        """Store everything under the key; see `WholeStore.put_whole`."""
        learner = checked_learner_id(key)

        async def put(link: Link) -> bool:
            await stage(self.connection, link, learner, memory)
            try:
                async with self.connection.transaction(link) as transaction:
                    return await put_whole(transaction, learner, memory, held)
            finally:
                await unstage(self.connection, link, learner)

        return await portal().run(self.connection.work(put, seconds=COPY_SECONDS), shielded=True)

    async def vectors(self, learner_id: str, model: str) -> Mapping[str, bytes]:
        """Return the rows of a model; see `VectorStore.vectors`."""
        learner = checked_learner_id(learner_id)
        return await self._in_session(lambda run: read_vectors(run, learner, model))

    async def put_vectors(self, learner_id: str, epoch: str | None, change: VectorChange) -> bool:
        """Store and delete rows; see `VectorStore.put_vectors`."""
        learner = checked_learner_id(learner_id)
        return await self._locked(
            learner, lambda work: put_vectors(work, learner, epoch, change), Right.WRITE
        )

    async def close(self) -> None:
        """Close the connections; the next call opens them again."""
        await portal().run(self.connection.close(), shielded=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def _on_portal(self, attempt: Callable[[Link], Awaitable[T]]) -> T:
        return await portal().run(self.connection.work(attempt))

    async def _write(self, attempt: Callable[[Link], Awaitable[T]]) -> T:
        return await portal().run(
            self.connection.work(attempt, seconds=self.connection.timeouts.write), shielded=True
        )

    async def _in_session(self, job: Callable[[Runner], Awaitable[T]]) -> T:
        async def read(link: Link) -> T:
            async with self.connection.session(link) as session:
                return await job(session)

        if self._asked is not None:
            return await self._locked(self._asked.playbook_id, job)
        return await self._on_portal(read)

    async def _locked(
        self, learner: str, job: Callable[[Runner], Awaitable[T]], needed: Right = Right.READ
    ) -> T:
        """Run a job in a transaction that holds the learner's lock; a caller who asks needs the right."""

        async def attempt(link: Link) -> T:
            async with self.connection.transaction(link) as transaction:
                await lock(transaction, learner)
                if self._asked is not None:
                    await check_right(transaction, self._asked, needed)
                return await job(transaction)

        return await self._write(attempt)

    async def _read(self, link: Link, learner: str, known: Snapshot) -> Snapshot:
        rows = await self.connection.rows(link, cypher.LOAD, uid=learner, known=known_parameter(known))
        return await self._whole(link, learner, known, Reply.model_validate(rows[0]) if rows else None)

    async def _whole(self, link: Link, learner: str, known: Snapshot, reply: Reply | None) -> Snapshot:
        """Return the state, read again under the lock where the reply is no consistent version."""
        if reply is None:
            return Snapshot()
        try:
            return reply.snapshot(known)
        except IncompleteState:
            pass  # another transaction wrote it meanwhile, or what is known is of another history
        async with self.connection.transaction(link) as transaction:
            return await read_locked(transaction, learner, known)

    async def _commit(self, request: CommitRequest) -> Commit:
        async with self.connection.link.queues[self.connection.namespace].slot(
            request.learner, request.base
        ) as slot:
            start = slot.base
            known = not request.must_read and not request.looks_up(start)
            planned = await SerializedPlan.of(request, start) if known else None
            result = await self.connection.work(
                lambda link: commit_once(self.connection, link, request, start, planned),
                seconds=self.connection.timeouts.write,
            )
            if result.due is not None:
                await self._fold(request.learner, result.due)
            slot.result = result.commit.snapshot
            return result.commit

    async def _fold(self, learner: str, serialized: SerializedPlan) -> None:
        """Fold after a commit. A failure does not affect the commit; a later one folds instead.

        Raises IncompleteState where the fold finds that a part of the state is missing.
        """
        await off_loop(lambda: (serialized.base, serialized.stamps))  # no text is made under the lock

        async def attempt(link: Link) -> None:
            async with self.connection.transaction(link) as transaction:
                await fold(transaction, learner, serialized)

        try:
            await self.connection.work(attempt, seconds=self.connection.timeouts.write)
        except IncompleteState:
            raise
        except StoreError as error:
            _log.warning("[ACE Memory] the effects of a memory were not folded: %s", error)
