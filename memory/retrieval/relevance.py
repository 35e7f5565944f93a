"""Relevance of bullets to a question: an absolute gate, then BM25, blended with embeddings if there are any.

A bullet passes the gate if it covers a share of the question's content terms, weighted by how rare they are.
The gate is absolute: a normalised score would make the best of several irrelevant bullets look perfect.

One shared word says little, so it must be a good share of the whole question. Several shared words identify a
subject: then terms that no bullet has (names, days, small talk) hardly count, and covering one sentence of a
long message is enough. Strength, topic and the comparison with other bullets come later (`retrieve`,
`cutoff`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import inf
from typing import NamedTuple

from ace_graph.memory.classify import infer_topic
from ace_graph.memory.search.index import Index, idf, topic_term
from ace_graph.memory.search.tokenize import language_of, terms

__all__ = ["Hit", "Part", "Query", "parse_question", "relevant"]

_GATE = 0.3
"""The share of the question's terms, by weight, that a bullet must cover, be it by one term."""

_TOGETHER = 0.4
"""The share, of the terms that occur in the playbook, for a bullet that covers two terms or more."""

_UNKNOWN = 0.4
"""The factor for terms that no bullet has. Above 0, or a question with new terms would match anything."""

_FULL_QUESTION = 5
"""Terms up to which a bullet must cover the shares above; for a longer question they get smaller."""

_NUMBER_WEIGHT = 0.5
"""The factor for numbers, which hardly say what a question is about."""

_SENTENCES = 40
"""How many sentences of a message are matched on their own."""

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+|(?<=[。！？])")

_SEMANTIC_GATE = 0.5
_SEMANTIC_SHARE = 0.5
_EPSILON = 1e-9


class Hit(NamedTuple):
    """A bullet that passed the gate: the share of the question it covers (0-1), and its rank's score.

    `shares` are the shares of each part of the query by its words alone, 0 where it did not pass. `on_topic`
    is the share of the whole with the topic as a term, 0 for a bullet of no or another topic. `likely`: its
    embedding is similar to the question's, whatever its words.
    """

    key: str
    of_base: bool
    covered: float
    score: float
    shares: tuple[float, ...] = ()
    on_topic: float = 0.0
    likely: bool = False


@dataclass(frozen=True)
class Part:
    """A question, or a sentence of it: the weights of its terms and their sum.

    `alone` is what a bullet must cover of it by one term, `together` by two or more.
    """

    weights: Mapping[str, float]
    total: float
    alone: float
    together: float


@dataclass(frozen=True)
class Query:
    """The question as a whole, then its sentences where there are several; the term of its topic, if any."""

    parts: tuple[Part, ...]
    topic: str | None = None

    @property
    def weights(self) -> Mapping[str, float]:
        """The weights of all terms."""
        return self.parts[0].weights

    @property
    def total(self) -> float:
        """The sum of the weights, without the topic's."""
        return self.parts[0].total


def parse_question(question: str, topic: str | None, indexes: Sequence[tuple[Index, bool]]) -> Query:
    """Return what the question asks of a bullet.

    Where the question itself is about `topic`, its bullets cover that much of it, whatever their words.
    """
    bullets = sum(len(index) for index, _ in indexes)
    sentences = _sentences(question)
    weights: dict[str, float] = {}
    unknown: set[str] = set()
    for sentence in sentences:
        for term in sentence:
            if term not in weights:
                frequency = sum(index.frequency(term) for index, _ in indexes)
                weight = idf(frequency, bullets)
                weights[term] = weight * _NUMBER_WEIGHT if term[0].isdigit() else weight
                if not frequency:
                    unknown.add(term)
    asked = None
    if weights and topic is not None and infer_topic(question) == topic.casefold():
        asked = topic_term(topic)
    parts = [_part(weights, unknown, whole=True)]
    if len(sentences) > 1:
        parts += [
            _part({term: weights[term] for term in sentence}, unknown, whole=False)
            for sentence in sentences[:_SENTENCES]
        ]
    if asked is not None:
        # On top of the total: a bullet without a topic must not cover less of the question for it.
        weights[asked] = idf(0, bullets)
    return Query(tuple(parts), asked)


def _part(weights: Mapping[str, float], unknown: set[str], *, whole: bool) -> Part:
    total = sum(weights.values())
    expected = min(1.0, (_FULL_QUESTION / len(weights)) ** 0.5) if weights else 1.0
    strange = sum(weight for term, weight in weights.items() if term in unknown)
    known = total - (1 - _UNKNOWN) * strange
    return Part(weights, total, _GATE * expected * total if whole else inf, _TOGETHER * expected * known)


