"""Reading a learner's memory ahead: while the turn is written down and the graph starts.

The learner waits for the slower of the two, not for both.

Does not: read twice. The router takes what was read here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import Store
from ace_graph.memory.stores.cache import SnapshotCache

__all__ = ["Prefetch", "prefetcher"]

Prefetch = Callable[[str], asyncio.Future[Snapshot]]
"""Begins to read the memory of the learner that it is given."""


def prefetcher(store: Store, snapshots: SnapshotCache) -> Prefetch:
    """Return what begins to read from `store`, knowing what `snapshots` holds."""

    def begin(learner_id: str) -> asyncio.Future[Snapshot]:
        reading = asyncio.ensure_future(store.load(learner_id, known=snapshots.get(learner_id)))
        reading.add_done_callback(_heeded)
        return reading

    return begin


def _heeded(reading: asyncio.Future[Snapshot]) -> None:
    """What went wrong is for the turn to say; one that ends before it needs its memory says nothing."""
    if not reading.cancelled():
        reading.exception()
