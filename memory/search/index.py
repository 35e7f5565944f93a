"""The inverted index of one playbook: posting lists with BM25 weights, as an immutable value.

A posting's weight depends on its own bullet alone: lengths are compared with a fixed typical length, not
with the mean of the playbook. So adding a bullet changes only the lists of its own terms, and an index after
any changes equals one built from scratch. Votes change nothing in it.

The words of the turn that a bullet came from have lists of their own, so that a ranking can weigh them apart.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, lru_cache
from itertools import chain
from math import log
from types import MappingProxyType
from typing import NamedTuple

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.languages.relations import Relation, claimed, relation_of
from ace_graph.memory.search.tokenize import compounds, language_and_terms, terms, vocabulary

# Prefix filtering: which of some texts share all but a few of their terms with another one.
#
# Two texts that differ in at most three terms have one in common among the first four of each, if all texts
# keep their terms in one fixed order. So a text is looked up by four terms instead of compared with every
# other (AllPairs: Bayardo, Ma and Srikant, "Scaling up all pairs similarity search", 2007). What the
# candidates mean for each other is decided by `similarity.compare`.


MAX_DIFFERENCE = 3
"""Terms that a candidate may lack, or have beyond the text: rivals differ in a word or two."""


def in_order(terms: Iterable[str]) -> tuple[str, ...]:
    """Return the terms in the one order that all texts share: the longest, which tend to be rare, first."""
    return tuple(sorted(sorted(terms), key=len, reverse=True))


_PREFIX = MAX_DIFFERENCE + 1


class PrefixFilter:
    """Texts by their signatures. A text's terms are those of `in_order`, each once.

    `common` are terms that nearly all of the texts share; they come last in a signature, because they hardly
    tell two texts apart.
    """

    def __init__(self, common: Container[str] = ()) -> None:
        self._common = common
        self._keys: dict[str, list[str]] = {}
        self._terms: dict[str, tuple[str, ...]] = {}
        self._places: dict[str, int] = {}

    def signature(self, terms: tuple[str, ...], slot: str | None = None) -> list[str]:
        """Return what a text is found by: the first of its terms, and the profile slot that it fills."""
        common, signature = self._common, list[str]()
        for term in terms:
            if term not in common:
                signature.append(term)
                if len(signature) == _PREFIX:
                    break
        if len(signature) < _PREFIX:
            signature += [term for term in terms if term in common][: _PREFIX - len(signature)]
        if not signature:
            signature.append("")
        if slot is not None:
            signature.append(f" {slot}")  # no term begins with a space
        return signature

    def add(self, key: str, terms: tuple[str, ...], signature: Iterable[str]) -> None:
        """Add a text under its `key`."""
        self._terms[key] = terms
        self._places.setdefault(key, len(self._places))
        for part in signature:
            self._keys.setdefault(part, []).append(key)

    def candidates(self, terms: tuple[str, ...], signature: Iterable[str]) -> list[str]:
        """Return the keys of the texts that share all but MAX_DIFFERENCE, and at least half, of their terms.

        A text of the same slot is a candidate whatever its terms. Keys come in the order of their `add`.
        """
        found, wanted = set[str](), frozenset[str]()
        for part in signature:
            keys = self._keys.get(part)
            if keys is None:
                continue
            wanted = wanted or frozenset(terms)
            for key in keys:
                if key not in found and (part[:1] == " " or _similar(wanted, self._terms[key])):
                    found.add(key)
        return sorted(found, key=self._places.__getitem__)


def _similar(a: frozenset[str], b: tuple[str, ...]) -> bool:
    fewer, larger = len(a), len(b)
    if fewer > larger:
        fewer, larger = larger, fewer
    if larger - fewer > MAX_DIFFERENCE:
        return False
    shared = len(a.intersection(b))
    return shared >= larger - MAX_DIFFERENCE and 2 * shared >= larger


# From which turns the bullets of an index came, and in which order the turns of a conversation were.
#
# A turn is as old as its oldest bullet; of two that are equally old the one with the lower number in that
# bullet's id is first. So the order depends on the bullets alone, not on when they were indexed.


_FEW = 8
"""So many turns are put in their places one by one; more are sorted with the others."""


class Origin(NamedTuple):
    """Where a bullet came from, and since when it is there."""

    conversation: str | None
    turn: str | None
    created_at: datetime


class TurnPlace(NamedTuple):
    """A turn; its id may be unique in its conversation only."""

    conversation: str | None
    turn: str


class _Member(NamedTuple):
    """A bullet of a turn, in the order of time."""

    created_at: datetime
    number: int
    key: str


@dataclass(frozen=True)
class BulletTurns:
    """The bullets of each turn, and the turns of each conversation in order of time. Never mutated."""

    members: Mapping[TurnPlace, tuple[_Member, ...]] = field(default_factory=lambda: MappingProxyType({}))
    conversations: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))

    def bullets(self, conversation: str | None, turn: str) -> tuple[str, ...]:
        """Return the ids of the bullets of a turn, the oldest first."""
        return tuple(member.key for member in self.members.get(TurnPlace(conversation, turn), ()))


class TurnsBuilder:
    """The next turns while they are made."""

    def __init__(self, turns: BulletTurns) -> None:
        self._turns = turns
        self._changed: dict[TurnPlace, tuple[_Member, ...]] = {}

    def add(self, key: str, origin: Origin) -> None:
        """Add a bullet; without a turn it is in none."""
        if origin.turn is not None:
            place = TurnPlace(origin.conversation, origin.turn)
            new = _Member(origin.created_at, _number(key), key)
            self._changed[place] = tuple(sorted((*self._members(place), new)))

    def remove(self, key: str, origin: Origin) -> None:
        """Remove a bullet that was added with this origin."""
        if origin.turn is not None:
            place = TurnPlace(origin.conversation, origin.turn)
            self._changed[place] = tuple(each for each in self._members(place) if each.key != key)

    def result(self) -> BulletTurns:
        """Return the turns with all changes; turns and conversations without a bullet are gone."""
        if not self._changed:
            return self._turns
        members = {**self._turns.members, **self._changed}
        changed: dict[str, list[str]] = {}
        for place, left in self._changed.items():
            if not left:
                del members[place]
            if place.conversation is not None:
                changed.setdefault(place.conversation, []).append(place.turn)
        conversations = dict(self._turns.conversations)
        for conversation, turns in changed.items():
            order = _ordered(conversation, conversations.get(conversation, ()), turns, members)
            if order:
                conversations[conversation] = order
            else:
                conversations.pop(conversation, None)
        return BulletTurns(members, conversations)

    def _members(self, place: TurnPlace) -> tuple[_Member, ...]:
        changed = self._changed.get(place)
        return self._turns.members.get(place, ()) if changed is None else changed


def origin_of(bullet: Bullet) -> Origin | None:
    """Return where a bullet came from, None where nothing is known of it."""
    if bullet.turn_id is None and bullet.conversation_id is None:
        return None
    return Origin(bullet.conversation_id, bullet.turn_id, bullet.created_at)


def _ordered(
    conversation: str,
    known: Iterable[str],
    changed: Iterable[str],
    members: Mapping[TurnPlace, tuple[_Member, ...]],
) -> tuple[str, ...]:
    """Return the turns of a conversation in order of time, of which those in `changed` may have moved."""

    def moment(turn: str) -> _Member:
        return members[TurnPlace(conversation, turn)][0]

    moved = set(changed)
    order = [turn for turn in known if turn not in moved]
    present = [turn for turn in moved if TurnPlace(conversation, turn) in members]
    if len(present) > _FEW:
        return tuple(sorted((*order, *present), key=moment))
    for turn in present:
        insort(order, turn, key=moment)
    return tuple(order)


def _number(key: str) -> int:
    """Return the counter at the end of an id, 0 where there is none."""
    digits = key.rpartition("-")[2]
    return int(digits) if len(digits) <= 9 and digits.isascii() and digits.isdigit() else 0


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
_NEWEST_STATING = 64
"""So many bullets of one subject and relation are looked at: the value of today is among the last ones."""
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
    its source words only. `relation` is the key of the relation that its text states, '' for none.
    """

    content: tuple[str, ...]
    labels: tuple[str, ...]
    source: tuple[str, ...] = ()
    origin: Origin | None = None
    relation: str = ""


