"""The queue of pending work of the in-memory store. It needs no lock: each call runs without interruption."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from ace_graph.memory.pending import Pending, PendingCounts, PendingItem, bounded_error

__all__ = ["Queue"]


class Queue:
    """The items of all learners."""

    def __init__(self) -> None:
        self._items: dict[tuple[str, str], PendingItem] = {}

    def holds(self, item: PendingItem) -> bool:
        """Whether the item is still there, with any lease."""
        return (item.learner_id, item.pending_id) in self._items

    def write(self, learner: str, pending: Pending | PendingItem | None, now: datetime) -> None:
        """Store new work, or delete the item that the commit completes."""
        if isinstance(pending, PendingItem):
            self._items.pop((learner, pending.pending_id), None)
        elif pending is not None:
            item = PendingItem(**pending.model_dump(), learner_id=learner, created_at=now, free_at=now)
            self._items.setdefault((learner, pending.pending_id), item)

    def claim(
        self, owner: str, now: datetime, seconds: float, learner: str | None, token: str
    ) -> PendingItem | None:
        """See `PendingStore.claim`."""
        found = next(self._claimable(now, learner), None)
        if found is None:
            return None
        leased = {"lease": token, "owner": owner, "free_at": now + timedelta(seconds=seconds)}
        item = found.model_copy(update={**leased, "attempts": found.attempts + 1})
        self._items[item.learner_id, item.pending_id] = item
        return item

    def change(self, item: PendingItem, **update: object) -> bool:
        """Change an item if the caller still holds its lease."""
        key = (item.learner_id, item.pending_id)
        found = self._items.get(key)
        if found is None or found.lease is None or found.lease != item.lease:
            return False
        self._items[key] = found.model_copy(update=update)
        return True

    def fail(self, item: PendingItem, error: str, retry_at: datetime | None) -> bool:
        """See `PendingStore.fail`."""
        state = "dead" if retry_at is None else "pending"
        until = item.free_at if retry_at is None else retry_at
        return self.change(
            item, state=state, error=bounded_error(error), free_at=until, lease=None, attempts=item.attempts
        )

    def retry(self, learner: str, pending_id: str, now: datetime) -> bool:
        """See `PendingStore.retry`."""
        found = self._items.get((learner, pending_id))
        if found is None or found.state != "dead":
            return False
        anew = {"state": "pending", "attempts": 0, "free_at": now, "lease": None}
        self._items[learner, pending_id] = found.model_copy(update=anew)
        return True

    def list(self, learner: str | None, dead: bool | None) -> tuple[PendingItem, ...]:
        """See `PendingStore.list_pending`."""
        wanted = (
            item
            for item in self._items.values()
            if learner in (None, item.learner_id) and (dead is None or dead == (item.state == "dead"))
        )
        return tuple(sorted(wanted, key=lambda item: -item.priority))  # stable: the oldest first

    def of(self, learner: str) -> tuple[PendingItem, ...]:
        """Return a learner's items, the oldest first."""
        return tuple(item for item in self._items.values() if item.learner_id == learner)

    def replace(self, learner: str, items: Iterable[PendingItem]) -> None:
        """Store a learner's items in place of those that are there."""
        self.forget(learner)
        self._items |= {(learner, item.pending_id): item for item in items}

    def count(self) -> PendingCounts:
        """See `PendingStore.count_pending`."""
        dead = sum(item.state == "dead" for item in self._items.values())
        return PendingCounts(len(self._items) - dead, dead)

    def forget(self, learner: str) -> None:
        """Delete the learner's items."""
        self._items = {key: item for key, item in self._items.items() if key[0] != learner}

    def _claimable(self, now: datetime, learner: str | None) -> Iterator[PendingItem]:
        """The items that can be claimed: the first of each learner without a leased item, if it is free."""
        seen: set[str] = {item.learner_id for item in self._items.values() if item.leased(now)}
        for item in self.list(learner, dead=False):
            if item.learner_id not in seen:
                seen.add(item.learner_id)
                if item.free_at <= now:
                    yield item
