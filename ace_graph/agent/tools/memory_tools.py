"""Read-only tools: four over the learner's own memory, two over the playbooks attached to a run.

The learner comes from the run's context, never from the model's arguments, and there is no query language, so
that nothing a model writes can reach another learner's data. The tools use the snapshot that the turn has
loaded. Bullets in quarantine are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, cast

from langchain_core.tools import BaseTool, tool
from langgraph.prebuilt import ToolRuntime
from pydantic import BaseModel, Field

from ace_graph.agent.context import ACEContext
from ace_graph.agent.state import Memory
from ace_graph.base.errors import StoreError
from ace_graph.base.prompts import preview
from ace_graph.memory.bullet import PROFILE_SLOTS, Bullet, MemoryType
from ace_graph.memory.foreign import source_of
from ace_graph.memory.playbook import Playbook, lineage_of
from ace_graph.memory.search.index import idf
from ace_graph.memory.search.tokenize import terms
from ace_graph.memory.views import BulletFilter, BulletKind

if TYPE_CHECKING:
    from ace_graph.memory.stores.store import Store

MAX_ROWS = 20
ROW_CHARS = 160
MAX_WORDS_CHARS = 500
NOTHING = "Nothing of that kind is remembered."
_WORD = re.compile(r"[^\W_]+")
Rows = Annotated[int, Field(ge=1, le=MAX_ROWS, description="how many rows at most")]


def newest(playbook: Playbook, tag: str = "", kind: BulletKind | None = None) -> list[Bullet]:
    """Return the active bullets with that tag and of that kind, the newest first."""
    kinds: frozenset[BulletKind] = frozenset(() if kind is None else (kind,))
    wanted = BulletFilter(tags=(tag,) if tag.strip() else (), kinds=kinds)
    active = [b for b in playbook.bullets() if wanted.passes(b)]
    return sorted(active, key=lambda b: (b.updated_at, b.id), reverse=True)


def matching(playbook: Playbook, words: str) -> list[Bullet]:
    """Return the bullets that share a word with the question, ranked as in retrieval, without its gate.

    Before them stand the values of the profile that the question names ("home"), in whatever language.
    """
    index = playbook.index
    said = frozenset(_WORD.findall(words[:MAX_WORDS_CHARS].casefold()))
    named = [b for b in playbook.bullets() if b.slot in PROFILE_SLOTS and said.issuperset(b.slot.split("_"))]
    wanted = {term for term in terms(words[:MAX_WORDS_CHARS]) if index.frequency(term)}
    if not wanted:
        return [b for b in named if b.status == "active"]
    weights = {term: idf(index.frequency(term), len(index)) for term in wanted}
    scores = index.scores(index.covering(weights, min(weights.values())), weights)
    ranked = sorted(scores, key=lambda key: (-scores[key], key))
    keyed = (*named, *filter(None, map(playbook.get_bullet, ranked)))
    return [b for b in dict.fromkeys(keyed) if b.status == "active"]


def rows(bullets: Iterable[Bullet], limit: int, types: Collection[MemoryType] = ()) -> str:
    """Return the first rows of these memory types, or of all types if none is named."""
    wanted = [bullet for bullet in bullets if not types or bullet.memory_type in types]
    lines = [
        f"[{b.id}] {preview(b.advice, ROW_CHARS)} (+{b.helpful}/-{b.harmful}, {b.section})"
        for b in wanted[:limit]
    ]
    return "\n".join(lines) or NOTHING


_NOBODY = "There is no learner in this conversation, so nothing is remembered."
_UNREADABLE = "What is remembered can't be read right now."
Runtime = ToolRuntime[ACEContext, Any]  # Any: a caller's own graph may have another state
Types = Annotated[
    tuple[MemoryType, ...], Field(description="only of these types: facts, experiences or instructions")
]
OfKind = Annotated[BulletKind | None, Field(description="only of this kind")]


# What a model passes to each tool. Schemas that LangChain makes from functions take 30 ms for every graph.
class _List(BaseModel):
    limit: Rows = 10
    tag: str = ""
    memory_types: Types = ()
    kind: OfKind = None


class _Search(BaseModel):
    words: str
    limit: Rows = 10
    memory_types: Types = ()


class _ByTopic(BaseModel):
    topic: str
    limit: Rows = 10
    memory_types: Types = ()


class _Lineage(BaseModel):
    bullet_id: str


def memory_tools(store: Store) -> list[BaseTool]:
    """Return the four tools. `store` is read only if a run has no snapshot."""

    @tool(args_schema=_List)
    async def memory_list(
        runtime: Runtime, limit: Rows = 10, tag: str = "", memory_types: Types = (), kind: OfKind = None
    ) -> str:
        """List what is remembered about this learner, the newest first; with a tag only what has that tag."""
        return await answer(runtime, lambda playbook: rows(newest(playbook, tag, kind), limit, memory_types))

    @tool(args_schema=_Search)
    async def memory_search(words: str, runtime: Runtime, limit: Rows = 10, memory_types: Types = ()) -> str:
        """Find what is remembered about this learner by words, the best match first."""
        return await answer(runtime, lambda playbook: rows(matching(playbook, words), limit, memory_types))

    @tool(args_schema=_ByTopic)
    async def memory_by_topic(
        topic: str, runtime: Runtime, limit: Rows = 10, memory_types: Types = ()
    ) -> str:
        """List what is remembered about this learner on one topic."""
        wanted = topic.strip().casefold()

        def on_topic(playbook: Playbook) -> str:
            found = (b for b in newest(playbook) if (b.topic or "").casefold() == wanted)
            return rows(found, limit, memory_types)

        return await answer(runtime, on_topic)

    @tool(args_schema=_Lineage)
    async def memory_lineage(bullet_id: str, runtime: Runtime) -> str:
        """Tell where one remembered item comes from: turns, votes, and what it replaced or absorbed."""
        return await answer(runtime, lambda playbook: _lineage(playbook, bullet_id.strip().strip("[]")))

    async def answer(runtime: Runtime, read_rows: Callable[[Playbook], str]) -> str:
        try:
            playbook = await _playbook(runtime, store)
        except StoreError:
            return _UNREADABLE  # the reason may name hosts and files
        return _NOBODY if playbook is None else read_rows(playbook)

    reads = [memory_list, memory_search, memory_by_topic, memory_lineage]
    for read in reads:
        read.metadata = {"idempotent": True}
    return reads


def _memory(runtime: Runtime) -> Memory | None:
    state = cast("object", runtime.state)
    memory = cast("dict[str, object]", state).get("memory") if isinstance(state, dict) else None
    return memory if isinstance(memory, Memory) else None


async def _playbook(runtime: Runtime, store: Store) -> Playbook | None:
    """Return the playbook of the run's learner, None where there is no learner. Raises StoreError."""
    memory = _memory(runtime)
    if memory is not None and memory.snapshot is not None:
        return memory.snapshot.playbook
    # The learner of the context, which in a caller's own graph may be a dict or None
    context = cast("object", runtime.context)
    if isinstance(context, Mapping):
        found = cast("Mapping[str, object]", context).get("learner_id")
    else:
        found = cast("object", getattr(context, "learner_id", None))
    learner_id = found if isinstance(found, str) else None
    return None if learner_id is None else (await store.load(learner_id)).playbook


