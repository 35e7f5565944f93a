"""The agent that `chat`, `run` and `demo` talk to: model, store and graph, closed together.

Does not: decide which model or store that is; the settings do.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from ace_graph.graph import ACEGraph, build_ace_graph  # pyright: ignore[reportUnknownVariableType]  # LangGraph's checkpointer type is open
from ace_graph.memory.stores.base import Store
from ace_graph.models import ModelChoice, choose_model, close_model, make_model
from ace_graph.settings import Settings

__all__ = ["Agent", "opened_agent"]


@dataclass(frozen=True)
class Agent:
    """A graph and what it stands on."""

    graph: ACEGraph
    store: Store
    choice: ModelChoice


@asynccontextmanager
async def opened_agent(settings: Settings, store: Store, base: Path | None = None) -> AsyncGenerator[Agent]:
    """Yield the agent that the settings describe, on `store`; close its model and the store at the end.

    `base` is the file of a playbook that every learner is given.

    Raises ConfigurationError, ModelNotConfigured.
    """
    async with store:
        model = make_model(settings)
        try:
            graph = build_ace_graph(model=model, store=store, settings=settings, base_playbook=base)
            yield Agent(graph, store, choose_model(settings))
        finally:
            await close_model(model)
