"""The worker inside the server: it learns from the turns that were answered, after their answers.

Does not: have to be there. `ace-graph worker` does the same as a process of its own, and any number of both
share the work.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from langchain_core.language_models import BaseChatModel

from ace_graph.background.worker import build_worker
from ace_graph.context import LearningMode
from ace_graph.memory.stores.base import PendingStore
from ace_graph.memory.stores.cache import SnapshotCache
from ace_graph.server.clock import Clock
from ace_graph.settings import Settings

__all__ = ["background_worker", "learning_mode"]

logger = logging.getLogger("ace_graph")


def learning_mode(settings: Settings) -> LearningMode:
    """Return how turns learn: as ACE_LEARNING says, else in the background."""
    return settings.learning or "background"


@asynccontextmanager
async def background_worker(
    settings: Settings, model: BaseChatModel, store: PendingStore, snapshots: SnapshotCache, clock: Clock
) -> AsyncGenerator[Callable[[], None]]:
    """Run a worker until the block ends; yield what tells it that there is work.

    What it has not finished within the server's grace stays pending.
    """
    if not settings.server_worker or learning_mode(settings) != "background":
        yield _nobody
        return
    worker = build_worker(
        model=model,
        store=store,
        settings=settings,
        snapshots=snapshots,
        clock=clock.now,
        sleep=clock.sleep,
    )
    task = asyncio.create_task(worker.run(), name="ace-worker")
    task.add_done_callback(_tell_its_end)
    try:
        yield worker.wake
    finally:
        worker.stop()
        _, unfinished = await asyncio.wait({task}, timeout=settings.server_grace)
        for each in unfinished:
            each.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _nobody() -> None:
    """Do nothing: another process learns, or the turn did."""


def _tell_its_end(task: asyncio.Task[None]) -> None:
    error = None if task.cancelled() else task.exception()
    if error is not None:
        logger.error("[ACE Server] the worker ended: %s", type(error).__name__)
