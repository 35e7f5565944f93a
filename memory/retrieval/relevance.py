"""Relevance of bullets to a question: what each covers of it, and its rank by BM25 and embeddings.

A bullet covers a term by its text and labels, or, for half the weight, by a compound that the term is part
of, or by a word of the turn that it came from. The gate is absolute: a normalised score would make the best
of several irrelevant bullets look perfect. One shared word says little, so it must be a good share of the
whole question. Several shared words identify a subject: then terms that no bullet has (names, days, small
talk) hardly count, and covering one sentence of a long message is enough.

The gate decides whether anything is shown; how much is decided by rank (`gate`). Strength and topic come
later (`retrieve`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import chain
from math import inf
from typing import NamedTuple

from ace_graph.memory.retrieval.query import Query, QueryPart
from ace_graph.memory.search.index import Index

# Neighbours: bullets of the same turn as a good one, and of the turns before and after it, lift each other.
#
# What was said together belongs together: a question about one fact of a turn is often about another, whose
# words it does not share.


_DONORS = 3
"""So many of the best bullets lift their neighbours."""
_LIFT = 0.3
"""The share of its score that a bullet gives to each neighbour."""


class NeighbourLift(NamedTuple):
    """What is added to a bullet's score, and the id of the neighbour that it comes from."""

    score: float
    neighbour: str


def lifts(scores: Mapping[str, float], index: Index) -> dict[str, NeighbourLift]:
    """Return what is added to the scores of the best bullets' neighbours: the greatest lift of each counts.

    Neighbours need no score of their own.
    """
    if not index.conversations:
        return {}
    found: dict[str, NeighbourLift] = {}
    for donor in _best(scores):
        for key in _neighbours(donor, index):
            lift = _LIFT * scores[donor]
            if lift > (found[key].score if key in found else 0.0):
                found[key] = NeighbourLift(lift, donor)
    return found


def _best(scores: Mapping[str, float]) -> Iterable[str]:
    return sorted(scores, key=lambda key: (-scores[key], key))[:_DONORS]


def _neighbours(key: str, index: Index) -> Iterator[str]:
    place = index.turns.places.get(key)
    if place is None:
        return
    turns = index.conversations.get(place.conversation or "", (place.turn,))
    at = turns.index(place.turn)
    for turn in turns[max(0, at - 1) : at + 2]:
        yield from (other for other in index.turns.bullets(place.conversation, turn) if other != key)


_CLOSE = 0.2
"""The share of the best bullet's coverage from which on a bullet may be ranked close enough to it."""
_PARTLY = 0.5
"""The weight of a term that a bullet covers by a compound, or by a word of its source."""
_EVERYDAY_ONLY = 1.5
"""So much more must be covered by a bullet that shares everyday words alone with the question."""
_SEMANTIC_SHARE = 0.4
"""How much of the rank is meaning, where there are similarities."""
_EPSILON = 1e-9
_NONE: Mapping[str, float] = {}


class Met(NamedTuple):
    """How a bullet meets a part of the question.

    `share` is what it covers of the known terms, `score` its score, of 1 for all of the part, or 0 where it
    covers far less than the best. `opens`: it passes the gate of the part.
    """

    share: float
    score: float
    opens: bool


class Hit(NamedTuple):
    """A bullet that meets the question: the share of it that it covers (0-1), and what it is ranked by.

    `met` says it of the whole question and of each sentence. `on_topic` is the share of the whole with the
    topic as a term, 0 for a bullet of no or another topic. `near` is its similarity to the question by
    meaning, 0 where it has none; `evidence` adds what it covers by words that are not for every day.
    """

    key: str
    of_base: bool
    covered: float
    score: float
    met: tuple[Met, ...] = ()
    on_topic: float = 0.0
    near: float = 0.0
    evidence: float = 0.0


class _Holders(NamedTuple):
    """The bullets that hold a term, each with the weight of its posting: `partly` holds none of `fully`.

    `compounds` are the terms that the term is part of, or that are part of it.
    """

    fully: Mapping[str, float]
    partly: Mapping[str, float]
    compounds: Sequence[str] = ()


class Coverage(NamedTuple):
    """How near a bullet comes to opening the gate of a part of the question (0: the whole, 1: a sentence).

    `covered` and `needed` are shares of the part's weight; `needed` is infinite where everyday words are all
    that the bullet shares with a sentence.
    """

    part: int
    covered: float
    needed: float


class Relevance(NamedTuple):
    """The most relevant bullets of all indexes, unordered, and how each index was matched, in their order."""

    hits: list[Hit]
    matched: Sequence[Matched]


