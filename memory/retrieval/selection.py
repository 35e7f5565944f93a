"""Filling the budget: which of the ranked bullets are injected, at most one of any group of rivals.

Does not: rank. The order it is given is the order it fills in.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.search.prefix_filter import PrefixFilter
from ace_graph.memory.similarity.compare import compare

__all__ = ["Candidate", "Scored", "Selection", "line_tokens"]

_NUMBERING_TOKENS = 5
"""The number of a line, its point and the line break."""

_ESCAPE_TOKENS = 3
"""What a character that a data block may have to escape costs more."""

_PATIENCE = 20
"""How many candidates in all may find no place before the search ends."""


@dataclass(frozen=True)
class Scored:
    """A bullet as it is injected.

    `relevance` (0-1) is the share of the question's terms, by weight, that it covers (1 for the core),
    `strength` its decay score, `score` what it was ranked by.
    """

    bullet: Bullet
    score: float
    relevance: float
    strength: float


@dataclass(frozen=True)
class Candidate:
    """A scored bullet, the terms of its text (see `neighbours`), and whether it is of the base playbook."""

    scored: Scored
    terms: tuple[str, ...]
    base: bool = False

    @property
    def standing(self) -> tuple[bool, int, datetime]:
        """By which rivals are judged: pinned, then the better evidence, then the newer."""
        bullet = self.scored.bullet
        return (bullet.pinned, bullet.helpful - bullet.harmful, bullet.updated_at)


def line_tokens(bullet: Bullet, count_tokens: Callable[[str], int]) -> int:
    """Return what a bullet costs as a line `12. [id] [+helpful/-harmful] AVOID: content` of a data block."""
    line = f"[{bullet.id}] [+{bullet.helpful}/-{bullet.harmful}] {bullet.advice}"
    return count_tokens(line) + _NUMBERING_TOKENS + _ESCAPE_TOKENS * bullet.content.count("<")


class Selection:
    """The lines of one prompt while they are chosen: a token budget, and no two that exclude each other."""

    def __init__(
        self, room: int, similarity: float, count_tokens: Callable[[str], int], common: Container[str] = ()
    ) -> None:
        """Start with `room` tokens; `common` are terms that most candidates share, those of the question."""
        self.room = room
        self._similarity = similarity
        self._count_tokens = count_tokens
        self._settled: dict[str, Candidate] = {}
        self._similar = PrefixFilter(common)

    def fill(self, ranked: Iterable[Candidate], *, room: int, limit: int | None = None) -> list[Candidate]:
        """Return the candidates that fit into `room` tokens and `limit` lines, in the order they came.

        One too long for what is left is passed over for shorter ones. Of two rivals the one that stands
        better takes the place, whichever came first; what an earlier `fill` chose stays. The search ends
        when nothing found a place for a while.
        """
        room = min(room, self.room)
        chosen: dict[str, tuple[Candidate, int]] = {}
        misses = 0
        for candidate in ranked:
            bullet = candidate.scored.bullet
            marks = self._similar.signature(candidate.terms, bullet.slot)
            near = self._similar.candidates(candidate.terms, marks)
            weaker = self._weaker_rivals(candidate, near, chosen) if near else []
            if weaker is None:
                continue
            for key in weaker:
                room += chosen.pop(key)[1]
            tokens = line_tokens(bullet, self._count_tokens)
            if tokens <= room and (limit is None or len(chosen) < limit):
                chosen[bullet.id] = (candidate, tokens)
                self._similar.add(bullet.id, candidate.terms, marks)
                room -= tokens
            elif (misses := misses + 1) >= _PATIENCE:
                break
        self.room -= sum(tokens for _, tokens in chosen.values())
        taken = [candidate for candidate, _ in chosen.values()]
        self._settled.update((candidate.scored.bullet.id, candidate) for candidate in taken)
        return taken

    def _weaker_rivals(
        self, candidate: Candidate, near: Iterable[str], chosen: Mapping[str, tuple[Candidate, int]]
    ) -> list[str] | None:
        """Return what the candidate replaces among the chosen, None where it has to give way itself."""
        settled = [self._settled[key] for key in near if key in self._settled]
        if any(self._relation(candidate, other) for other in settled):
            return None
        weaker: list[str] = []
        for key in near:
            other = chosen[key][0] if key in chosen else None
            relation = None if other is None else self._relation(candidate, other)
            if other is None or relation is None:
                continue
            if candidate.base if relation == "same" else candidate.standing <= other.standing:
                return None
            weaker.append(key)
        return weaker

    def _relation(self, a: Candidate, b: Candidate) -> Literal["same", "rival"] | None:
        """How two bullets exclude each other; two of one playbook that say the same are both meant."""
        outcome = compare(a.scored.bullet, b.scored.bullet, self._similarity).outcome
        if outcome == "different" or (outcome == "same" and a.base == b.base):
            return None
        return outcome
