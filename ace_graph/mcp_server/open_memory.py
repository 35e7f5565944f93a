"""Opens what the MCP server works with, from the settings, and closes it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

from ace_graph.background.worker import learning_resources
from ace_graph.build_resources import find_meaning
from ace_graph.errors import ModelNotConfigured
from ace_graph.mcp_server.access import MemoryAccess, WhoCalls
from ace_graph.memory.stores.base import PendingStore
from ace_graph.models import choose_model, close_model, make_model
from ace_graph.reasoning.find_bullets import BulletFinder
from ace_graph.resources import Resources
from ace_graph.settings import Settings
from ace_graph.stores import check_store, open_store

__all__ = ["open_memory"]


@asynccontextmanager
async def open_memory(settings: Settings, who: WhoCalls, url: str | None) -> AsyncGenerator[MemoryAccess]:
    """Yield the memory at `url`, or that of the settings. Raises ConfigurationError, StoreError."""
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(open_store(url, settings=settings))
        await check_store(store)
        yield MemoryAccess(
            store=store,
            who_calls=who,
            finder=BulletFinder(store, find_meaning(settings, None)),
            learning=_learning(settings, store, stack),
            sensitive_facts=settings.sensitive_facts,
        )


def _learning(settings: Settings, store: PendingStore, stack: AsyncExitStack) -> Resources | None:
    """Return what learns at once; None without a model, and where a worker is to learn."""
    if settings.learning == "background":
        return None
    try:
        choose_model(settings)
    except ModelNotConfigured:
        return None
    model = make_model(settings)
    stack.push_async_callback(close_model, model)
    resources, _ = learning_resources(model=model, store=store, settings=settings)
    return resources
