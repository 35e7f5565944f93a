"""An LRU cache of snapshots, so that a turn neither transfers nor parses an unchanged playbook.

A stale entry can cost a second attempt at a commit, never an update. The cache is bounded in bytes; entries
unused for ten minutes are dropped at its next use.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from ace_graph.memory.snapshot import Snapshot

_BYTES_PER_BULLET = 3_500
"""A bullet with its share of the search index, a generous estimate (see benchmarks)."""


class SnapshotCache:
    """Learner id -> newest snapshot seen. Safe to use from any thread. `clock` gives seconds."""

    def __init__(
        self,
        max_bytes: int = 256_000_000,
        idle_seconds: float = 600,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_bytes = max_bytes
        self._idle_seconds = idle_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._held: OrderedDict[str, tuple[float, Snapshot]] = OrderedDict()
        self._bytes = 0

    def get(self, learner_id: str) -> Snapshot | None:
        """Return the learner's snapshot, if the cache has one."""
        with self._lock:
            self._drop_idle()
            found = self._held.pop(learner_id, None)
            if found is None:
                return None
            self._held[learner_id] = (self._clock(), found[1])
            return found[1]

    def put(self, learner_id: str, snapshot: Snapshot) -> None:
        """Store the snapshot unless a newer one is there; evict the least recently used ones for it."""
        with self._lock:
            found = self._held.get(learner_id)
            if found is not None and _is_newer(found[1], snapshot):
                return
            self._remove(learner_id)
            self._held[learner_id] = (self._clock(), snapshot)
            self._bytes += _size(snapshot)
            while self._bytes > self._max_bytes and len(self._held) > 1:
                self._remove(next(iter(self._held)))

    def newest(self, learner_id: str, known: Snapshot) -> Snapshot:
        """Return `known`, or what another turn or a worker of this process has stored after it.

        A commit that starts from the newest snapshot is not planned a second time. Before a learner's first
        commit there is no epoch, and then it is `known`: what is held may be of a learner forgotten since.
        """
        found = self.get(learner_id)
        return found if found is not None and _is_newer(found, known) else known

    def drop(self, learner_id: str) -> None:
        """Remove the learner's snapshot."""
        with self._lock:
            self._remove(learner_id)

    def _drop_idle(self) -> None:
        oldest_allowed = self._clock() - self._idle_seconds
        for learner_id, (used, _) in list(self._held.items()):
            if used >= oldest_allowed:
                return
            self._remove(learner_id)

    def _remove(self, learner_id: str) -> None:
        found = self._held.pop(learner_id, None)
        if found is not None:
            self._bytes -= _size(found[1])


def _is_newer(one: Snapshot, other: Snapshot) -> bool:
    """Whether `one` is newer, of the same epoch: a turn and a worker may put theirs out of order.

    The access clock moves with every commit, but a clear, which has a version of its own, sets it to 0.
    """
    return one.version.epoch == other.version.epoch and _age(one) > _age(other)


def _age(snapshot: Snapshot) -> tuple[int, int]:
    return snapshot.version.n, snapshot.access.access_clock


def _size(snapshot: Snapshot) -> int:
    return 2_000 + _BYTES_PER_BULLET * len(snapshot.playbook.entries)
