"""The unit of work of learning in the background: one function that any task engine can call.

    from ace_graph import learn_pending

    outcome = await learn_pending("alice", out["learning"]["pending"], model=model, store=store)

It is idempotent: called twice, at once, again after a crash, or after a worker has done it, it takes effect
once. Its arguments are two texts, so a task engine (Celery, huey, Ray, a LangGraph server's run) can carry
them. A turn's `learning["pending"]` is the id; `outcome.retry_after` says when to call it again, if at all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from langchain_core.language_models import BaseChatModel

from ace_graph.background.lease import RetryPolicy, Sleep
from ace_graph.background.process_item import process_item
from ace_graph.background.worker import learning_resources
from ace_graph.errors import StoreError
from ace_graph.memory.pending import PendingItem
from ace_graph.memory.stores.base import PendingStore, Store, checked_learner_id, keeps_pending
from ace_graph.resources import Resources
from ace_graph.runtime import logger
from ace_graph.settings import Settings
from ace_graph.state import Learning

__all__ = ["PendingOutcome", "consolidate_at_once", "drain_until", "learn_pending"]

_OWNER = "learn_pending"


@dataclass(frozen=True)
class PendingOutcome:
    """What became of one pending id.

    done     its lessons are in the memory, by this call (`learning` says what changed) or an earlier one,
             or there was nothing left to do because the learner was forgotten
    retry    not yet: it failed (`error`), or another worker has claimed it or an earlier item of this
             learner; call again in `retry_after` seconds
    dead     it failed too often; `reflect ID` on the command line makes it pending again
    """

    status: Literal["done", "retry", "dead"]
    learning: Learning | None = None
    error: str | None = None
    retry_after: float | None = None


async def learn_pending(
    learner_id: str,
    pending_id: str,
    *,
    model: BaseChatModel | str | None = None,
    store: Store | str | None = None,
    prompts_dir: Path | str | None = None,
    terms: RetryPolicy = RetryPolicy(),  # noqa: B008  a frozen value
    clock: Callable[[], datetime] | None = None,
    sleep: Sleep = asyncio.sleep,
    settings: Settings | None = None,
) -> PendingOutcome:
    """Learn from what a turn left under `pending_id`, the learner's earlier items first.

    The other arguments are those of build_ace_graph; a store that is made here is closed here. Raises
    ConfigurationError, InvalidContext, StoreError; a model that fails is no exception but a `retry`.
    """
    learner = checked_learner_id(learner_id)
    resources, opened = learning_resources(
        model=model, store=store, prompts_dir=prompts_dir, clock=clock, settings=settings
    )
    try:
        return await drain_until(learner, pending_id, resources, opened, terms, sleep)
    finally:
        if opened is not store:
            await opened.close()


async def drain_until(
    learner: str,
    pending_id: str,
    resources: Resources,
    store: PendingStore,
    terms: RetryPolicy,
    sleep: Sleep = asyncio.sleep,
) -> PendingOutcome:
    """Work on the learner's items in order until that of `pending_id` has ended."""
    while True:
        waiting = await _find(store, learner, pending_id)
        if waiting is None:
            return PendingOutcome("done")
        if waiting.state == "dead":
            return PendingOutcome("dead", error=waiting.error)
        item = await store.claim(_OWNER, resources.clock(), terms.lease_seconds, learner)
        if item is None:
            return await _not_yet(store, learner, resources.clock(), terms)
        done = await process_item(item, store, resources, terms, sleep)
        if item.pending_id == pending_id and done.learning is not None:
            return PendingOutcome("done", done.learning)
        if done.status == "failed" and done.retry_at is not None:
            seconds = (done.retry_at - resources.clock()).total_seconds()
            return PendingOutcome("retry", error=done.error, retry_after=max(0.0, seconds))
        if done.status == "lost":
            return await _not_yet(store, learner, resources.clock(), terms)


async def consolidate_at_once(learner: str, run_id: str, resources: Resources) -> None:
    """Work on the consolidation that a commit has stored, now; ACE_CONSOLIDATE_ASYNC says whether.

    What fails stays pending, and is logged.
    """
    store = resources.store
    if not keeps_pending(store):
        return
    try:
        await drain_until(learner, run_id, resources, store, RetryPolicy())
    except StoreError as error:
        logger.warning("[ACE Memory] the consolidation %s stays pending: %s", run_id, error)


async def _find(store: PendingStore, learner: str, pending_id: str) -> PendingItem | None:
    items = await store.list_pending(learner, limit=_ALL)
    return next((item for item in items if item.pending_id == pending_id), None)


_ALL = 1_000_000


async def _not_yet(store: PendingStore, learner: str, now: datetime, terms: RetryPolicy) -> PendingOutcome:
    """Another worker has claimed it, or its next try is not due."""
    times = [item.free_at for item in await store.list_pending(learner, dead=False) if item.free_at > now]
    seconds = (min(times) - now).total_seconds() if times else terms.poll_seconds
    return PendingOutcome("retry", retry_after=max(0.0, seconds))
