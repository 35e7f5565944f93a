"""What a server and a worker do about growth without being asked: they clean, now and then.

    async with housekeeping([cleaning_of(store, settings, clock, sleep)], sleep):
        ...                                    # serve, or work

Of all processes on a store one cleans, every six hours; the store says whose turn it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from random import Random

from ace_graph.background.lease import Sleep
from ace_graph.errors import AceError
from ace_graph.memory.stores.base import Store, can_clean
from ace_graph.runtime import logger
from ace_graph.settings import Settings
from ace_graph.trajectories.retention import clean_learners

__all__ = ["EVERY_SECONDS", "Chore", "cleaning_of", "housekeeping"]

EVERY_SECONDS = 6 * 3600.0
LOOK_SECONDS = 600.0
FIRST_SECONDS = 60.0

Chore = Callable[[], Awaitable[None]]
"""Does its work if it is due, else nothing."""


@dataclass(frozen=True)
class _Cleaning:
    store: Store
    settings: Settings
    clock: Callable[[], datetime]
    sleep: Sleep

    async def __call__(self) -> None:
        now, store = self.clock(), self.store
        if not can_clean(store) or not await store.begin_cleaning(now, EVERY_SECONDS):
            return
        swept = await clean_learners(store, self.settings.retention, now, sleep=self.sleep)
        cleaned = swept.cleaned
        logger.info(
            "[ACE Memory][Clean] learners=%d steps=%d turns=%d deltas=%d unreflected=%d failed=%d",
            swept.learners,
            cleaned.steps,
            cleaned.turns,
            cleaned.deltas,
            cleaned.unreflected,
            swept.failed,
        )


def cleaning_of(store: Store, settings: Settings, clock: Callable[[], datetime], sleep: Sleep) -> Chore:
    """Return the chore of cleaning a store; one that can't be cleaned is told once in the log."""
    if not can_clean(store):
        logger.warning("[ACE Memory] the store %s can't be cleaned: what is stored grows", store.name)
    return _Cleaning(store, settings, clock, sleep)


@asynccontextmanager
async def housekeeping(
    chores: Sequence[Chore], sleep: Sleep, chance: Callable[[], float] | None = None
) -> AsyncGenerator[None]:
    """Look after the chores until the block ends; what is under way then is broken off between two batches.

    Each has a task of its own, so that a long one holds up no other. It waits a random while first, and
    between two looks, so that servers started together do not look at once. `chance` gives numbers in [0, 1).
    """
    draw = chance or Random().random  # noqa: S311  the program's own generator may be seeded, or watched by its tests
    tasks = [asyncio.create_task(_look_after(chore, sleep, draw), name="ace-chore") for chore in chores]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _look_after(chore: Chore, sleep: Sleep, chance: Callable[[], float]) -> None:
    await sleep(FIRST_SECONDS * chance())
    while True:
        try:
            await chore()
        except AceError as error:
            logger.warning("[ACE Memory] cleaning failed, it is tried again: %s", error)
        except Exception as error:
            # It must go on whatever happens; the class is told, as the text may hold content.
            logger.error("[ACE Memory] cleaning: unexpected %s", type(error).__name__)
            logger.debug("[ACE Memory] where it came from", exc_info=error)
        await sleep(LOOK_SECONDS * (0.5 + chance()))
