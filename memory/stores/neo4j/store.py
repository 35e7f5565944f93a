"""The shared store: one `AceMemoryState` node per learner in Neo4j, for any number of processes.

A turn costs two round trips: one load and one commit. A commit is one statement that takes the learner's
lock, compares the stored state with its base, and writes when they are the same. After a conflict it is one
transaction that locks, reads, resolves and writes, so it always finishes. Transient errors are retried; the
op id makes that safe, even when the reply to a commit was lost.

`User` nodes that the host application created are left as they are.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Self, TypeVar

from neo4j import AsyncTransaction

from ace_graph.errors import StoreError
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
from ace_graph.memory.stores.commit_queue import CommitRequest
from ace_graph.memory.stores.neo4j import cleaning
from ace_graph.memory.stores.neo4j import pending as pending_items
from ace_graph.memory.stores.neo4j import queries as cypher
from ace_graph.memory.stores.neo4j.commit import commit_once, lock
from ace_graph.memory.stores.neo4j.connection import WRITE_SECONDS, Link, Login, Neo4jConnection
from ace_graph.memory.stores.neo4j.history import read_export, read_history, read_turns
from ace_graph.memory.stores.neo4j.rows import Reply
from ace_graph.memory.trajectory import TrajectoryFilter
from ace_graph.memory.turn import TurnRecord
from ace_graph.portal import portal

__all__ = ["Neo4jStore"]

T = TypeVar("T")
_log = logging.getLogger("ace_graph")


class Neo4jStore:
    """A `Store` (see `ace_graph.memory.stores.base`) on a Neo4j 5.26 or newer, Community included."""

    name = "Neo4j"

    def __init__(
        self,
        uri: str,
        *,
        username: str | None = None,
        password: str | None = None,
        database: str | None = None,
        policy: Policy | None = None,
        new_token: NewToken = random_token,
    ) -> None:
        """Keep the address; the first call connects.

        `uri` is like `neo4j://host:7687`. Without a user name or a password it connects without a login,
        without a database to the server's default one. Raises StoreUrlError.
        """
        self.policy = policy or Policy()
        self.connection = Neo4jConnection(Login(uri, username, password, database))
        self._new_token = new_token

    async def load(self, learner_id: str, known: Snapshot | None = None) -> Snapshot:
        """Return the newest snapshot; see `Store.load`."""
        learner, held = checked_learner_id(learner_id), known or Snapshot()
        return await self._on_portal(lambda link: self._read(link, learner, held))

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
        return await self._locked(learner, lambda work: pending_items.amend_turn(work, learner, amend))

    async def find_turns(
        self, learner_id: str, wanted: TrajectoryFilter, *, limit: int = 100, skip: int = 0
    ) -> tuple[TurnRecord, ...]:
        """Return the turns that match; see `PendingStore.find_turns`."""
        learner = checked_learner_id(learner_id)

        async def read(link: Link) -> tuple[TurnRecord, ...]:
            async with self.connection.session(link) as session:
                return await pending_items.find_turns(session, learner, wanted, max(0, limit), max(0, skip))

        return await self._on_portal(read)

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

        async def read(link: Link) -> tuple[PendingItem, ...]:
            async with self.connection.session(link) as session:
                return await pending_items.read_items(session, learner_id, dead, max(0, limit))

        return await self._on_portal(read)

    async def count_pending(self) -> PendingCounts:
        """Return how many items there are; see `PendingStore.count_pending`."""

        async def read(link: Link) -> PendingCounts:
            async with self.connection.session(link) as session:
                return await pending_items.count_items(session)

        return await self._on_portal(read)

    async def history(self, learner_id: str) -> History:
        """Return the content changes whose effect is kept; see `Store.history`."""
        learner = checked_learner_id(learner_id)

        async def read(link: Link) -> History:
            async with self.connection.transaction(link) as transaction:
                await lock(transaction, learner)
                return await read_history(transaction, learner)

        return await self._write(read)

    async def turns(self, learner_id: str, limit: int = 100) -> tuple[TurnRecord, ...]:
        """Return the newest turn records; see `Store.turns`."""
        learner = checked_learner_id(learner_id)

        async def read(link: Link) -> tuple[TurnRecord, ...]:
            async with self.connection.session(link) as session:
                return await read_turns(session, learner, limit)

        return await self._on_portal(read)

    async def export(self, learner_id: str) -> LearnerExport:
        """Return everything stored about the learner, read under the learner's lock; see `Store.export`."""
        learner = checked_learner_id(learner_id)

        async def read(link: Link) -> LearnerExport:
            async with self.connection.transaction(link) as transaction:
                state = await lock(transaction, learner)
                snapshot = (state and state.snapshot(Snapshot())) or Snapshot()
                return await read_export(transaction, learner, snapshot)

        return await self._write(read)

    async def forget(self, learner_id: str) -> bool:
        """Delete everything stored about the learner; see `Store.forget`.

        Deletes the learner's User node too if this store created it and nothing was added to it.
        """
        learner = checked_learner_id(learner_id)

        async def delete(link: Link) -> bool:
            rows = await self.connection.rows(link, cypher.DELETE_LEARNER, uid=learner)
            return any(row["found"] is True for row in rows)

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

        async def read(link: Link) -> tuple[LearnerSummary, ...]:
            async with self.connection.session(link) as session:
                return await cleaning.list_learners(session, max(0, limit), after)

        return await self._on_portal(read)

    async def sizes(self) -> StoreSizes:
        """Return how much is stored; see `CleanableStore.sizes`."""

        async def read(link: Link) -> StoreSizes:
            async with self.connection.session(link) as session:
                return await cleaning.read_sizes(session)

        return await self._on_portal(read)

    async def describe(self) -> str:
        """Return the server's version and edition, the schema, and the number of learners."""

        async def read(link: Link) -> str:
            (row,) = await self.connection.rows(link, cypher.DESCRIBE)
            about = f"Neo4j {row['version']} {row['edition']}"
            return f"{about}, schema {row['schema']}, learners: {row['learners']}"

        return await self._on_portal(read)

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
        return await portal().run(self.connection.work(attempt, seconds=WRITE_SECONDS), shielded=True)

    async def _locked(self, learner: str, job: Callable[[AsyncTransaction], Awaitable[T]]) -> T:
        """Run a job in a transaction that holds the learner's lock."""

        async def attempt(link: Link) -> T:
            async with self.connection.transaction(link) as transaction:
                await lock(transaction, learner)
                return await job(transaction)

        return await self._write(attempt)

    async def _read(self, link: Link, learner: str, known: Snapshot) -> Snapshot:
        version = known.version
        rows = await self.connection.rows(
            link, cypher.LOAD, uid=learner, epoch=version.epoch, etag=version.etag
        )
        if not rows:
            return Snapshot()
        found = Reply.model_validate(rows[0]).snapshot(known)
        if found is not None:
            return found
        async with self.connection.transaction(link) as transaction:
            state = await lock(transaction, learner, version)
            return (state and state.snapshot(known)) or Snapshot()

    async def _commit(self, request: CommitRequest) -> Commit:
        async with self.connection.link.queue.slot(request.learner, request.base) as slot:
            result = await self.connection.work(
                lambda link: commit_once(self.connection, link, request, slot.base), seconds=WRITE_SECONDS
            )
            if result.compaction_due:
                await self._compact(request.learner)
            slot.result = result.commit.snapshot
            return result.commit

    async def _compact(self, learner: str) -> None:
        """Drop old effects. A failure does not affect the commit; a later commit compacts instead."""
        kept = self.policy.history_kept
        try:
            await self.connection.work(
                lambda link: self.connection.rows(link, cypher.COMPACT, uid=learner, kept=kept),
                seconds=WRITE_SECONDS,
            )
        except StoreError as error:
            _log.warning("[ACE Memory] the history was not compacted: %s", error)
