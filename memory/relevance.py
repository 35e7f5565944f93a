"""Relevance of bullets to a question: an absolute gate, then BM25, blended with embeddings if there are any.

The gate asks for a share of the question's content terms, weighed by how rare they are. It comes before
any normalising: a normalised score would make the best of an irrelevant lot look perfect.

Does not: know what a bullet is worth. Strength and topic come later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ace_graph.memory.index import Index, idf, topic_term
from ace_graph.memory.taxonomy import infer_topic
from ace_graph.memory.text import terms

__all__ = ["Hit", "Query", "read_question", "relevant"]

_GATE = 0.3
"""The share of the question's terms, by weight, that a bullet must cover."""

_FULL_QUESTION = 5
"""Terms up to which a question is expected to be covered as a whole; of a longer one, less and less."""

_NUMBER_WEIGHT = 0.5
"""Numbers tell a question from others more than they tell what it is about."""

_SEMANTIC_GATE = 0.5
_SEMANTIC_SHARE = 0.5


class Hit(NamedTuple):
    """A bullet that passed the gate: the share of the question it covers (0-1), and its rank's score."""

    key: str
    of_base: bool
    covered: float
    score: float


@dataclass(frozen=True)
class Query:
    """The weights of a question's terms, their sum, and how much of it a bullet must cover."""

    weights: Mapping[str, float]
    total: float
    floor: float


def read_question(question: str, topic: str | None, indexes: Sequence[tuple[Index, bool]]) -> Query:
    """Return what the question asks of a bullet.

    Where the question itself is about `topic`, its bullets cover that much of it, whatever their words.
    """
    bullets = sum(len(index) for index, _ in indexes)
    weights: dict[str, float] = {}
    for term in terms(question):
        if term not in weights:
            weight = idf(sum(index.frequency(term) for index, _ in indexes), bullets)
            weights[term] = weight * _NUMBER_WEIGHT if term[0].isdigit() else weight
    total = sum(weights.values())
    expected = min(1.0, (_FULL_QUESTION / len(weights)) ** 0.5) if weights else 1.0
    if weights and topic is not None and infer_topic(question) == topic.casefold():
        # On top of the total: a bullet without a topic must not cover less of the question for it.
        weights[topic_term(topic)] = idf(0, bullets)
    return Query(weights, total, _GATE * total * expected)


def relevant(
    query: Query, indexes: Sequence[tuple[Index, bool]], semantic: Mapping[str, float], limit: int
) -> list[Hit]:
    """Return the `limit` most relevant bullets of each index (each with whether it is the base's), unordered.

    `semantic` are cosine similarities (0-1) by bullet id; one that is high opens the gate as well.
    """
    hits = [
        Hit(key, of_base, covered, score)
        for index, of_base in indexes
        for key, covered, score in _passing(query, index, semantic, limit)
    ]
    return _blended(hits, semantic) if semantic and hits else hits


def _passing(
    query: Query, index: Index, semantic: Mapping[str, float], limit: int
) -> list[tuple[str, float, float]]:
    """Return id, share covered and BM25 score, both of 1 for the whole question, of what passes the gate."""
    covered = index.covering(query.weights, query.floor) if query.weights else {}
    for key, cosine in semantic.items():
        if cosine >= _SEMANTIC_GATE and key not in covered and key in index.documents:
            covered[key] = 0.0
    scores = index.scores(covered, query.weights)
    best: Iterable[str] = scores
    if len(scores) > limit:
        top = max(scores.values()) or 1.0
        best = _greatest({k: s / top + semantic.get(k, 0.0) for k, s in scores.items()}, limit)
    total = query.total or 1.0
    return [(key, min(1.0, covered[key] / total), scores[key] / total) for key in best]


def _greatest(values: Mapping[str, float], limit: int) -> list[str]:
    """Return the keys of the `limit` greatest values; of equal ones those that come first by name."""
    last = sorted(values.values(), reverse=True)[limit - 1]
    above = [key for key, value in values.items() if value > last]
    return above + sorted(key for key, value in values.items() if value == last)[: limit - len(above)]


def _blended(hits: Sequence[Hit], semantic: Mapping[str, float]) -> list[Hit]:
    """Blend both scores, each divided by its greatest; that beats a fusion of the two ranks."""
    lexical = max(hit.score for hit in hits) or 1.0
    likest = max(max(semantic.get(hit.key, 0.0), 0.0) for hit in hits) or 1.0
    return [
        Hit(
            hit.key,
            hit.of_base,
            hit.covered,
            (1 - _SEMANTIC_SHARE) * hit.score / lexical
            + _SEMANTIC_SHARE * max(semantic.get(hit.key, 0.0), 0.0) / likest,
        )
        for hit in hits
    ]
