"""The filter of lists and searches for people: by status, tag, memory type, and words of the text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ace_graph.memory.bullet import Bullet, MemoryType
from ace_graph.memory.search.normal_form import normal_form
from ace_graph.memory.views.kinds import BulletKind, kind_of

__all__ = ["BulletFilter", "BulletStatus"]

BulletStatus = Literal["active", "quarantined"]


@dataclass(frozen=True)
class BulletFilter:
    """A bullet passes with one of each of `statuses`, `memory_types` and `kinds`, all `tags` and all `words`.

    An empty set of types or kinds means any. Case and compatibility forms of letters are ignored. Tags must
    be equal; words are substrings of the text. The memory type counts as a tag.
    """

    statuses: frozenset[BulletStatus] = frozenset({"active"})
    tags: tuple[str, ...] = ()
    memory_types: frozenset[MemoryType] = frozenset()
    words: str = ""
    kinds: frozenset[BulletKind] = frozenset()

    def passes(self, bullet: Bullet) -> bool:
        """Whether the filter shows the bullet."""
        if bullet.status not in self.statuses:
            return False
        if self.memory_types and bullet.memory_type not in self.memory_types:
            return False
        if self.kinds and kind_of(bullet) not in self.kinds:
            return False
        if not {_folded(tag) for tag in self.tags} <= {_folded(tag) for tag in bullet.labels}:
            return False
        content = _folded(bullet.content)
        return all(word in content for word in _folded(self.words).split())


def _folded(text: str) -> str:
    return normal_form("NFKC", text).casefold()
