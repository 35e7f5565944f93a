"""What routes depend on: the server's services, and the learner of the request."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, cast

from fastapi import Depends
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from starlette.requests import Request

from ace_graph.agent.context import LearningMode
from ace_graph.agent.models import close_model, make_model
from ace_graph.agent.resources import Resources
from ace_graph.base.clock import Clock
from ace_graph.base.settings import Settings
from ace_graph.graph import (
    ACEGraph,
    build_ace_graph,  # pyright: ignore[reportUnknownVariableType]  # LangGraph's checkpointer type is open
)
from ace_graph.learning.cleaning import memory_cleaning, run_jobs
from ace_graph.learning.graph_drawing import graph_drawing
from ace_graph.learning.worker import build_worker, learning_resources
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.stores.cache import SnapshotCache
from ace_graph.memory.stores.store import Store, complete
from ace_graph.server.auth import Identity
from ace_graph.server.conversations.checkpointer import TurnCheckpointer
from ace_graph.server.conversations.cleaning import ConversationLimits, conversation_cleaning
from ace_graph.server.conversations.open import open_conversations
from ace_graph.server.conversations.repository import Conversations
from ace_graph.server.metrics import Metrics
from ace_graph.server.middleware import identity_of, learner_of
from ace_graph.server.turns import RunningTurns, recovery_loop
from ace_graph.server.webhooks import webhooks
from ace_graph.stores import check_store, open_store

logger = logging.getLogger("ace_graph")


def learning_mode(settings: Settings) -> LearningMode:
    """Return ACE_LEARNING, in the background if it is not set."""
    return settings.learning or "background"


@asynccontextmanager
async def background_worker(
    settings: Settings,
    model: BaseChatModel | str,
    store: Store,
    snapshots: SnapshotCache,
    clock: Clock,
) -> AsyncGenerator[Callable[[str], None]]:
    """Run a worker until the block ends; yield the function that wakes it up for a learner.

    Any number of these and of `ace-graph worker` share the work. What it has not finished within
    ACE_SERVER_GRACE stays pending. Where turns learn themselves, only the graph is drawn.
    """
    if not settings.server_worker:
        yield lambda _: None  # another process learns
        return
    if learning_mode(settings) != "background":
        async with graph_drawing(store, settings, clock.sleep, snapshots):
            yield lambda _: None
        return
    worker = build_worker(
        model=model, store=store, settings=settings, snapshots=snapshots, clock=clock.now, sleep=clock.sleep
    )
    task = asyncio.create_task(worker.run(), name="ace-worker")
    task.add_done_callback(_log_error)
    try:
        yield worker.wake
    finally:
        worker.stop()
        _, unfinished = await asyncio.wait({task}, timeout=settings.server_grace)
        for worker_task in unfinished:
            worker_task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _log_error(task: asyncio.Task[None]) -> None:
    error = None if task.cancelled() else task.exception()
    if error is not None:
        logger.error("[ACE Server] the worker ended: %s", type(error).__name__)


@dataclass(frozen=True)
class Overrides:
    """Objects of the embedding program that replace those made from the settings."""

    model: BaseChatModel | str | None = None
    store: Store | None = None
    tools: Sequence[BaseTool | Callable[..., object]] = field(default_factory=tuple)
    system_prompt: str | None = None
    base_playbook: Playbook | Path | None = None


@asynccontextmanager
async def open_services(
    settings: Settings, overrides: Overrides, metrics: Metrics, clock: Clock
) -> AsyncGenerator[Services]:
    """Yield the server's services. Raises ConfigurationError, StoreError."""
    async with AsyncExitStack() as stack:
        store = await _memory(stack, settings, overrides.store)
        model = overrides.model or make_model(settings)
        if overrides.model is None:
            stack.push_async_callback(close_model, model)
        conversations = await stack.enter_async_context(open_conversations(settings, clock))
        database, snapshots = conversations.database, SnapshotCache(settings.held_mb * 1_000_000)
        await stack.enter_async_context(webhooks(settings, store, database, clock, metrics))
        graph = build_ace_graph(
            settings=settings,
            model=model,
            store=store,
            tools=overrides.tools,
            system_prompt=overrides.system_prompt,
            base_playbook=overrides.base_playbook,
            checkpointer=TurnCheckpointer(database.saver, conversations.is_ours, database.translated),
            learning=learning_mode(settings),
            snapshots=snapshots,
            clock=clock.now,
        )
        wake = await stack.enter_async_context(background_worker(settings, model, store, snapshots, clock))
        turns = RunningTurns(graph, store, snapshots, conversations, settings, clock, metrics, wake)
        stack.push_async_callback(turns.drain, settings.server_grace)
        await stack.enter_async_context(recovery_loop(turns, conversations, store, clock))
        jobs = [memory_cleaning(store, settings, clock.now, clock.sleep)]
        if (bounds := ConversationLimits.of(settings)).any:
            jobs.append(conversation_cleaning(database, bounds, clock))
        await stack.enter_async_context(run_jobs(jobs, clock.sleep))
        resources, _ = learning_resources(
            model=model, store=store, settings=settings, snapshots=snapshots, clock=clock.now
        )
        yield Services(
            settings,
            graph,
            store,
            snapshots,
            conversations,
            turns,
            metrics,
            clock,
            resources,
            set(),
            Counter(),
        )


async def _memory(stack: AsyncExitStack, settings: Settings, given: Store | None) -> Store:
    if given is None:
        store = open_store(settings=settings)
        await stack.enter_async_context(store)
        await check_store(store)
        return store
    return complete(given, "the web backend, which learns after the answer,")


@dataclass(frozen=True)
class Services:
    """What is opened when the server starts and closed when it stops."""

    settings: Settings
    graph: ACEGraph
    store: Store
    snapshots: SnapshotCache
    conversations: Conversations
    turns: RunningTurns
    metrics: Metrics
    clock: Clock
    resources: Resources
    exporting: set[str]
    """The learners whose data this server is exporting."""
    watching: Counter[str]
    """How many streams of changes each learner has open on this server."""


async def _services(request: Request) -> Services:  # FastAPI runs what is not async in a thread
    return cast("Services", request.app.state.services)


ServicesDep = Annotated[Services, Depends(_services)]
"""The services, as an argument of a route."""
Learner = Annotated[str, Depends(learner_of)]
"""The learner that the request is about, as an argument of a route."""
Sender = Annotated[Identity, Depends(identity_of)]
"""The learner that the request is about, and who sends it, as an argument of a route."""
