"""Bullets as a tool shows them to a model: one short line each, a bounded number of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Annotated

from pydantic import Field

from ace_graph.memory.bullet import PROFILE_SLOTS, Bullet, MemoryType
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.search.index import idf
from ace_graph.memory.search.tokenize import terms
from ace_graph.memory.views.bullet_filter import BulletFilter
from ace_graph.memory.views.kinds import BulletKind
from ace_graph.prompts import preview

__all__ = ["NOTHING", "ROW_CHARS", "Rows", "matching", "newest", "rows"]

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
