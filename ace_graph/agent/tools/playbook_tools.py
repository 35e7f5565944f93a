"""Two read-only tools over the playbooks that are attached to a run: list them, search in them.

Which playbooks are attached is in the run's context, never in the model's arguments, and the tools read what
the turn has loaded: a model can't reach any other playbook. Each call names the playbooks that it has shown,
for the result of the turn.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, cast

from langchain_core.tools import BaseTool, tool
from langgraph.prebuilt import ToolRuntime
from pydantic import BaseModel

from ace_graph.agent.context import ACEContext
from ace_graph.agent.state import Memory
from ace_graph.agent.tools.memory_tools import ROW_CHARS, Rows, matching, newest, rows
from ace_graph.base.prompts import preview
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.foreign import source_of
from ace_graph.memory.playbook import Playbook

PLAYBOOK_TOOLS = frozenset({"playbook_list", "playbook_search"})
_NONE = "No playbook is attached to this conversation."
_UNKNOWN = "There is no attached playbook of that name: call playbook_list without a name."
Runtime = ToolRuntime[ACEContext, Any]  # Any: a caller's own graph may have another state
Told = tuple[str, list[str]]
"""What the model is told, and the names of the playbooks that it was shown bullets of."""


# What a model passes to each tool. Schemas that LangChain makes from functions take 30 ms for every graph.
class _List(BaseModel):
    playbook: str = ""
    limit: Rows = 10


class _Search(BaseModel):
    words: str
    playbook: str = ""
    limit: Rows = 10


def playbook_tools() -> list[BaseTool]:
    """Return the two tools."""

    @tool(args_schema=_List, response_format="content_and_artifact")
    async def playbook_list(runtime: Runtime, playbook: str = "", limit: Rows = 10) -> Told:
        """List the attached playbooks; with the name of one, its advice, the newest first."""
        attached = _attached(runtime)
        if not playbook.strip() or not attached:
            return _names(attached), []
        return _told(newest(Playbook.of(attached)), attached, playbook, limit)

    @tool(args_schema=_Search, response_format="content_and_artifact")
    async def playbook_search(words: str, runtime: Runtime, playbook: str = "", limit: Rows = 10) -> Told:
        """Find advice in the attached playbooks, or in one of them, by words, the best match first."""
        attached = _attached(runtime)
        if not attached:
            return _NONE, []
        return _told(matching(_read_only(runtime) or Playbook(), words), attached, playbook, limit)

    made = [playbook_list, playbook_search]
    for each in made:
        each.metadata = {"idempotent": True}
    return made


def _read_only(runtime: Runtime) -> Playbook | None:
    """Return what the run reads beside the learner's memory."""
    state = cast("object", runtime.state)
    memory = cast("dict[str, object]", state).get("memory") if isinstance(state, dict) else None
    return memory.read_only if isinstance(memory, Memory) else None


def _attached(runtime: Runtime) -> list[Bullet]:
    """Return the bullets of the attached playbooks, without those of the base playbook."""
    read_only = _read_only(runtime)
    return [b for b in read_only.bullets() if source_of(b.id)] if read_only is not None else []


def _names(attached: list[Bullet]) -> str:
    counts = Counter(source_of(bullet.id) for bullet in attached)
    lines = [f"{preview(name or '', ROW_CHARS)} ({count} bullets)" for name, count in sorted(counts.items())]
    return "\n".join(lines) or _NONE


def _told(ranked: list[Bullet], attached: list[Bullet], playbook: str, limit: int) -> Told:
    """Return the first of the bullets that are from the named playbook, or from any attached one."""
    wanted = _source_named(attached, playbook.strip())
    if wanted is None:
        return _UNKNOWN, []
    found = [b for b in ranked if source_of(b.id) in wanted][:limit]
    return rows(found, limit), sorted({source_of(b.id) or "" for b in found})


def _source_named(attached: list[Bullet], name: str) -> frozenset[str] | None:
    """Return the attached playbooks of a name, `owner/name` or the name alone; None where there is none."""
    sources = frozenset(source for b in attached if (source := source_of(b.id)))
    if not name:
        return sources
    asked = name.casefold()
    return frozenset(s for s in sources if asked in (s.casefold(), s.partition("/")[2].casefold())) or None
