"""The live objects that nodes use: model, store, prompts, tools, clock; built by `build_resources`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING
from uuid import uuid4
from weakref import WeakKeyDictionary

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool

from ace_graph.context import ACEContext, LearningMode
from ace_graph.daily_tokens import DailyTokens
from ace_graph.embeddings.meaning import Meaning
from ace_graph.errors import ConfigurationError
from ace_graph.memory.clock import utc_now
from ace_graph.memory.evidence import Evidence
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.search.token_count import estimate_tokens
from ace_graph.memory.stores.base import Store, keeps_pending
from ace_graph.memory.stores.cache import SnapshotCache
from ace_graph.models.structured import Schemas
from ace_graph.prompts import Prompts
from ace_graph.settings import Settings

if TYPE_CHECKING:
    from ace_graph.playbooks.directory import Directory

__all__ = ["Evaluator", "LateTools", "MakeModel", "ModelRouter", "Resources", "check_learning", "random_id"]


Evaluator = Callable[[str, str, ACEContext], Awaitable[Evidence | None] | Evidence | None]
"""Judges an answer: (question, answer, context) -> Evidence, or None for no opinion. May be async."""

ModelRouter = Callable[[str], str | Awaitable[str]]
"""Chooses the mode for a question: returns cot, tot or react. May be async."""

MakeModel = Callable[[str | None, float | None], BaseChatModel]
"""Makes the model that the settings describe, with the run's overrides of name and temperature."""

LateTools = Callable[[], Awaitable[Sequence[BaseTool]]]
"""Returns the tools of MCP servers, which are known only once the servers have been started."""

_ModelsByLoop = WeakKeyDictionary[
    asyncio.AbstractEventLoop, dict[tuple[str | None, float | None], BaseChatModel]
]


def random_id() -> str:
    """Return a new id that nobody can guess."""
    return uuid4().hex


@dataclass(frozen=True)
class Resources:
    """What one graph works with. `injected_model` is the caller's; else `make_model` makes one per loop.

    `tools` are the tools of react, but for those of `late_tools`; `own_tool_names` names the caller's own.
    `meaning` finds bullets by vectors, too.
    `attached` caches named playbooks as runs read them. `directory` knows teams instead of the store's table.
    """

    settings: Settings
    store: Store
    make_model: MakeModel
    prompts: Prompts
    injected_model: BaseChatModel | None = None
    tools: Sequence[BaseTool] = ()
    own_tool_names: tuple[str, ...] = ()
    late_tools: LateTools | None = None
    meaning: Meaning | None = None
    evaluator: Evaluator | None = None
    mode_router: ModelRouter | None = None
    system_prompt: str | None = None
    base_playbook: Playbook | None = None
    directory: Directory | None = None
    learning: LearningMode = "inline"
    clock: Callable[[], datetime] = utc_now
    new_id: Callable[[], str] | None = None
    count_tokens: Callable[[str], int] = estimate_tokens
    cache: SnapshotCache = field(default_factory=SnapshotCache)
    attached: SnapshotCache = field(default_factory=SnapshotCache)
    schemas: Schemas = field(default_factory=Schemas)
    _models: _ModelsByLoop = field(default_factory=_ModelsByLoop)

    @cached_property
    def daily_tokens(self) -> DailyTokens:
        """What learners have cost today, as the graph knows it."""
        return DailyTokens(self.store, self.settings.daily_tokens, self.clock)

    def model(self, context: ACEContext) -> BaseChatModel:
        """Return the model for a run; one made from the settings is kept per event loop.

        A pooled HTTP client dies with the loop it was made on, so loops never share one. Raises
        ModelNotConfigured, ModelNotAllowed.
        """
        if self.injected_model is not None and context.model is None:
            return _with_temperature(self.injected_model, context.temperature)
        wanted = (context.model, context.temperature)
        made = self._models.setdefault(asyncio.get_running_loop(), {})
        if wanted not in made:
            made[wanted] = self.make_model(*wanted)
        return made[wanted]

    async def ready_model(self, context: ACEContext) -> BaseChatModel:
        """Return `model(context)`, made in a thread where it is new: importing a client takes a second."""
        if self.injected_model is None or context.model is not None:
            wanted = (context.model, context.temperature)
            made = self._models.setdefault(asyncio.get_running_loop(), {})
            if wanted not in made:
                made[wanted] = await asyncio.to_thread(self.make_model, *wanted)
        return self.model(context)

    async def tools_by_name(self) -> Mapping[str, BaseTool]:
        """Return the tools by name. The user's tools come last and replace built-in ones of the same name."""
        late = await self.late_tools() if self.late_tools is not None else ()
        return {tool.name: tool for tool in (*late, *self.tools)}

    async def callers_tool_names(self) -> Sequence[str]:
        """Return the names of the caller's own tools and of the tools of MCP servers."""
        late = await self.late_tools() if self.late_tools is not None else ()
        return [*self.own_tool_names, *(tool.name for tool in late)]


def _with_temperature(model: BaseChatModel, temperature: float | None) -> BaseChatModel:
    if temperature is None or "temperature" not in type(model).model_fields:
        return model
    return model.model_copy(update={"temperature": temperature})


def check_learning(learning: LearningMode, resources: Resources) -> None:
    """Raise ConfigurationError for background learning on a store that keeps no pending work."""
    if learning == "background" and not keeps_pending(resources.store):
        raise ConfigurationError(
            f"learning='background' needs a store that keeps pending work, and {resources.store.name} lacks "
            "methods of PendingStore: use SQLite, Neo4j, PostgreSQL or memory, "
            "or set learning to 'inline' or 'off'"
        )