@dataclass(frozen=True)
class Index:
    """`postings` maps a term to bullet ids and weights, `documents` an id to its terms and its turn.

    `core` are the ids of the bullets that are always candidates. `source` holds the terms of source words, as
    `postings` those of texts and labels. `turns` says which bullets came from a turn and which turns a
    conversation has. `relations` lists the bullets that state a relation of a subject, by its key
    (`languages.relations`). The parts are never mutated.
    """

    postings: Postings = field(default_factory=lambda: MappingProxyType({}))
    documents: Mapping[str, IndexedBullet] = field(default_factory=lambda: MappingProxyType({}))
    core: frozenset[str] = frozenset()
    source: Postings = field(default_factory=lambda: MappingProxyType({}))
    turns: BulletTurns = BulletTurns()
    relations: Postings = field(default_factory=lambda: MappingProxyType({}))

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
        """Return the terms of bullets that hold this one or are held by it."""
        return compounds(term, self.postings, self._vocabulary)

    def frequency(self, term: str) -> int:
        """Return how many bullets have the term."""
        return len(self.postings.get(term, ()))

    def newest_stating(self, relation: str) -> list[str]:
        """Return the ids of the newest bullets that state a relation, by its key: those indexed last."""
        return list(self.relations.get(relation, ()))[-_NEWEST_STATING:]

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
        pause = wait = 1
        for postings, _, weight in lists:
            if left >= need:
                found = dict.fromkeys(postings, weight)
                again = covered.keys() & found.keys() if covered else ()
                found.update(covered)
                covered = found
            else:
                wait -= 1
                if (
                    not wait
                ):  # of texts that share many terms few drop out: those are looked for less and less often
                    before = len(covered)
                    covered = {key: sum_ for key, sum_ in covered.items() if sum_ + left >= need}
                    pause = 1 if len(covered) < 0.9 * before else 2 * pause
                    wait = pause
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
        self._relations = _Lists(index.relations)

    def remove(self, key: str) -> None:
        document = self._documents.pop(key)
        self._postings.remove(key, chain(document.content, document.labels))
        self._source.remove(key, document.source)
        self._core.discard(key)
        if document.origin is not None:
            self._turns.remove(key, document.origin)
        if document.relation:
            self._relations.remove(key, (document.relation,))

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
        if document.relation:
            self._relations.add(bullet.id, {document.relation: 1.0})

    def index(self) -> Index:
        return Index(
            self._postings.result(),
            self._documents,
            frozenset(self._core),
            self._source.result(),
            self._turns.result(),
            self._relations.result(),
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
        and a.claim == b.claim
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
    relation = stated_by(bullet)
    key = relation.key if relation is not None else ""
    return IndexedBullet(own, tuple(labelled), source, origin_of(bullet), key), weights


def stated_by(bullet: Bullet) -> Relation | None:
    """Return the relation that a bullet states: by the forms of its text, else by its claim."""
    relation, claim = relation_of(bullet.content), bullet.claim
    return claimed(claim.relation, claim.subject, claim.value) if relation is None and claim else relation


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