def relevant(
    query: Query, indexes: Sequence[tuple[Index, bool]], semantic: Mapping[str, float], limit: int
) -> Relevance:
    """Return the `limit` most relevant bullets of each index (each with whether it is the base's).

    `semantic` are centred cosine similarities (0-1) by bullet id, of those that are nearest.
    """
    hits, matched = list[Hit](), list[Matched]()
    for index, of_base in indexes:
        best, each = _match(query, index, semantic, limit)
        hits += each.hits(best, semantic, of_base=of_base)
        matched.append(each)
    return Relevance(_blend(hits, semantic) if semantic and hits else hits, matched)


def _match(
    query: Query, index: Index, semantic: Mapping[str, float], limit: int
) -> tuple[Iterable[str], Matched]:
    """Return the ids of the most relevant bullets of an index, and what all of its bullets cover."""
    held = _holders(query, index)
    covered = [_covered(part, held) for part in query.parts]
    near = (key for key in semantic if key in index)
    scores = _scores(chain(*covered, near), query.weights, held)
    lifted = lifts(scores, index)
    for key, lift in lifted.items():
        scores[key] = scores.get(key, 0.0) + lift.score
    best: Iterable[str] = scores
    if len(scores) > limit:
        top = max(scores.values()) or 1.0
        blended = {k: s / top + semantic.get(k, 0.0) for k, s in scores.items()} if semantic else scores
        # The keys of the `limit` greatest values; of equal ones those that come first by name
        last = nlargest(limit, blended.values())[-1]
        above = [key for key, value in blended.items() if value > last]
        best = above + sorted(key for key, value in blended.items() if value == last)[: limit - len(above)]
    sentences = zip(covered[1:], query.parts[1:], strict=True)
    of_parts = [scores, *(_scores(met, part.weights, held) for met, part in sentences)]
    return best, Matched(query, held, covered, of_parts, lifted, index, bool(semantic))


@dataclass(frozen=True)
class Matched:
    """What the bullets of an index cover of each part of a query, and their scores in it."""

    query: Query
    held: Mapping[str, _Holders]
    covered: Sequence[Mapping[str, float]]
    scores: Sequence[Mapping[str, float]]
    lifted: Mapping[str, NeighbourLift]
    index: Index
    by_meaning: bool

    def hits(self, keys: Iterable[str], semantic: Mapping[str, float], *, of_base: bool) -> list[Hit]:
        """Return how these bullets meet the query."""
        whole, topic = self.query.parts[0], self.query.topic
        total, known = whole.total or 1.0, whole.known or 1.0
        on_topic = self.index.postings.of(topic) if topic is not None else _NONE
        rest = [
            (part, part.total or 1.0, part.known or 1.0, covered, scores)
            for part, covered, scores in zip(self.query.parts, self.covered, self.scores, strict=True)
        ][1:]
        found = list[Hit]()
        for key in keys:
            covered, score = self.covered[0].get(key, 0.0), self.scores[0][key] / total
            reached, of_topic = covered / total, 0.0
            opens = self._opens(key, whole, covered)
            if key in on_topic and topic is not None:
                of_topic = reached
                covered -= self.query.weights[topic]
            met = [Met(covered / known, score, opens)]
            for part, its_total, its_known, its_covered, its_scores in rest:
                covered = its_covered.get(key, 0.0)
                reached = max(reached, covered / its_total)
                opens = self._opens(key, part, covered)
                met.append(Met(covered / its_known, its_scores.get(key, 0.0) / its_total, opens))
            near = semantic.get(key, 0.0)
            evidence = near + min(reached, self._told(key)) if self.by_meaning else 0.0
            found.append(Hit(key, of_base, min(1.0, reached), score, tuple(met), of_topic, near, evidence))
        return found

    def shared(self, key: str) -> list[str]:
        """Return the terms of the question that a bullet holds, in whichever way; the topic's among them."""
        return [term for term in self.query.weights if self.holds(key, term)]

    def holds_itself(self, key: str, term: str) -> bool:
        """Whether a bullet has the term in its text or its labels."""
        return key in self.held[term].fully

    def compounds(self, key: str, term: str) -> list[str]:
        """Return the bullet's terms that a term of the question is part of, or that are part of it."""
        return [other for other in self.held[term].compounds if key in self.index.postings[other]]

    def coverage(self, key: str) -> Coverage:
        """Return how near a bullet comes to opening the gate, where it comes nearest.

        Also of a bullet that was not matched, because it covers far less than the best.
        """
        held = {
            term: _Holders(_only(key, holders.fully), _only(key, holders.partly))
            for term, holders in self.held.items()
        }
        found = list[Coverage]()
        for number, part in enumerate(self.query.parts):
            total, shared = part.total or 1.0, [term for term in part.weights if self.holds(key, term)]
            covered = _covered(part, held).get(key, 0.0)
            found.append(Coverage(number, covered / total, _needed(self.query, part, shared) / total))
        return max(found, key=lambda one: one.covered / one.needed if one.needed else 0.0)

    def _told(self, key: str) -> float:
        """Return the greatest share of a part that the bullet covers by words that tell of a subject."""
        told = 0.0
        for part, covered in zip(self.query.parts, self.covered, strict=True):
            share = covered.get(key, 0.0) / (part.total or 1.0)
            if share > told and self.query.everyday.issuperset(t for t in part.weights if self.holds(key, t)):
                share = share / _EVERYDAY_ONLY if part is self.query.parts[0] else 0.0
            told = max(told, share)
        return told

    def _opens(self, key: str, part: QueryPart, covered: float) -> bool:
        if not covered or (covered < part.alone - _EPSILON and covered < part.together - _EPSILON):
            return False
        if part is self.query.parts[0] and covered >= part.alone * _EVERYDAY_ONLY:
            return True  # whatever words they are
        held, everyday = self.held, self.query.everyday
        shared = list[str]()
        for term in part.weights:
            holders = held.get(term)
            if holders is not None and (key in holders.fully or key in holders.partly):
                shared.append(term)
                if len(shared) > 1 and not (shared[0] in everyday and term in everyday):
                    break  # more of them change nothing
        return covered >= _needed(self.query, part, shared) - _EPSILON

    def holds(self, key: str, term: str) -> bool:
        """Whether a bullet has a term of the question, in whichever way."""
        holders = self.held.get(term)
        return holders is not None and (key in holders.fully or key in holders.partly)


