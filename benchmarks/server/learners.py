"""The learners of a benchmark: made in a store, with a playbook each, and their learning waited for."""

from __future__ import annotations

import asyncio
import time

from ace_graph.memory.stores.store import Store
from benchmarks.available_stores import seeded

__all__ = ["crowd", "everything_learned"]

_AT_ONCE = 8
_LOOK_SECONDS = 0.05
_STUCK_SECONDS = 60.0


async def crowd(store: Store, count: int, bullets: int) -> list[str]:
    """Return the ids of `count` new learners with so many bullets each."""
    room = asyncio.Semaphore(_AT_ONCE)

    async def one() -> str:
        async with room:
            return await seeded(store, bullets)

    return await asyncio.gather(*(one() for _ in range(count)))


async def everything_learned(store: Store) -> float:
    """Wait until nothing is pending, and return the seconds it took.

    Raises RuntimeError when nobody works on it, or something failed for good.
    """
    began = moved = time.perf_counter()
    before = -1
    while True:
        counts = await store.count_pending()
        if counts.dead:
            raise RuntimeError(f"{counts.dead} turns could not be learned from")
        if not counts.pending:
            return time.perf_counter() - began
        if counts.pending != before:
            before, moved = counts.pending, time.perf_counter()
        if time.perf_counter() - moved > _STUCK_SECONDS:
            raise RuntimeError(f"nobody learns from {counts.pending} turns")
        await asyncio.sleep(_LOOK_SECONDS)
