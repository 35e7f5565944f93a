"""From arguments and settings to the resources of one graph.

Does not: do I/O but reading prompt files, the base playbook and the list of MCP servers; models and
connections are made on use.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool, tool

from ace_graph.context import LearningMode
from ace_graph.errors import ConfigurationError, FormatError, ModelNotConfigured, NewerFormat
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.formats.files import read_text
from ace_graph.memory.formats.importing import as_playbook
from ace_graph.memory.formats.registry import read_playbook
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.snapshot_cache import SnapshotCache
from ace_graph.memory.stores.base import Store
from ace_graph.models import choose_model, make_model
from ace_graph.prompts import Prompts
from ace_graph.resources import Evaluator, LateTools, ModelRouter, Resources
from ace_graph.run import check_learning
from ace_graph.settings import Settings
from ace_graph.store_url import open_store
from ace_graph.tools.calculator import calculator
from ace_graph.tools.graph_qa import memory_tools
from ace_graph.tools.mcp import McpTools
from ace_graph.tools.mcp_config import read_servers
from ace_graph.tools.web_search import web_search

__all__ = ["assemble", "offline_fallback", "read_base_playbook"]

logger = logging.getLogger("ace_graph")

BASE_PREFIX = "base:"


def assemble(
    *,
    settings: Settings | None,
    model: BaseChatModel | None,
    store: Store | str | None,
    tools: Sequence[BaseTool | Callable[..., object]],
    embeddings: Embeddings | None,
    evaluator: Evaluator | None,
    mode_router: ModelRouter | None,
    system_prompt: str | None,
    base_playbook: Playbook | Path | str | None,
    prompts_dir: Path | str | None,
    learning: LearningMode | None,
    count_tokens: Callable[[str], int] | None,
    clock: Callable[[], datetime] | None,
    new_id: Callable[[], str] | None,
    snapshots: SnapshotCache | None,
) -> Resources:
    """Return the resources of one graph. Raises ConfigurationError naming what to set."""
    settings = settings or Settings.load()
    if model is None:
        choose_model(settings)  # raises now what would otherwise be raised in the first turn
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
    )
    check_learning(resources.learning, resources)
    return replace(
        resources,
        clock=clock or resources.clock,
        new_id=new_id or resources.new_id,
        count_tokens=count_tokens or resources.count_tokens,
        cache=resources.cache if snapshots is None else snapshots,
    )


def _late_tools(settings: Settings, taken: Collection[str]) -> LateTools | None:
    """Return what opens the MCP servers of ACE_MCP_CONFIG at first use; they are closed with the process."""
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
    is core. Raises ConfigurationError for a file that is not there or no playbook.
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
        raise ConfigurationError(f"{path} is no playbook: {error}") from error
    if reading.refused and not reading.bullets:
        why = reading.refused[0].why
        raise ConfigurationError(f"{path} is no playbook: none of its bullets can be used ({why})")
    for refusal in reading.refused:
        logger.warning("[ACE Memory] %s: a bullet of the base playbook is left out: %s", path, refusal.why)
    return as_playbook(reading)