def _needed(query: Query, part: QueryPart, shared: Collection[str]) -> float:
    """Return the weight that a bullet that holds these terms must cover, to open the gate of the part."""
    least = min(part.alone, part.together) if len(shared) > 1 else part.alone
    if not query.everyday.issuperset(shared):
        return least
    # "Good morning!" says nothing of a subject, however much of it a bullet covers.
    return least * _EVERYDAY_ONLY if part is query.parts[0] else inf


def _only(key: str, postings: Mapping[str, float]) -> Mapping[str, float]:
    return {key: postings[key]} if key in postings else _NONE


def _holders(query: Query, index: Index) -> dict[str, _Holders]:
    """Return who holds each term of the question, without the terms that nobody holds."""
    found: dict[str, _Holders] = {}
    for term in query.weights:
        fully = index.postings.of(term)
        partly: dict[str, float] = {}
        compounds: Sequence[str] = ()
        if term in query.compounding:
            compounds = index.compounds(term)
            for other in compounds:
                for key, weight in index.postings[other].items():
                    if key not in fully and weight * _PARTLY > partly.get(key, 0.0):
                        partly[key] = weight * _PARTLY
        for key, weight in index.source.of(term).items():
            if key not in fully and weight * _PARTLY > partly.get(key, 0.0):
                partly[key] = weight * _PARTLY
        if fully or partly:
            found[term] = _Holders(fully, partly, compounds)
    return found


def _covered(part: QueryPart, held: Mapping[str, _Holders]) -> dict[str, float]:
    """Return the weight that bullets cover of a part, of those that come close to the best.

    Terms are processed from the shortest list on. Once the weight of the remaining terms is too little for a
    bullet that is not found yet to come close, the long lists are only looked up.
    """
    lists = [(held[term], term, weight) for term, weight in part.weights.items() if term in held]
    lists.sort(key=lambda each: (len(each[0].fully) + len(each[0].partly), each[1]))
    left = sum(weight for _, _, weight in lists)
    best = 0.0
    covered: dict[str, float] = {}
    for holders, _, weight in lists:
        grows = left >= _CLOSE * best - _EPSILON
        for postings, share in ((holders.fully, weight), (holders.partly, weight * _PARTLY)):
            if not postings:
                continue
            again = covered.keys() & postings.keys()
            if grows:
                found = dict.fromkeys(postings, share)
                found.update(covered)
                covered = found
                best = max(best, share)
            for key in again:
                covered[key] = reached = covered[key] + share
                if reached > best:
                    best = reached
        left -= weight
    return {key: sum_ for key, sum_ in covered.items() if sum_ >= _CLOSE * best}


def _scores(
    keys: Iterable[str], weights: Mapping[str, float], held: Mapping[str, _Holders]
) -> dict[str, float]:
    """Return the BM25 score of each of these bullets for terms of these weights."""
    scores = dict.fromkeys(keys, 0.0)
    for term, weight in weights.items():
        holders = held.get(term)
        if holders is None:
            continue
        for postings in (holders.fully, holders.partly):
            if postings:
                for key in scores.keys() & postings.keys():
                    scores[key] += weight * postings[key]
    return scores


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
