"""The worker inside the server, which learns from turns after their answers.

`ace-graph worker` does the same in a process of its own; any number of both share the work.
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

logger = logging.getLogger("ace_graph")


def learning_mode(settings: Settings) -> LearningMode:
    """Return ACE_LEARNING, in the background if it is not set."""
    return settings.learning or "background"


@asynccontextmanager
async def background_worker(
    settings: Settings,
    model: BaseChatModel | str,
    store: PendingStore,
    snapshots: SnapshotCache,
    clock: Clock,
) -> AsyncGenerator[Callable[[str], None]]:
    """Run a worker until the block ends; yield the function that wakes it up for a learner.

    What it has not finished within ACE_SERVER_GRACE stays pending.
    """
    if not settings.server_worker or learning_mode(settings) != "background":
        yield _no_worker
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
    task.add_done_callback(_log_error)
    try:
        yield worker.wake
    finally:
        worker.stop()
        _, unfinished = await asyncio.wait({task}, timeout=settings.server_grace)
        for each in unfinished:
            each.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _no_worker(_learner_id: str) -> None:
    """Do nothing: another process learns, or the turn has learned itself."""


def _log_error(task: asyncio.Task[None]) -> None:
    error = None if task.cancelled() else task.exception()
    if error is not None:
        logger.error("[ACE Server] the worker ended: %s", type(error).__name__)
