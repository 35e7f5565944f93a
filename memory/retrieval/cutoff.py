"""Which of the relevant bullets are worth a line: those that hold up beside the best.

The gate asks whether a bullet has to do with the question at all. Among those that have, a bullet that
covers far less of it than the best one is mostly about something else, so it is left out; unless it is as
good as any for one sentence of the message, or covers a part of the question that nothing kept does: a
question about two things gets the lessons on both. What only the topic speaks for is compared with the best
on that topic. And advice that failed last time gives way to what was learned or confirmed on its subject
since.

Does not: rank, or look at what fits into the budget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.retrieval.relevance import Hit, Query

__all__ = ["Retrievable", "apply_cutoff"]

_BESIDE_THE_BEST = 0.6
"""The share of the best bullet's coverage that another one must reach."""

_ON_TOPIC = 0.4
"""The same among bullets of the question's topic, which counts as a term of theirs."""

_NEW_TERMS, _NEW_SHARE = 2, 0.25
"""Terms of the question, and their share of its weight, that nothing kept covers: worth a line."""

_SUBJECT_TERMS, _SUBJECT_SHARE = 3, 0.4
"""Terms that two bullets on one subject share, of the question and of the shorter text."""

TermsOf = Callable[[Hit], frozenset[str]]


class Retrievable(NamedTuple):
    """A bullet that may be injected, and how it met the question."""

    hit: Hit
    bullet: Bullet


def apply_cutoff(
    usable: Sequence[Retrievable], query: Query, asked_of: TermsOf, terms_of: TermsOf
) -> list[Retrievable]:
    """Return those worth a line, in no order.

    `asked_of` tells which of the question's terms a bullet has, `terms_of` all terms of its text. What an
    embedding speaks for (`Hit.likely`) is never cut.
    """
    standing = [item for item in usable if not _is_superseded_on_subject(item, usable, asked_of, terms_of)]
    best = [max(shares) for shares in zip(*(item.hit.shares for item in standing), strict=True)]
    topic = max((item.hit.on_topic for item in standing), default=0.0)
    kept, behind = list[Retrievable](), list[Retrievable]()
    for item in standing:
        (kept if _beside_the_best(item.hit, best, topic) else behind).append(item)
    return kept + _adding(kept, behind, query, asked_of) if behind else kept


def _beside_the_best(hit: Hit, best: Sequence[float], topic: float) -> bool:
    if hit.likely or (hit.on_topic and hit.on_topic >= _ON_TOPIC * topic):
        return True
    return any(share and share >= _BESIDE_THE_BEST * top for share, top in zip(hit.shares, best, strict=True))


def _adding(
    kept: Iterable[Retrievable], behind: Iterable[Retrievable], query: Query, asked_of: TermsOf
) -> list[Retrievable]:
    """Return those behind the best, the better first, that cover what nothing kept does."""
    covered = frozenset[str]().union(*(asked_of(item.hit) for item in kept))
    left = query.weights.keys() - covered
    if len(left) < _NEW_TERMS or sum(query.weights[term] for term in left) < _NEW_SHARE * query.total:
        return []
    found: list[Retrievable] = []
    for item in sorted(behind, key=lambda item: (-item.hit.score, item.hit.key)):
        new = asked_of(item.hit) - covered
        if len(new) >= _NEW_TERMS and sum(query.weights[term] for term in new) >= _NEW_SHARE * query.total:
            covered |= new
            found.append(item)
    return found


def _is_superseded_on_subject(
    item: Retrievable, usable: Sequence[Retrievable], asked_of: TermsOf, terms_of: TermsOf
) -> bool:
    """Whether a bullet that failed last time stands beside one on its subject that was learned since."""
    bullet = item.bullet
    if not bullet.setbacks or bullet.core:
        return False
    asked, mine = asked_of(item.hit), terms_of(item.hit)
    for hit, rival in usable:
        if rival.setbacks or rival.updated_at < bullet.updated_at or asked_of(hit) != asked:
            continue
        theirs = terms_of(hit)
        shared = mine & theirs
        if len(shared & asked) >= _SUBJECT_TERMS and len(shared) >= _SUBJECT_SHARE * min(
            len(mine), len(theirs)
        ):
            return True
    return False
