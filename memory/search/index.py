"""The inverted index of one playbook: posting lists with BM25 weights, as an immutable value.

A posting's weight depends on its own bullet alone: lengths are compared with a fixed typical length, not
with the mean of the playbook. So adding a bullet changes only the lists of its own terms, and an index after
any changes equals one built from scratch. Votes change nothing in it.

The words of the turn that a bullet came from have lists of their own, so that a ranking can weigh them apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain
from math import log
from types import MappingProxyType
from typing import NamedTuple

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.search.compounds import compounds, vocabulary
from ace_graph.memory.search.prefix_filter import in_order
from ace_graph.memory.search.tokenize import language_and_terms, terms
from ace_graph.memory.search.turns import Origin, Turns, TurnsBuilder, origin_of

__all__ = ["Index", "IndexedBullet", "idf", "topic_term"]

_K1 = 1.2
_B = 0.75
_TYPICAL_LENGTH = 16
"""Content terms of a typical bullet."""

_PRIOR_BULLETS = 100
"""Added to the number of bullets, so that in a small playbook a term that occurs is not worthless."""

_CACHED_CHARS = 128
"""Longer labels are hardly those of another bullet."""

_NOMINATION_SHARE = 0.4
_EPSILON = 1e-9

Postings = Mapping[str, Mapping[str, float]]
_NONE: Mapping[str, float] = MappingProxyType({})


def idf(frequency: int, bullets: int) -> float:
    """Return the weight of a term that occurs in `frequency` of `bullets` bullets; always positive."""
    return log(1 + (bullets + _PRIOR_BULLETS - frequency + 0.5) / (frequency + 0.5))


def topic_term(topic: str) -> str:
    """Return the term under which all bullets of a topic are listed; no text contains it."""
    return f"topic:{topic.casefold()}"


class IndexedBullet(NamedTuple):
    """The terms of one bullet, each once, and the turn that it came from.

    `content` are the terms of its text (as `in_order`), `labels` those of its labels only, `source` those of
    its source words only.
    """

    content: tuple[str, ...]
    labels: tuple[str, ...]
    source: tuple[str, ...] = ()
    origin: Origin | None = None


@dataclass(frozen=True)
class Index:
    """`postings` maps a term to bullet ids and weights, `documents` an id to its terms and its turn.

    `core` are the ids of the bullets that are always candidates. `source` holds the terms of source words, as
    `postings` those of texts and labels. `turns` says which bullets came from a turn and which turns a
    conversation has. The parts are never mutated.
    """

    postings: Postings = field(default_factory=lambda: MappingProxyType({}))
    documents: Mapping[str, IndexedBullet] = field(default_factory=lambda: MappingProxyType({}))
    core: frozenset[str] = frozenset()
    source: Postings = field(default_factory=lambda: MappingProxyType({}))
    turns: Turns = Turns()  # noqa: RUF009  an immutable value

    @cached_property
    def _vocabulary(self) -> str:
        return vocabulary(self.postings)

    @classmethod
    def build(cls, bullets: Iterable[Bullet]) -> Index:
        """Return the index of these bullets, in any order."""
        return cls().changed((), bullets)

    def __len__(self) -> int:
        return len(self.documents)

    @property
    def conversations(self) -> Mapping[str, tuple[str, ...]]:
        """The ids of the turns of each conversation, in order of time."""
        return self.turns.conversations

    def changed(self, removed: Iterable[Bullet], added: Iterable[Bullet]) -> Index:
        """Return the index without `removed` and with `added`; a bullet in both was replaced.

        A removed bullet need not be in the index. Takes time in proportion to the number of terms and to the
        lists of the bullets' own terms; a change of counters alone returns the same index.
        """
        before = {bullet.id: bullet for bullet in removed}
        after = {bullet.id: bullet for bullet in added}
        unchanged = {key for key in before.keys() & after.keys() if _same_entry(before[key], after[key])}
        outdated = [key for key in {**before, **after} if key not in unchanged and key in self.documents]
        new = [bullet for key, bullet in after.items() if key not in unchanged]
        if not outdated and not new:
            return self
        builder = _Builder(self)
        for key in outdated:
            builder.remove(key)
        for bullet in new:
            builder.add(bullet)
        return builder.index()

    def compounds(self, term: str) -> list[str]:
        """Return the terms of bullets that hold this one or are held by it; see compounds.py."""
        return compounds(term, self.postings, self._vocabulary)

    def frequency(self, term: str) -> int:
        """Return how many bullets have the term."""
        return len(self.postings.get(term, ()))

    def covering(self, weights: Mapping[str, float], floor: float) -> dict[str, float]:
        """Return the bullets whose terms weigh at least `floor` together, with that weight.

        Terms are processed from the shortest list on. Once the weight of the remaining terms is below the
        floor, a bullet that is not found yet can't reach it, so the long lists are only looked up.
        """
        lists = [(self.postings.get(term, _NONE), term, weight) for term, weight in weights.items()]
        lists.sort(key=lambda each: (len(each[0]), each[1]))
        left = sum(weights.values())
        need = floor - _EPSILON
        covered: dict[str, float] = {}
        for postings, _, weight in lists:
            if left >= need:
                found = dict.fromkeys(postings, weight)
                again = covered.keys() & found.keys() if covered else ()
                found.update(covered)
                covered = found
            else:
                covered = {key: sum_ for key, sum_ in covered.items() if sum_ + left >= need}
                again = covered.keys() & postings.keys()
            for key in again:
                covered[key] += weight
            left -= weight
        return {key: sum_ for key, sum_ in covered.items() if sum_ >= need}

    def scores(self, keys: Iterable[str], weights: Mapping[str, float]) -> dict[str, float]:
        """Return the BM25 score of each of these bullets for terms of these weights."""
        scores = dict.fromkeys(keys, 0.0)
        for term, weight in weights.items():
            postings = self.postings.get(term, _NONE)
            for key in scores.keys() & postings.keys():
                scores[key] += weight * postings[key]
        return scores

    def nominate(self, text: str, limit: int = 10) -> tuple[str, ...]:
        """Return the ids of at most `limit` bullets that may say the same as `text`, likeliest first.

        They share at least 40 % of the weight of its terms. A text without content terms has none.
        """
        wanted = set(terms(text))
        weights = {term: idf(self.frequency(term), len(self)) for term in wanted}
        covered = self.covering(weights, _NOMINATION_SHARE * sum(weights.values())) if wanted else {}

        def similarity(key: str) -> float:
            lengths = sorted((len(wanted), len(self.documents[key].content)))
            return covered[key] * lengths[0] / lengths[1]

        return tuple(sorted(covered, key=lambda key: (-similarity(key), key))[:limit])


class _Builder:
    """The next index while it is made."""

    def __init__(self, index: Index) -> None:
        self._postings = _Lists(index.postings)
        self._source = _Lists(index.source)
        self._documents = dict(index.documents)
        self._core = set(index.core)
        self._turns = TurnsBuilder(index.turns)

    def remove(self, key: str) -> None:
        document = self._documents.pop(key)
        self._postings.remove(key, chain(document.content, document.labels))
        self._source.remove(key, document.source)
        self._core.discard(key)
        if document.origin is not None:
            self._turns.remove(key, document.origin)

    def add(self, bullet: Bullet) -> None:
        document, weights = _entry(bullet)
        self._postings.add(bullet.id, weights)
        if document.source:
            weight = _weight(1, len(document.source))
            self._source.add(bullet.id, dict.fromkeys(document.source, weight))
        self._documents[bullet.id] = document
        if bullet.core:
            self._core.add(bullet.id)
        if document.origin is not None:
            self._turns.add(bullet.id, document.origin)

    def index(self) -> Index:
        return Index(
            self._postings.result(),
            self._documents,
            frozenset(self._core),
            self._source.result(),
            self._turns.result(),
        )


class _Lists:
    """Posting lists while they are changed: one is copied before it is first written to."""

    def __init__(self, postings: Postings) -> None:
        self._postings = postings
        self._own: dict[str, dict[str, float]] = {}

    def remove(self, key: str, terms: Iterable[str]) -> None:
        for term in terms:
            del self._writable(term)[key]

    def add(self, key: str, weights: Mapping[str, float]) -> None:
        own = self._own
        for term, weight in weights.items():
            (own.get(term) or self._writable(term))[key] = weight

    def result(self) -> Postings:
        if not self._own:
            return self._postings
        changed = dict(self._postings)
        for term, postings in self._own.items():
            if postings:
                changed[term] = postings
            else:
                changed.pop(term, None)
        return changed

    def _writable(self, term: str) -> dict[str, float]:
        own = self._own.get(term)
        if own is None:
            own = self._own[term] = dict(self._postings.get(term, ()))
        return own


def _same_entry(a: Bullet, b: Bullet) -> bool:
    return (
        a.content == b.content
        and a.topic == b.topic
        and a.concept == b.concept
        and a.tags == b.tags
        and a.keywords == b.keywords
        and a.context == b.context
        and a.core == b.core
        and a.source_words == b.source_words
        and origin_of(a) == origin_of(b)
    )


def _entry(bullet: Bullet) -> tuple[IndexedBullet, dict[str, float]]:
    """Return the terms of a bullet and their weights: its text, and each of its labels once."""
    language, content = language_and_terms(bullet.content)
    length = len(content)
    once = _weight(1, length)
    weights = dict.fromkeys(content, once)
    own = in_order(weights)
    if len(own) < length:
        counts = dict.fromkeys(own, 0)
        for term in content:
            counts[term] += 1
        weights.update([(term, _weight(count, length)) for term, count in counts.items() if count > 1])
    named = (bullet.topic or "", bullet.concept or "", bullet.context or "")
    labels = " ".join((*named, *bullet.tags, *bullet.keywords)).strip()
    found = _label_terms(labels, language) if len(labels) <= _CACHED_CHARS else terms(labels, language)
    labelled = dict.fromkeys([term for term in found if term not in weights], once)
    if bullet.topic:
        labelled[topic_term(bullet.topic)] = 1.0
    weights.update(labelled)
    source = _source_terms(bullet.source_words, language, weights) if bullet.source_words else ()
    return IndexedBullet(own, tuple(labelled), source, origin_of(bullet)), weights


def _source_terms(words: tuple[str, ...], language: str, known: Mapping[str, float]) -> tuple[str, ...]:
    found = dict.fromkeys(terms(" ".join(words), language))
    return tuple(term for term in found if term not in known)


@lru_cache(maxsize=1_024)
def _label_terms(labels: str, language: str) -> tuple[str, ...]:
    """Return the terms of labels; cached because many bullets have the same ones."""
    return terms(labels, language)


@lru_cache(maxsize=8192)
def _weight(count: int, length: int) -> float:
    """Return BM25's saturated term frequency; cached so that equal weights are one object in memory."""
    return count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * length / _TYPICAL_LENGTH))
