"""The live objects that nodes use: model, store, prompts, tools, clock; built by `build_resources`."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack
from uuid import uuid4
from weakref import WeakKeyDictionary

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool, tool

from ace_graph.agent.context import ACEContext, LearningMode
from ace_graph.agent.daily_tokens import DailyTokens
from ace_graph.agent.embeddings.meaning import Meaning, stored_rows
from ace_graph.agent.embeddings.static_vectors import INSTALL, find_static_vectors
from ace_graph.agent.models import choose_model, make_model
from ace_graph.agent.models.reply import Schemas
from ace_graph.agent.tools.calculator import calculator
from ace_graph.agent.tools.memory_tools import memory_tools, playbook_tools
from ace_graph.agent.tools.web_search import web_search
from ace_graph.base.clock import utc_now
from ace_graph.base.errors import ConfigurationError, FormatError, NewerFormat
from ace_graph.base.prompts import Prompts
from ace_graph.base.settings import Settings
from ace_graph.base.tables import PACKAGES, preload
from ace_graph.memory.evidence import Evidence
from ace_graph.memory.foreign import read_only_bullets
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.search.tokenize import estimate_tokens
from ace_graph.memory.stores.cache import SnapshotCache
from ace_graph.stores import open_store

if TYPE_CHECKING:
    from ace_graph.memory.stores.store import Store
    from ace_graph.playbooks.directory import Directory

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

    @property
    def embeddings(self) -> Embeddings | None:
        """What makes vectors of texts, the caller's or those that the settings find."""
        return None if self.meaning is None else self.meaning.embeddings

    @cached_property
    def daily_tokens(self) -> DailyTokens:
        """What learners have cost today, as the graph knows it."""
        return DailyTokens(self.store, self.settings.daily_tokens, self.clock)

    def model(self, context: ACEContext) -> BaseChatModel:
        """Return the model for a run; one made from the settings is kept per event loop.

        A pooled HTTP client dies with the loop it was made on, so loops never share one. Raises
        ModelNotConfigured, ModelNotAllowed.
        """
        if (injected := self.injected_model) is not None and context.model is None:
            if context.temperature is None or "temperature" not in type(injected).model_fields:
                return injected
            return injected.model_copy(update={"temperature": context.temperature})
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


def check_learning(learning: LearningMode, resources: Resources) -> None:
    """Raise ConfigurationError for background learning on a store that lacks a method, such as `claim`."""
    if learning == "background":
        from ace_graph.memory.stores.store import complete  # with all that a commit needs

        complete(resources.store, "learning='background' (else set it to 'inline' or 'off')")


logger = logging.getLogger("ace_graph")


class ResourceOptions(TypedDict, total=False):
    """What resources are built of, each as in `build_ace_graph`; what is left out comes from the settings.

    `model` is a chat model or its name. With `needs_model` (the default) a missing one raises at once.
    """

    settings: Settings | None
    model: BaseChatModel | str | None
    store: Store | str | None
    tools: Sequence[BaseTool | Callable[..., object]]
    embeddings: Embeddings | None
    evaluator: Evaluator | None
    mode_router: ModelRouter | None
    system_prompt: str | None
    base_playbook: Playbook | Path | str | None
    directory: Directory | None
    prompts_dir: Path | str | None
    learning: LearningMode | None
    count_tokens: Callable[[str], int] | None
    clock: Callable[[], datetime] | None
    new_id: Callable[[], str] | None
    snapshots: SnapshotCache | None
    needs_model: bool