def _sentences(question: str) -> list[dict[str, None]]:
    """Return the terms of each sentence, each once; one of a single term belongs to the one before it."""
    pieces = _SENTENCE_END.split(question)
    language = language_of(question) if len(pieces) > 1 else None
    found: list[dict[str, None]] = []
    for piece in pieces:
        if not any(map(str.isalnum, piece)):
            continue
        own = dict.fromkeys(terms(piece, language))
        if found and (len(own) < 2 or len(found[-1]) < 2):
            found[-1].update(own)
        elif own:
            found.append(own)
    return found


def relevant(
    query: Query, indexes: Sequence[tuple[Index, bool]], semantic: Mapping[str, float], limit: int
) -> list[Hit]:
    """Return the `limit` most relevant bullets of each index (each with whether it is the base's), unordered.

    `semantic` are cosine similarities (0-1) by bullet id; one that is high opens the gate as well.
    """
    hits = [
        hit for index, of_base in indexes for hit in _passing(query, index, semantic, limit, of_base=of_base)
    ]
    return _blend(hits, semantic) if semantic and hits else hits


def _passing(
    query: Query, index: Index, semantic: Mapping[str, float], limit: int, *, of_base: bool
) -> list[Hit]:
    """Return what passes the gate in any part; shares and scores are of 1 for the whole part."""
    covered = [_through_gate(part, index) for part in query.parts]
    likely = {key for key, cosine in semantic.items() if cosine >= _SEMANTIC_GATE and key in index.documents}
    scores = index.scores(chain(*covered, likely), query.weights)
    best: Iterable[str] = scores
    if len(scores) > limit:
        top = max(scores.values()) or 1.0
        best = _top({k: s / top + semantic.get(k, 0.0) for k, s in scores.items()}, limit)
    on_topic: Mapping[str, float] = {}
    extra = 0.0
    if query.topic is not None:
        on_topic, extra = index.postings.get(query.topic, {}), query.weights[query.topic]
    total, (first, *others) = query.total or 1.0, covered
    found: list[Hit] = []
    parts = [(met, part.total) for met, part in zip(others, query.parts[1:], strict=True)]
    for key in best:
        whole = first.get(key, 0.0)
        words, topical = (whole - extra, whole / total) if whole and key in on_topic else (whole, 0.0)
        shares = (words / total, *[met.get(key, 0.0) / all_ for met, all_ in parts])
        reached = min(1.0, max(whole / total, *shares))
        found.append(Hit(key, of_base, reached, scores[key] / total, shares, topical, key in likely))
    return found


def _through_gate(part: Part, index: Index) -> dict[str, float]:
    """Return the bullets that pass the gate of one part, with the weight that they cover of it."""
    if not part.weights:
        return {}
    covered = index.covering(part.weights, min(part.alone, part.together))
    if part.alone <= part.together:
        return covered
    enough = part.alone - _EPSILON
    lists = [index.postings[term] for term in part.weights if term in index.postings]
    return {key: weight for key, weight in covered.items() if weight >= enough or _in_two(key, lists)}


def _in_two(key: str, lists: Iterable[Mapping[str, float]]) -> bool:
    left = iter(lists)
    return any(key in postings for postings in left) and any(key in postings for postings in left)


def _top(values: Mapping[str, float], limit: int) -> list[str]:
    """Return the keys of the `limit` greatest values; of equal ones those that come first by name."""
    last = sorted(values.values(), reverse=True)[limit - 1]
    above = [key for key, value in values.items() if value > last]
    return above + sorted(key for key, value in values.items() if value == last)[: limit - len(above)]


def _blend(hits: Sequence[Hit], semantic: Mapping[str, float]) -> list[Hit]:
    """Blend both scores, each divided by its greatest; that beats a fusion of the two ranks."""
    lexical = max(hit.score for hit in hits) or 1.0
    most_similar = max(max(semantic.get(hit.key, 0.0), 0.0) for hit in hits) or 1.0
    return [
        hit._replace(
            score=(1 - _SEMANTIC_SHARE) * hit.score / lexical
            + _SEMANTIC_SHARE * max(semantic.get(hit.key, 0.0), 0.0) / most_similar
        )
        for hit in hits
    ]
