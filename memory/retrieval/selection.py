"""Filling the token budget with ranked bullets, at most one of any group of rivals."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Literal, NamedTuple

from ace_graph.memory.bullet import PROFILE_SLOTS, Bullet
from ace_graph.memory.search.prefix_filter import PrefixFilter
from ace_graph.memory.similarity.compare import compare

__all__ = ["Candidate", "Scored", "Selection", "Shortage", "line_tokens", "prompt_line"]

_NUMBERING_TOKENS = 5
"""For the number of a line, the point after it and the line break."""

_ESCAPE_TOKENS = 3
"""For each character that a data block may have to escape."""

Shortage = Literal["budget", "lines"]
"""What was used up: the room in tokens, or the number of lines."""

_MAX_MISSES = 20
"""How many candidates may not fit before the search ends."""


class Scored(NamedTuple):
    """A bullet as it is injected.

    `relevance` (0-1) is the share of the question's terms, by weight, that it covers (1 for the core),
    `strength` its decay score, `score` what it was ranked by.
    """

    bullet: Bullet
    score: float
    relevance: float
    strength: float


class Candidate(NamedTuple):
    """A scored bullet, the terms of its text as `in_order`, and whether the learner does not own it."""

    scored: Scored
    terms: tuple[str, ...]
    base: bool = False

    @property
    def rank(self) -> tuple[bool, int, datetime]:
        """The higher of two rivals is kept: the pinned, then the one with better evidence, then the newer."""
        bullet = self.scored.bullet
        return (bullet.pinned, bullet.helpful - bullet.harmful, bullet.updated_at)


def prompt_line(bullet: Bullet) -> str:
    """Return a bullet as a model is shown it: `[id] [+helpful/-harmful] (slot) AVOID: content`.

    A value of the profile is named, since its words may be in another language than the question.
    """
    slot = f"({bullet.slot}) " if bullet.slot in PROFILE_SLOTS else ""
    return f"[{bullet.id}] [+{bullet.helpful}/-{bullet.harmful}] {slot}{bullet.advice}"


def line_tokens(bullet: Bullet, count_tokens: Callable[[str], int]) -> int:
    """Return what a bullet costs as a numbered `prompt_line` of a data block."""
    return count_tokens(prompt_line(bullet)) + _NUMBERING_TOKENS + _ESCAPE_TOKENS * bullet.content.count("<")


class Selection:
    """The bullets of one prompt while they are chosen: within a token budget, and without rivals.

    `rivals` maps those that were left out for a rival to that one's id, `missed` those without room to what
    was used up.
    """

    def __init__(
        self, room: int, similarity: float, count_tokens: Callable[[str], int], common: Container[str] = ()
    ) -> None:
        """Start with `room` tokens; `common` are terms that most candidates share, those of the question."""
        self.room = room
        self._similarity = similarity
        self._count_tokens = count_tokens
        self.rivals: dict[str, str] = {}
        self.missed: dict[str, Shortage] = {}
        self._settled: dict[str, Candidate] = {}
        self._index = PrefixFilter(common)

    def fill(self, ranked: Iterable[Candidate], *, room: int, limit: int | None = None) -> list[Candidate]:
        """Return the candidates that fit into `room` tokens and `limit` lines, in the order they came.

        A candidate that is too long for the room left is skipped. Of two rivals the higher by `rank` is kept,
        whichever came first; what an earlier `fill` chose stays. The search ends after _MAX_MISSES
        candidates that did not fit.
        """
        room = min(room, self.room)
        chosen: dict[str, tuple[Candidate, int]] = {}
        misses = 0
        for candidate in ranked:
            bullet = candidate.scored.bullet
            signature = self._index.signature(candidate.terms, bullet.slot)
            similar = self._index.candidates(candidate.terms, signature)
            stronger, weaker = self._rivals(candidate, similar, chosen) if similar else (None, ())
            if stronger is not None:
                self.rivals[bullet.id] = stronger
                continue
            for key in weaker:
                self.rivals[key] = bullet.id
                room += chosen.pop(key)[1]
            tokens = line_tokens(bullet, self._count_tokens)
            lines_left = limit is None or len(chosen) < limit
            if tokens <= room and lines_left:
                chosen[bullet.id] = (candidate, tokens)
                self._index.add(bullet.id, candidate.terms, signature)
                room -= tokens
            else:
                self.missed[bullet.id] = "budget" if lines_left else "lines"
                if (misses := misses + 1) >= _MAX_MISSES:
                    break
        self.room -= sum(tokens for _, tokens in chosen.values())
        taken = [candidate for candidate, _ in chosen.values()]
        self._settled.update((candidate.scored.bullet.id, candidate) for candidate in taken)
        return taken

    def _rivals(
        self, candidate: Candidate, similar: Iterable[str], chosen: Mapping[str, tuple[Candidate, int]]
    ) -> tuple[str | None, Sequence[str]]:
        """Return the rival that the candidate is left out for, else the chosen ones that it replaces."""
        for key in similar:
            if key in self._settled and self._relation(candidate, self._settled[key]):
                return key, ()
        weaker: list[str] = []
        for key in similar:
            other = chosen[key][0] if key in chosen else None
            relation = None if other is None else self._relation(candidate, other)
            if other is None or relation is None:
                continue
            if candidate.base if relation == "same" else candidate.rank <= other.rank:
                return key, ()
            weaker.append(key)
        return None, weaker

    def _relation(self, a: Candidate, b: Candidate) -> Literal["same", "rival"] | None:
        """How two bullets exclude each other, None if not; two of one playbook that say the same don't."""
        outcome = compare(a.scored.bullet, b.scored.bullet, self._similarity).outcome
        if outcome == "different" or (outcome == "same" and a.base == b.base):
            return None
        return outcome
