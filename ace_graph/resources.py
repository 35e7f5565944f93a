"""The live objects that nodes use, and the one function that builds them from arguments and settings.

Building reads prompt files, the base playbook and the list of MCP servers; models and connections are made
on first use.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from uuid import uuid4
from weakref import WeakKeyDictionary

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool, tool

from ace_graph.context import ACEContext, LearningMode
from ace_graph.embeddings import Vectors
from ace_graph.errors import ConfigurationError, FormatError, ModelNotConfigured, NewerFormat
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.clock import utc_now
from ace_graph.memory.evidence import Evidence
from ace_graph.memory.formats.importing import as_playbook, read_text
from ace_graph.memory.formats.registry import read_playbook
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.search.token_count import estimate_tokens
from ace_graph.memory.stores.base import Store, keeps_pending
from ace_graph.memory.stores.cache import SnapshotCache
from ace_graph.memory.tables import preload
from ace_graph.models import choose_model, make_model
from ace_graph.models.structured import Schemas
from ace_graph.prompts import Prompts
from ace_graph.settings import Settings
from ace_graph.stores import open_store
from ace_graph.tools.calculator import calculator
from ace_graph.tools.mcp.config import read_servers
from ace_graph.tools.mcp.tools import McpTools
from ace_graph.tools.memory_tools import memory_tools
from ace_graph.tools.web_search import web_search

__all__ = [
    "Evaluator",
    "LateTools",
    "MakeModel",
    "ModelRouter",
    "Resources",
    "build_resources",
    "check_learning",
    "offline_fallback",
    "read_base_playbook",
]


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


def _new_id() -> str:
    return uuid4().hex


@dataclass(frozen=True)
class Resources:
    """What one graph works with. `injected_model` is the caller's; else `make_model` makes one per loop.

    `tools` are the tools of react, but for those of `late_tools`; `own_tool_names` names the caller's own.
    """

    settings: Settings
    store: Store
    make_model: MakeModel
    prompts: Prompts
    injected_model: BaseChatModel | None = None
    tools: Sequence[BaseTool] = ()
    own_tool_names: tuple[str, ...] = ()
    late_tools: LateTools | None = None
    embeddings: Embeddings | None = None
    evaluator: Evaluator | None = None
    mode_router: ModelRouter | None = None
    system_prompt: str | None = None
    base_playbook: Playbook | None = None
    learning: LearningMode = "inline"
    clock: Callable[[], datetime] = utc_now
    new_id: Callable[[], str] = _new_id
    count_tokens: Callable[[str], int] = estimate_tokens
    cache: SnapshotCache = field(default_factory=SnapshotCache)
    vectors: Vectors = field(default_factory=Vectors)
    schemas: Schemas = field(default_factory=Schemas)
    _models: _ModelsByLoop = field(default_factory=_ModelsByLoop)

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


logger = logging.getLogger("ace_graph")

BASE_PREFIX = "base:"


def build_resources(
    *,
    settings: Settings | None = None,
    model: BaseChatModel | None = None,
    store: Store | str | None = None,
    tools: Sequence[BaseTool | Callable[..., object]] = (),
    embeddings: Embeddings | None = None,
    evaluator: Evaluator | None = None,
    mode_router: ModelRouter | None = None,
    system_prompt: str | None = None,
    base_playbook: Playbook | Path | str | None = None,
    prompts_dir: Path | str | None = None,
    learning: LearningMode | None = None,
    count_tokens: Callable[[str], int] | None = None,
    clock: Callable[[], datetime] | None = None,
    new_id: Callable[[], str] | None = None,
    snapshots: SnapshotCache | None = None,
) -> Resources:
    """Return the resources of one graph or worker; what is left out comes from the settings.

    The arguments are those of `build_ace_graph`. Raises ConfigurationError naming what to set.
    """
    preload()  # the first turn must not read files on the event loop
    settings = _checked_settings(settings, model)
    opened = open_store(store, settings=settings) if store is None or isinstance(store, str) else store
    own = [made if isinstance(made, BaseTool) else tool(made) for made in tools]
    every = (calculator, web_search(settings), *memory_tools(opened), *own)
    resources = Resources(
        settings=settings,
        store=opened,
        make_model=lambda name, temperature: make_model(settings, model=name, temperature=temperature),
        prompts=Prompts.load(Path(prompts_dir) if prompts_dir is not None else settings.prompts_dir),
        injected_model=model,
        tools=every,
        own_tool_names=tuple(made.name for made in own),
        late_tools=_late_tools(settings, [made.name for made in every]),
        embeddings=embeddings,
        evaluator=evaluator,
        mode_router=mode_router,
        system_prompt=system_prompt,
        base_playbook=None if base_playbook is None else read_base_playbook(base_playbook),
        learning=learning or settings.learning or "inline",
        count_tokens=count_tokens or estimate_tokens,
        clock=clock or utc_now,
        new_id=new_id or _new_id,
        cache=SnapshotCache() if snapshots is None else snapshots,
    )
    check_learning(resources.learning, resources)
    return resources


def _checked_settings(settings: Settings | None, model: BaseChatModel | None) -> Settings:
    """Return the settings. Raises now what a missing model would raise in the first turn."""
    settings = settings or Settings.load()
    if model is None:
        choose_model(settings)
    return settings


def _late_tools(settings: Settings, taken: Collection[str]) -> LateTools | None:
    """Return what starts the MCP servers of ACE_MCP_CONFIG at first use; they end with the process."""
    if settings.mcp_config is None:
        return None
    return McpTools(read_servers(settings.mcp_config, os.environ), taken).ready


def offline_fallback(settings: Settings) -> Settings:
    """Return settings that name the offline tutor where no model is configured, and say so in the log.

    For the command line and Studio only: a service that lost its key must not become a calculator.
    """
    try:
        choose_model(settings)
    except ModelNotConfigured:
        logger.warning(
            "[ACE Graph] no model is configured: the offline tutor answers; set GEMINI_API_KEY for Gemini"
        )
        return settings.model_copy(update={"model": "offline"})
    return settings


def read_base_playbook(source: Playbook | Path | str) -> Playbook:
    """Return the playbook that every learner is given, its ids made from the bullets' content.

    A file may be in any format that `playbook import` knows. Quarantined bullets are left out; nothing in it
    is core. Raises ConfigurationError for a file that is missing or is not a playbook.
    """
    playbook = source if isinstance(source, Playbook) else _read(Path(source))
    bullets = {b.content_hash: _as_base(b) for b in playbook.bullets() if b.status == "active"}
    return Playbook.of(bullets.values())


def _as_base(bullet: Bullet) -> Bullet:
    section = bullet.section if not bullet.core else "lessons"
    changed = {"id": BASE_PREFIX + bullet.content_hash, "pinned": False, "slot": None, "section": section}
    return bullet.model_copy(update=changed)


def _read(path: Path) -> Playbook:
    """Return the playbook in a file of any format. Refused bullets are logged, the others count."""
    try:
        reading = read_playbook(read_text(path))
    except OSError as error:
        raise ConfigurationError(f"the base playbook {path} can't be read: {error}") from error
    except (FormatError, NewerFormat) as error:
        raise ConfigurationError(f"{path} is not a playbook: {error}") from error
    if reading.refused and not reading.bullets:
        why = reading.refused[0].why
        raise ConfigurationError(f"{path} is not a playbook: none of its bullets can be used ({why})")
    for refusal in reading.refused:
        logger.warning("[ACE Memory] %s: a bullet of the base playbook is left out: %s", path, refusal.why)
    return as_playbook(reading)


def check_learning(learning: LearningMode, resources: Resources) -> None:
    """Raise ConfigurationError for background learning on a store that keeps no pending work."""
    if learning == "background" and not keeps_pending(resources.store):
        raise ConfigurationError(
            f"learning='background' needs a store that keeps pending work, and {resources.store.name} lacks "
            "methods of PendingStore: use SQLite, Neo4j or memory, or set learning to 'inline' or 'off'"
        )
