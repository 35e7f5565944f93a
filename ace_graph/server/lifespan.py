"""Opens what the server works with, in order, and closes it in the opposite order.

Does not: serve requests.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool

from ace_graph.errors import ConfigurationError
from ace_graph.graph import build_ace_graph  # pyright: ignore[reportUnknownVariableType]  # LangGraph's checkpointer type is open
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.stores.base import PendingStore, Store, keeps_pending
from ace_graph.memory.stores.cache import SnapshotCache
from ace_graph.models import close_model, make_model
from ace_graph.server.background import learner_at_work, learning_of
from ace_graph.server.clock import Clock
from ace_graph.server.conversations.checkpointer import TurnSaver
from ace_graph.server.conversations.open import kept_conversations
from ace_graph.server.dependencies import Parts
from ace_graph.server.maintenance import chores_of
from ace_graph.server.metrics import Metrics
from ace_graph.server.routes.learner_export import Exports
from ace_graph.server.turns.manager import TurnLimits, Turns
from ace_graph.server.turns.prefetch import read_ahead
from ace_graph.server.turns.recovery import caretaker, taken_back
from ace_graph.settings import Settings
from ace_graph.stores import first_look, open_store
from ace_graph.trajectories.housekeeping import housekeeping

__all__ = ["Brought", "opened"]


@dataclass(frozen=True)
class Brought:
    """What the embedding program brings itself; the settings say the rest."""

    model: BaseChatModel | None = None
    store: Store | None = None
    tools: Sequence[BaseTool | Callable[..., object]] = field(default_factory=tuple)
    system_prompt: str | None = None
    base_playbook: Playbook | Path | None = None


@asynccontextmanager
async def opened(
    settings: Settings, brought: Brought, metrics: Metrics, clock: Clock
) -> AsyncGenerator[Parts]:
    """Yield the server's parts. Raises ConfigurationError, StoreError."""
    async with AsyncExitStack() as stack:
        store = await _memory(stack, settings, brought.store)
        model = brought.model or make_model(settings)
        if brought.model is None:
            stack.push_async_callback(close_model, model)
        conversations = await stack.enter_async_context(kept_conversations(settings, clock))
        database, snapshots = conversations.database, SnapshotCache()
        graph = build_ace_graph(
            settings=settings,
            model=model,
            store=store,
            tools=brought.tools,
            system_prompt=brought.system_prompt,
            base_playbook=brought.base_playbook,
            checkpointer=TurnSaver(database.saver, conversations.is_ours, database.translated),
            learning=learning_of(settings),
            snapshots=snapshots,
            clock=clock.now,
        )
        wake = await stack.enter_async_context(learner_at_work(settings, model, store, snapshots, clock))
        limits = TurnLimits(settings.server_turns, settings.server_timeout, settings.conversation_messages)
        turns = Turns(
            graph,
            conversations,
            limits,
            clock,
            metrics,
            wake,
            read_ahead(store, snapshots),
            partial(taken_back, store, conversations),
        )
        stack.push_async_callback(turns.drain, settings.server_grace)
        await stack.enter_async_context(caretaker(turns, conversations, store, clock))
        chores = chores_of(settings, store, conversations.database, clock)
        await stack.enter_async_context(housekeeping(chores, clock.sleep))
        yield Parts(settings, graph, store, snapshots, conversations, turns, metrics, clock, Exports())


async def _memory(stack: AsyncExitStack, settings: Settings, brought: Store | None) -> PendingStore:
    if brought is None:
        store = open_store(settings=settings)
        await stack.enter_async_context(store)
        await first_look(store)
        return store
    if not keeps_pending(brought):
        raise ConfigurationError(
            f"the web backend learns after the answer, and {type(brought).__name__} keeps nothing for later: "
            "give it the methods of PendingStore (docs/background.md)"
        )
    return brought