def _lineage(playbook: Playbook, bullet_id: str) -> str:
    found = lineage_of(playbook, bullet_id)
    if found is None:
        successor = playbook.tombstones.get(bullet_id)
        return f"[{bullet_id}] was replaced by [{successor}]." if successor else NOTHING
    bullet = found.bullet
    parts = [
        f"[{bullet.id}] {preview(bullet.advice, ROW_CHARS)}",
        f"first kept {bullet.created_at:%Y-%m-%d}, last changed {bullet.updated_at:%Y-%m-%d}",
        f"seen {bullet.seen} times",
        f"votes: {bullet.helpful} helpful, {bullet.harmful} harmful, {bullet.neutral} neutral",
        f"turns: {', '.join(bullet.examples[-10:]) or 'none'}, of {bullet.evidence_count} that support it",
        f"sources: {', '.join(bullet.sources[:10]) or 'none'}",
        f"replaced: {', '.join(found.replaced[:10]) or 'none'}",
        f"absorbed: {', '.join(found.absorbed[:10]) or 'none'}",
    ]
    return "\n".join(parts)


PLAYBOOK_TOOLS = frozenset({"playbook_list", "playbook_search"})
_NONE = "No playbook is attached to this conversation."
_UNKNOWN = "There is no attached playbook of that name: call playbook_list without a name."
Told = tuple[str, list[str]]
"""What the model is told, and the names of the playbooks that it was shown bullets of."""


class _ListPlaybooks(BaseModel):
    playbook: str = ""
    limit: Rows = 10


class _SearchPlaybooks(BaseModel):
    words: str
    playbook: str = ""
    limit: Rows = 10


def playbook_tools() -> list[BaseTool]:
    """Return two tools that list the playbooks attached to a run, and search in them.

    They read what the turn has loaded, so a model can't reach any other playbook. Each call names the
    playbooks that it has shown, for the result of the turn.
    """

    @tool(args_schema=_ListPlaybooks, response_format="content_and_artifact")
    async def playbook_list(runtime: Runtime, playbook: str = "", limit: Rows = 10) -> Told:
        """List the attached playbooks; with the name of one, its advice, the newest first."""
        attached = _attached(runtime)
        if playbook.strip() and attached:
            return _told(newest(Playbook.of(attached)), attached, playbook, limit)
        counts = sorted(Counter(source_of(bullet.id) or "" for bullet in attached).items())
        return "\n".join(f"{preview(name, ROW_CHARS)} ({n} bullets)" for name, n in counts) or _NONE, []

    @tool(args_schema=_SearchPlaybooks, response_format="content_and_artifact")
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
    memory = _memory(runtime)
    return memory.read_only if memory is not None else None


def _attached(runtime: Runtime) -> list[Bullet]:
    read_only = _read_only(runtime)
    return [b for b in read_only.bullets() if source_of(b.id)] if read_only is not None else []


def _told(ranked: list[Bullet], attached: list[Bullet], playbook: str, limit: int) -> Told:
    """Return the first of the bullets that are from the named playbook, or from any attached one."""
    asked = playbook.strip().casefold()  # `owner/name` or the name alone
    sources = {source for b in attached if (source := source_of(b.id))}
    wanted = {s for s in sources if asked in ("", s.casefold(), s.partition("/")[2].casefold())}
    if asked and not wanted:
        return _UNKNOWN, []
    found = [b for b in ranked if source_of(b.id) in wanted][:limit]
    return rows(found, limit), sorted({source_of(b.id) or "" for b in found})
