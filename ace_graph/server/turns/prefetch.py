"""Begins to read a learner's memory while the turn is still being stored and the graph starts.

The learner waits for the slower of the two, not for both. The router awaits what is read here
(`PrefetchedContext.loading`), so the memory is read once.
"""

from __future__ import annotations

import asyncio

from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import Store
from ace_graph.memory.stores.cache import SnapshotCache

__all__ = ["prefetch_snapshot"]


def prefetch_snapshot(store: Store, snapshots: SnapshotCache, learner_id: str) -> asyncio.Future[Snapshot]:
    """Begin to load the learner's snapshot, given what the cache holds."""
    loading = asyncio.ensure_future(store.load(learner_id, known=snapshots.get(learner_id)))
    loading.add_done_callback(_retrieve_exception)
    return loading


def _retrieve_exception(loading: asyncio.Future[Snapshot]) -> None:
    """Keep asyncio from logging the error of a turn that ended before its router asked for the memory."""
    if not loading.cancelled():
        loading.exception()
