"""Runs the periodic jobs of a server or a worker, such as cleaning the memory.

    async with run_jobs([memory_cleaning(store, settings, clock, sleep)], sleep):
        ...                                    # serve, or work

Of all processes on a store one cleans, every six hours; the store decides which.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from random import Random

from ace_graph.background.lease import Sleep
from ace_graph.cleaning.clean_memory import clean_learners
from ace_graph.errors import AceError
from ace_graph.memory.stores.base import Store, can_clean
from ace_graph.settings import Settings

__all__ = ["INTERVAL_SECONDS", "PeriodicJob", "memory_cleaning", "run_jobs"]

logger = logging.getLogger("ace_graph")

INTERVAL_SECONDS = 6 * 3600.0
CHECK_SECONDS = 600.0
FIRST_CHECK_SECONDS = 60.0

PeriodicJob = Callable[[], Awaitable[None]]
"""Does its work if it is due, otherwise nothing."""


def memory_cleaning(
    store: Store, settings: Settings, clock: Callable[[], datetime], sleep: Sleep
) -> PeriodicJob:
    """Return the job of cleaning a store. Where the store can't be cleaned, a warning is logged once."""
    if not can_clean(store):
        logger.warning("[ACE Memory] the store %s can't be cleaned: what is stored grows", store.name)

    async def clean() -> None:
        now = clock()
        if not can_clean(store) or not await store.begin_cleaning(now, INTERVAL_SECONDS):
            return
        result = await clean_learners(store, settings.retention, now, sleep=sleep)
        logger.info(
            "[ACE Memory][Clean] learners=%d steps=%d turns=%d deltas=%d unreflected=%d failed=%d",
            result.learners,
            result.cleaned.steps,
            result.cleaned.turns,
            result.cleaned.deltas,
            result.cleaned.unreflected,
            result.failed,
        )

    return clean


@asynccontextmanager
async def run_jobs(
    jobs: Sequence[PeriodicJob], sleep: Sleep, chance: Callable[[], float] | None = None
) -> AsyncGenerator[None]:
    """Run the jobs now and then until the block ends; a cleaning that is under way stops between two batches.

    Each job has a task of its own, so that a long one delays no other. It waits a random time at first and
    between two checks, so that servers started together do not check at once. `chance` gives numbers from 0
    to 1.
    """
    draw = chance or Random().random  # noqa: S311  the program's own generator may be seeded, or watched by its tests
    tasks = [asyncio.create_task(_repeat(job, sleep, draw), name="ace-periodic-job") for job in jobs]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _repeat(job: PeriodicJob, sleep: Sleep, chance: Callable[[], float]) -> None:
    await sleep(FIRST_CHECK_SECONDS * chance())
    while True:
        try:
            await job()
        except AceError as error:
            logger.warning("[ACE Memory] cleaning failed, it is tried again: %s", error)
        except Exception as error:
            # It must go on whatever happens. Only the class is logged: the text may hold content.
            logger.error("[ACE Memory] cleaning: unexpected %s", type(error).__name__)  # noqa: TRY400
            logger.debug("[ACE Memory] where it came from", exc_info=error)
        await sleep(CHECK_SECONDS * (0.5 + chance()))
