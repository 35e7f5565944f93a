"""The learners, or the named playbooks, of the in-memory store: what both namespaces do alike.

Each call runs without interruption on the portal's loop, so no lock is needed; a commit is planned away from
it, and then compared with the state, as in other stores. Nothing is serialized: values
are immutable, so the objects that were committed are the ones that are returned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Self, TypeVar

from ace_graph.errors import LearnerForgotten
from ace_graph.memory.commit import (
    Commit,
    CommitPlan,
    History,
    NewToken,
    begun_at,
    check_age,
    check_not_forgotten,
)
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.pending import Amend, Pending, PendingCounts, PendingItem
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.policy import Policy
from ace_graph.memory.retention import START, Cleaned, Place
from ace_graph.memory.sharing.asked import Asked
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import (
    LearnerExport,
    LearnerSummary,
    StoreSizes,
    checked_learner_id,
)
from ace_graph.memory.stores.commit_queue import CommitQueue, CommitRequest
from ace_graph.memory.stores.in_memory.learner import HeldLearner
from ace_graph.memory.stores.in_memory.pending import Queue
from ace_graph.memory.stores.in_memory.whole import held_of, whole_of
from ace_graph.memory.stores.playbooks import StoredVersion
from ace_graph.memory.stores.vectors import VectorChange
from ace_graph.memory.stores.whole import WholeMemory
from ace_graph.memory.trajectory import TrajectoryFilter
from ace_graph.memory.turn import TurnRecord
from ace_graph.off_loop import in_slices
from ace_graph.portal import portal
from ace_graph.retention import Cutoffs

__all__ = ["Held", "InMemoryNamespace"]

T = TypeVar("T")


class Held:
    """The data of one namespace. Two stores with the same one are like two processes."""

    def __init__(self) -> None:
        self.by_id: dict[str, HeldLearner] = {}
        self.queue = Queue()
        self.cleaning_began: datetime | None = None
        self.commits = CommitQueue()


class InMemoryNamespace:
    """A store over one namespace; in that of playbooks, a learner's id is a playbook's id."""

    name = "memory"

    def __init__(self, held: Held, policy: Policy, new_token: NewToken) -> None:
        self.policy = policy
        self._data = held
        self._learners, self._queue = held.by_id, held.queue
        self._new_token = new_token
        self._asked: Asked | None = None

    async def load(self, learner_id: str, known: Snapshot | None = None) -> Snapshot:
        """Return the newest snapshot; see `Store.load`."""
        learner = checked_learner_id(learner_id)
        return self._known(await self._on_portal(lambda: self._held(learner).snapshot), known)

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
        policy, new_token, asked = self.policy, self._new_token, self._asked
        request = CommitRequest(learner, delta, base, record, pending, policy, new_token, asked=asked)
        return await portal().run(self._commit(request), shielded=True)

    async def amend(self, learner_id: str, amend: Amend) -> TurnRecord | None:
        """Change a turn's record; see `PendingStore.amend`."""
        learner = checked_learner_id(learner_id)
        return await self._on_portal(lambda: self._held(learner).amend(amend))

    async def find_turns(
        self, learner_id: str, wanted: TrajectoryFilter, *, limit: int = 100, skip: int = 0
    ) -> tuple[TurnRecord, ...]:
        """Return the turns that match; see `PendingStore.find_turns`."""
        learner = checked_learner_id(learner_id)

        def find() -> tuple[TurnRecord, ...]:
            found = [turn for turn in self._held(learner).turns if wanted.matches(turn)]
            return tuple(found[max(0, skip) :][: max(0, limit)])

        return await self._on_portal(find)

    async def claim(
        self, owner: str, now: datetime, seconds: float, learner_id: str | None = None
    ) -> PendingItem | None:
        """Lease the next item; see `PendingStore.claim`."""
        token = self._new_token()
        return await self._on_portal(lambda: self._queue.claim(owner, now, seconds, learner_id, token))

    async def renew(self, item: PendingItem, until: datetime) -> bool:
        """Extend the lease; see `PendingStore.renew`."""
        return await self._on_portal(lambda: self._queue.change(item, free_at=until))

    async def fail(self, item: PendingItem, error: str, retry_at: datetime | None) -> bool:
        """Release the item with the error; see `PendingStore.fail`."""
        return await self._on_portal(lambda: self._queue.fail(item, error, retry_at))

    async def retry(self, learner_id: str, pending_id: str, now: datetime) -> bool:
        """Make a dead letter pending again; see `PendingStore.retry`."""
        learner = checked_learner_id(learner_id)
        return await self._on_portal(lambda: self._queue.retry(learner, pending_id, now))

    async def list_pending(
        self, learner_id: str | None = None, *, dead: bool | None = None, limit: int = 100
    ) -> tuple[PendingItem, ...]:
        """Return the items in order; see `PendingStore.list_pending`."""
        return await self._on_portal(lambda: self._queue.list(learner_id, dead)[: max(0, limit)])

    async def count_pending(self) -> PendingCounts:
        """Return how many items there are; see `PendingStore.count_pending`."""
        return await self._on_portal(lambda: self._queue.count())

    async def history(self, learner_id: str) -> History:
        """Return the content changes whose effect is kept; see `Store.history`."""
        learner = checked_learner_id(learner_id)
        return await self._on_portal(lambda: self._held(learner).history(everything=False))

    async def versions(self, key: str) -> tuple[StoredVersion, ...]:
        """Return all versions, the oldest first; see `VersionedStore.versions`."""
        return await self._on_portal(lambda: self._held(key).versions())

    async def content_at(self, key: str, n: int) -> Playbook | None:
        """Return the content of a version; see `VersionedStore.content_at`."""
        return await self._on_portal(lambda: self._held(key).content_at(n))

    async def turns(self, learner_id: str, limit: int = 100) -> tuple[TurnRecord, ...]:
        """Return the newest turn records; see `Store.turns`."""
        learner = checked_learner_id(learner_id)
        return await self._on_portal(lambda: _listed(self._held(learner), limit))

    async def export(self, learner_id: str) -> LearnerExport:
        """Return everything stored about the learner; see `Store.export`."""
        learner = checked_learner_id(learner_id)
        return await self._on_portal(lambda: self._export(learner))

    async def forget(self, learner_id: str) -> bool:
        """Delete everything stored about the learner; see `Store.forget`."""
        learner = checked_learner_id(learner_id)
        return await self._on_portal(lambda: self._forget(learner))

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
        learner = checked_learner_id(learner_id)

        def work() -> Cleaned:
            waiting = frozenset(item.turn_id for item in self._queue.list(learner, None))
            return self._held(learner).clean(cutoffs, place, waiting, most=max(1, most), dry_run=dry_run)

        return await self._on_portal(work)

    async def begin_cleaning(self, now: datetime, every: float) -> bool:
        """Return whether the caller should clean now; see `CleanableStore.begin_cleaning`."""

        def begin() -> bool:
            began = self._data.cleaning_began
            if began is not None and abs((now - began).total_seconds()) < every:
                return False
            self._data.cleaning_began = now
            return True

        return await self._on_portal(begin)

    async def learners(self, limit: int = 100, after: str = "") -> tuple[LearnerSummary, ...]:
        """Return learners in the order of their ids; see `CleanableStore.learners`."""

        def found() -> tuple[LearnerSummary, ...]:
            names = sorted(name for name in self._learners if name > after)[: max(0, limit)]
            return tuple(self._learners[name].summary(name) for name in names)

        return await self._on_portal(found)

    async def sizes(self) -> StoreSizes:
        """Return how much is stored; see `CleanableStore.sizes`."""

        def count() -> StoreSizes:
            held, work = self._learners.values(), self._queue.count()
            turns, deltas = sum(len(each.rows) for each in held), sum(len(each.deltas) for each in held)
            return StoreSizes(len(held), turns, deltas, work.pending + work.dead)

        return await self._on_portal(count)

    async def whole(self, key: str) -> WholeMemory | None:
        """Return everything stored under the key; see `WholeStore.whole`."""
        return await self._on_portal(lambda: self._whole(checked_learner_id(key)))

    async def put_whole(self, key: str, memory: WholeMemory, held: WholeMemory | None = None) -> bool:
        """Store everything under the key; see `WholeStore.put_whole`."""

        def put() -> bool:
            found = self._whole(checked_learner_id(key))
            if found not in (held, memory):
                return False
            self._put_whole(key, memory)
            return True

        return await self._on_portal(put)

    async def vectors(self, learner_id: str, model: str) -> Mapping[str, bytes]:
        """Return the rows of a model; see `VectorStore.vectors`."""
        learner = checked_learner_id(learner_id)
        return await self._on_portal(lambda: self._held(learner).vectors_of(model))

    async def put_vectors(self, learner_id: str, epoch: str | None, change: VectorChange) -> bool:
        """Store and delete rows; see `VectorStore.put_vectors`."""
        learner = checked_learner_id(learner_id)
        return await self._on_portal(lambda: self._held(learner).put_vectors(epoch, change))

    async def close(self) -> None:
        """Do nothing: the data lives as long as the store."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    @staticmethod
    def _known(snapshot: Snapshot, known: Snapshot | None) -> Snapshot:
        if known is not None and snapshot.version.same_content(known.version):
            return replace(snapshot, playbook=known.playbook)
        return snapshot

    def _held(self, learner: str) -> HeldLearner:
        return self._learners.get(learner) or HeldLearner()

    async def _commit(self, request: CommitRequest) -> Commit:
        """Plan away from the loop, and write where the state is still the same."""
        async with self._data.commits.slot(request.learner, request.base):
            while True:
                done = self._before(request)
                if done is None:
                    current = self._held(request.learner).snapshot
                    unknown = self._unknown(request, current)
                    plan = await in_slices(request.planning(current, unknown), request.learner)
                    done = self._before(request) or self._written(request, current, plan)
                if done is not None:
                    return done

    def _before(self, request: CommitRequest) -> Commit | None:
        """Return the commit where it was made before. Raises what speaks against a new one."""
        held, pending = self._held(request.learner), request.pending
        current, op_id = held.snapshot, request.delta.op_id
        if op_id in held.applied:
            return Commit("repeated", current.version, held.applied[op_id], current)
        check_not_forgotten(request.base.version, current.version)
        if isinstance(pending, PendingItem) and not self._queue.holds(pending):
            raise LearnerForgotten(
                "the learner was forgotten while a worker processed the item: nothing is stored"
            )
        if not isinstance(pending, PendingItem):  # a stored item was never applied
            check_age(begun_at(request.delta, request.new_turn), held.keys_from)
        return None

    def _written(self, request: CommitRequest, planned_from: Snapshot, plan: CommitPlan) -> Commit | None:
        """Write what was planned; None where the state is another one by now."""
        learner, held = request.learner, self._held(request.learner)
        version, clock = held.snapshot.version, held.snapshot.access.access_clock
        if (version, clock) != (planned_from.version, planned_from.access.access_clock):
            return None
        if isinstance(request.record, Amend):
            held.amend(request.record)
        held.write(plan, request.new_turn, plan.effects_kept(self.policy))
        for work in (request.pending, plan.scheduled):
            self._queue.write(learner, work, request.delta.now)
        self._learners[learner] = held
        return plan.commit()

    def _unknown(self, request: CommitRequest, current: Snapshot) -> frozenset[str]:
        """Return the trajectories that the commit names and that are not stored."""
        return self._held(request.learner).unknown(request.references(current))

    def _export(self, learner: str) -> LearnerExport:
        held = self._held(learner)
        history, work = held.history(everything=True), self._queue.list(learner, None)
        return LearnerExport(learner, held.snapshot, history, held.turns, work)

    def _whole(self, key: str) -> WholeMemory | None:
        held = self._learners.get(key)
        return None if held is None else whole_of(held, self._queue.of(key))

    def _put_whole(self, key: str, memory: WholeMemory) -> None:
        self._learners[key] = held_of(memory)
        self._queue.replace(key, memory.pending)

    def _forget(self, learner: str) -> bool:
        self._queue.forget(learner)
        return self._learners.pop(learner, None) is not None

    async def _on_portal(self, work: Callable[[], T]) -> T:
        async def run() -> T:
            return work()

        return await portal().run(run(), shielded=True)


def _listed(held: HeldLearner, limit: int) -> tuple[TurnRecord, ...]:
    return tuple(turn for turn in held.turns if not turn.deleted)[: max(0, limit)]
