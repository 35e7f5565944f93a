"""The cutoff: the gate decides whether anything is shown, rank how much.

Where no bullet that a prompt may hold passes the gate of the question, or of one of its sentences, nothing is
shown. Otherwise the best lines are: those that score at least a share of the best one's score, of the whole
or of a sentence that is open. The share is high where the best bullet covers most of what the playbook knows
of the question, and low where every bullet shares only a little of it, for then the right one is often not
the first. A bullet that covers a part of the question that no kept bullet covers is shown, too: a question
about two things gets the lessons on both. Bullets that are relevant by their topic alone are compared with
the best on that topic. Advice that failed last time is cut where a bullet on its subject was learned or
confirmed since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import NamedTuple

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.retrieval.by_meaning import is_open, least_score, uses_meaning
from ace_graph.memory.retrieval.query import Query
from ace_graph.memory.retrieval.relevance import Hit

__all__ = ["Retrievable", "apply_cutoff"]

_SLOPE, _LEAST_SHARE, _MOST_SHARE = 0.7, 0.15, 0.6
"""The share of the best score that a line must reach: the slope times what the best covers, within limits."""

_LINES = 10
"""Lines that are filled up by rank."""

_ON_TOPIC = 0.4
"""The share of the best bullet's coverage that another one of the question's topic must reach."""

_NEW_TERMS, _NEW_SHARE = 2, 0.25
"""Terms of the question that no kept bullet covers, and their share of its weight, that justify a line."""

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
    """Return the bullets that are not cut, in no order.

    `asked_of` tells which of the question's terms a bullet has, `terms_of` all terms of its text. Where there
    are similarities by meaning, gate and shares are those of `by_meaning`.
    """
    remaining = [
        item
        for item in usable
        if not item.bullet.setbacks or not _is_superseded_on_subject(item, usable, asked_of, terms_of)
    ]
    if uses_meaning(item.hit for item in remaining):
        return _near_ones(remaining, query, asked_of)
    least = [_least_score(part, remaining) for part in range(len(query.parts))]
    topic = _ON_TOPIC * max((item.hit.on_topic for item in remaining), default=0.0)
    if not any(met.opens for item in remaining for met in item.hit.met):
        return []
    kept, cut = list[Retrievable](), list[Retrievable]()
    for item in sorted(remaining, key=lambda item: (-item.hit.score, item.hit.key)):
        near = len(kept) < _LINES and _comes_close_to_best(item.hit, least, topic)
        (kept if near else cut).append(item)
    return kept + _covering_more(kept, cut, query, asked_of) if cut else kept


def _near_ones(remaining: Sequence[Retrievable], query: Query, asked_of: TermsOf) -> list[Retrievable]:
    """Return the best by words and meaning, and those that cover more of the question by words."""
    hits = [item.hit for item in remaining]
    if not is_open(hits):
        return []
    least = least_score(hits)
    ranked = sorted(remaining, key=lambda item: (-item.hit.score, item.hit.key))
    kept = [item for item in ranked[:_LINES] if item.hit.score >= least]
    return kept + _covering_more(kept, ranked[len(kept) :], query, asked_of)


def _least_score(part: int, remaining: Iterable[Retrievable]) -> float:
    """Return the score that a line must have in a part of the question; infinite where its gate is shut."""
    met = [item.hit.met[part] for item in remaining]
    if not any(one.opens for one in met):
        return inf
    share = _SLOPE * max(one.share for one in met)
    return min(_MOST_SHARE, max(_LEAST_SHARE, share)) * max(one.score for one in met)


def _comes_close_to_best(hit: Hit, least: Iterable[float], topic: float) -> bool:
    """Whether the hit reaches the score of a part in `least`, or the share of the whole with its topic."""
    if hit.on_topic and hit.on_topic >= topic:
        return True
    return any(met.score and met.score >= enough for met, enough in zip(hit.met, least, strict=True))


def _covering_more(
    kept: Iterable[Retrievable], cut: Iterable[Retrievable], query: Query, asked_of: TermsOf
) -> list[Retrievable]:
    """Return the cut bullets, best first, that cover what no kept one covers."""
    uncovered = set(query.weights)
    for item in kept:
        uncovered -= asked_of(item.hit)
        if len(uncovered) < _NEW_TERMS:
            return []
    if sum(query.weights[term] for term in uncovered) < _NEW_SHARE * query.total:
        return []
    covered = query.weights.keys() - uncovered
    found: list[Retrievable] = []
    for item in sorted(cut, key=lambda item: (-item.hit.score, item.hit.key)):
        new = asked_of(item.hit) - covered
        if len(new) >= _NEW_TERMS and sum(query.weights[term] for term in new) >= _NEW_SHARE * query.total:
            covered |= new
            found.append(item)
    return found


def _is_superseded_on_subject(
    item: Retrievable, usable: Sequence[Retrievable], asked_of: TermsOf, terms_of: TermsOf
) -> bool:
    """Whether another bullet on the subject of one that failed last time was learned or confirmed since."""
    bullet = item.bullet
    if bullet.core:
        return False
    asked, own = asked_of(item.hit), terms_of(item.hit)
    for hit, rival in usable:
        if rival.setbacks or rival.updated_at < bullet.updated_at or asked_of(hit) != asked:
            continue
        other = terms_of(hit)
        shared = own & other
        if len(shared & asked) >= _SUBJECT_TERMS and len(shared) >= _SUBJECT_SHARE * min(
            len(own), len(other)
        ):
            return True
    return False
