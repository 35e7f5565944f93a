"""Filling the budget: which of the ranked bullets are injected, at most one of any group of rivals.

Does not: rank. The order it is given is the order it fills in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Literal

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.similarity import compare

__all__ = ["Candidate", "Scored", "Selection", "line_tokens"]

_NUMBERING_TOKENS = 5
"""The number of a line, its point and the line break."""

_ESCAPE_TOKENS = 3
"""What a character that a data block may have to escape costs more."""

_OWN_TERMS = 3
"""Rivals differ in a word or two; bullets with more terms of their own than this are not compared."""

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
    """A scored bullet, the terms of its text, and whether it is of the base playbook."""

    scored: Scored
    content: tuple[str, ...]
    base: bool = False

    @cached_property
    def terms(self) -> frozenset[str]:
        """The terms of its text; most candidates are never asked for them."""
        return frozenset(self.content)

    @property
    def standing(self) -> tuple[bool, int, datetime]:
        """By which rivals are judged: pinned, then the better evidence, then the newer."""
        bullet = self.scored.bullet
        return (bullet.pinned, bullet.helpful - bullet.harmful, bullet.updated_at)


def line_tokens(bullet: Bullet, count_tokens: Callable[[str], int]) -> int:
    """Return what a bullet costs as a line `12. [id] [+helpful/-harmful] AVOID: content` of a data block."""
    avoid = "AVOID: " if bullet.polarity == "anti_pattern" else ""
    line = f"[{bullet.id}] [+{bullet.helpful}/-{bullet.harmful}] {avoid}{bullet.content}"
    return count_tokens(line) + _NUMBERING_TOKENS + _ESCAPE_TOKENS * bullet.content.count("<")


class Selection:
    """The lines of one prompt while they are chosen: a token budget, and no two that exclude each other."""

    def __init__(self, room: int, similarity: float, count_tokens: Callable[[str], int]) -> None:
        self.room = room
        self._similarity = similarity
        self._count_tokens = count_tokens
        self._settled: list[Candidate] = []

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
            weaker = self._weaker_rivals(candidate, [other for other, _ in chosen.values()])
            if weaker is None:
                continue
            for other in weaker:
                room += chosen.pop(other.scored.bullet.id)[1]
            tokens = line_tokens(candidate.scored.bullet, self._count_tokens)
            if tokens <= room and (limit is None or len(chosen) < limit):
                chosen[candidate.scored.bullet.id] = (candidate, tokens)
                room -= tokens
            elif (misses := misses + 1) >= _PATIENCE:
                break
        self.room -= sum(tokens for _, tokens in chosen.values())
        self._settled.extend(candidate for candidate, _ in chosen.values())
        return [candidate for candidate, _ in chosen.values()]

    def _weaker_rivals(self, candidate: Candidate, chosen: list[Candidate]) -> list[Candidate] | None:
        """Return what the candidate replaces among the chosen, None where it has to give way itself."""
        weaker: list[Candidate] = []
        if any(self._relation(candidate, other) for other in _comparable(candidate, self._settled)):
            return None
        for other in _comparable(candidate, chosen):
            relation = self._relation(candidate, other)
            if relation is None:
                continue
            if candidate.base if relation == "same" else candidate.standing <= other.standing:
                return None
            weaker.append(other)
        return weaker

    def _relation(self, a: Candidate, b: Candidate) -> Literal["same", "rival"] | None:
        """How two bullets exclude each other; two of one playbook that say the same are both meant."""
        outcome = compare(a.scored.bullet, b.scored.bullet, self._similarity).outcome
        if outcome == "different" or (outcome == "same" and a.base == b.base):
            return None
        return outcome


def _comparable(candidate: Candidate, others: list[Candidate]) -> list[Candidate]:
    """Return those that share all but a few terms, or the slot: only they can be rivals or say the same."""
    terms, size, slot = candidate.terms, len(candidate.terms), candidate.scored.bullet.slot
    found: list[Candidate] = []
    for other in others:
        larger = max(size, len(other.terms))
        if abs(size - len(other.terms)) <= _OWN_TERMS:
            shared = len(terms & other.terms)
            if shared >= larger - _OWN_TERMS and 2 * shared >= larger:
                found.append(other)
                continue
        if slot is not None and slot == other.scored.bullet.slot:
            found.append(other)
    return found
