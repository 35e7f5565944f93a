"""Which of the relevant bullets are worth a line: those that hold up beside the best.

The gate asks whether a bullet has to do with the question at all. Among those that have, a bullet that
covers far less of it than the best one is mostly about something else, so it is left out; unless it is as
good as any for one sentence of the message, or covers a part of the question that no better one does: a
question about two things gets the lessons on both. And advice that failed last time gives way to what was
learned or confirmed on its subject since.

Does not: rank, or look at what fits into the budget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ace_graph.memory.relevance import Hit, Query
from ace_graph.memory.selection import Candidate

__all__ = ["Ranked", "narrowed"]

_BESIDE_THE_BEST = 0.6
"""The share of the best bullet's coverage that another one must reach."""

_NEW_TERMS, _NEW_SHARE = 2, 0.25
"""Terms of the question, and their share of its weight, that no better bullet covers: worth a line."""

_SUBJECT_TERMS, _SUBJECT_SHARE = 3, 0.4
"""Terms that two bullets on one subject share, of the question and of the shorter text."""


class Ranked(NamedTuple):
    """A bullet that may be injected, and how it met the question."""

    candidate: Candidate
    hit: Hit


def narrowed(
    ranked: Sequence[Ranked], query: Query, terms_of: Callable[[Hit], frozenset[str]]
) -> Iterator[Candidate]:
    """Yield the candidates worth a line, in the order given (the best first).

    `terms_of` tells which of the question's terms a bullet has. What the topic or an embedding speaks for
    (`Hit.certain`) is never cut.
    """
    kept = [item for item in ranked if not _gives_way(item, ranked, terms_of)]
    best = [max(shares) for shares in zip(*(item.hit.shares for item in kept), strict=True)]
    covered: set[str] = set()
    for candidate, hit in kept:
        own = terms_of(hit)
        if hit.certain or _beside_the_best(hit, best) or _adds(own - covered, query):
            covered |= own
            yield candidate


def _beside_the_best(hit: Hit, best: Sequence[float]) -> bool:
    return any(share and share >= _BESIDE_THE_BEST * top for share, top in zip(hit.shares, best, strict=True))


def _adds(new: frozenset[str], query: Query) -> bool:
    weight = sum(query.weights[term] for term in new)
    return len(new) >= _NEW_TERMS and weight >= _NEW_SHARE * query.total


def _gives_way(item: Ranked, ranked: Sequence[Ranked], terms_of: Callable[[Hit], frozenset[str]]) -> bool:
    """Whether a bullet that failed last time stands beside one on its subject that was learned since."""
    bullet = item.candidate.scored.bullet
    if not bullet.setbacks or bullet.core:
        return False
    mine, asked = frozenset(item.candidate.terms), terms_of(item.hit)
    for other in ranked:
        rival = other.candidate.scored.bullet
        if rival.setbacks or rival.updated_at < bullet.updated_at or terms_of(other.hit) != asked:
            continue
        theirs = frozenset(other.candidate.terms)
        shared = mine & theirs
        if len(shared & asked) >= _SUBJECT_TERMS and len(shared) >= _SUBJECT_SHARE * min(
            len(mine), len(theirs)
        ):
            return True
    return False