def build_resources(**given: Unpack[ResourceOptions]) -> Resources:
    """Return the resources of one graph or worker. Raises ConfigurationError."""
    settings = given.get("settings") or Settings.load()
    model, needs_model = given.get("model"), given.get("needs_model", True)
    untyped: object = model  # a caller without types may pass anything
    if isinstance(model, str):
        settings, model, needs_model = settings.model_copy(update={"model": model}), None, True
    elif untyped is not None and not isinstance(untyped, BaseChatModel):
        raise ConfigurationError(
            f"model is a {type(untyped).__name__}: pass a LangChain chat model, or its name as in ACE_MODEL "
            '("openai:gpt-5", "offline")'
        )
    preload(PACKAGES)  # the first turn must not read files on the event loop
    if needs_model and model is None:
        choose_model(settings)  # raises now what a missing model would in the first turn
    store = given.get("store")
    opened = open_store(store, settings=settings) if store is None or isinstance(store, str) else store
    own = [made if isinstance(made, BaseTool) else tool(made) for made in given.get("tools", ())]
    base, prompts = given.get("base_playbook"), given.get("prompts_dir")
    every = (calculator, web_search(settings), *memory_tools(opened), *playbook_tools(), *own)
    late_tools: LateTools | None = None
    if settings.mcp_config is not None:  # the servers start at first use, and end with the process
        from ace_graph.agent.tools.mcp import McpTools, read_servers

        servers = read_servers(settings.mcp_config, os.environ)
        late_tools = McpTools(servers, [made.name for made in every]).ready
    resources = Resources(
        settings=settings,
        store=opened,
        make_model=lambda name, temperature: make_model(settings, model=name, temperature=temperature),
        prompts=Prompts.load(Path(prompts) if prompts is not None else settings.prompts_dir),
        injected_model=model,
        tools=every,
        own_tool_names=tuple(made.name for made in own),
        late_tools=late_tools,
        meaning=find_meaning(settings, given.get("embeddings"), opened),
        evaluator=given.get("evaluator"),
        mode_router=given.get("mode_router"),
        system_prompt=given.get("system_prompt"),
        base_playbook=None if base is None else read_base_playbook(base),
        directory=given.get("directory"),
        learning=given.get("learning") or settings.learning or "inline",
        count_tokens=given.get("count_tokens") or estimate_tokens,
        clock=given.get("clock") or utc_now,
        new_id=given.get("new_id"),
        cache=given.get("snapshots") or SnapshotCache(settings.held_mb * 1_000_000),
    )
    # The resources. Raises ConfigurationError where the store can't do what they are to do
    check_learning(resources.learning, resources)
    return resources


def find_meaning(
    settings: Settings, embeddings: Embeddings | None, store: Store | None = None
) -> Meaning | None:
    """Return what finds by the caller's embeddings, or else by the static vectors that are installed.

    Vectors of the caller's embeddings are kept in the `store`.

    Raises ConfigurationError where the settings ask for static vectors and there are none. Files that are
    missing or damaged cost the meaning, not the graph; the log says so.
    """
    if embeddings is not None:
        return Meaning(embeddings, stored=None if store is None else stored_rows(embeddings, store))
    found = find_embeddings(settings)
    return None if found is None else Meaning(found)


def find_embeddings(settings: Settings) -> Embeddings | None:
    """Return the static vectors that are installed; None where there are none, or the settings say so.

    Raises ConfigurationError where the settings ask for static vectors and there are none.
    """
    if settings.embeddings == "off":
        return None
    try:
        found = find_static_vectors()
    except ConfigurationError as error:
        logger.warning("[ACE Memory] %s; bullets are found by words alone", error)
        return None
    if found is None and settings.embeddings == "static":
        raise ConfigurationError(f"ACE_EMBEDDINGS=static needs the word vectors: {INSTALL}")
    return found


def read_base_playbook(source: Playbook | Path | str) -> Playbook:
    """Return the playbook that every learner is given, its ids made from the bullets' content.

    A file may be in any format that `playbook import` knows. Quarantined bullets are left out; nothing in it
    is core. Raises ConfigurationError for a file that is missing or is not a playbook.
    """
    playbook = source if isinstance(source, Playbook) else _read(Path(source))
    return Playbook.of(read_only_bullets(playbook))


def _read(path: Path) -> Playbook:
    """Return the playbook in a file of any format. Refused bullets are logged, the others count."""
    from ace_graph.memory.formats.registry import as_playbook, read_playbook, read_text

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
