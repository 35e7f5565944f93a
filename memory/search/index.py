"""The inverted index of one playbook: posting lists with BM25 weights, as an immutable value.

A list holds numbers of bullets, in few bytes. It becomes ids with weights when its term is first asked for,
which most terms never are.

A posting's weight depends on its own bullet alone: lengths are compared with a fixed typical length, not
with the mean of the playbook. So adding a bullet changes only the lists of its own terms, and an index after
any changes equals one built from scratch. Votes change nothing in it.

The words of the turn that a bullet came from have lists of their own, so that a ranking can weigh them apart.
"""

from __future__ import annotations

from array import array
from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, lru_cache
from itertools import filterfalse
from math import log
from types import MappingProxyType
from typing import Literal, NamedTuple

from ace_graph.base.copy_on_write import CopyOnWrite, copied
from ace_graph.memory.bullet import Bullet
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
    """The bullets of each turn, the turn of each bullet that has one, and the turns of each conversation.

    All are in order of time. Never mutated.
    """

    members: Mapping[TurnPlace, tuple[_Member, ...]] = field(default_factory=lambda: MappingProxyType({}))
    places: Mapping[str, TurnPlace] = field(default_factory=lambda: MappingProxyType({}))
    conversations: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))

    def bullets(self, conversation: str | None, turn: str) -> tuple[str, ...]:
        """Return the ids of the bullets of a turn, the oldest first."""
        return tuple(member.key for member in self.members.get(TurnPlace(conversation, turn), ()))


class TurnsBuilder:
    """The next turns while they are made."""

    def __init__(self, turns: BulletTurns) -> None:
        self._turns = turns
        self._places = CopyOnWrite(turns.places)
        self._changed: dict[TurnPlace, tuple[_Member, ...]] = {}

    def add(self, bullet: Bullet, turn: str) -> None:
        """Add a bullet of a turn."""
        place = TurnPlace(bullet.conversation_id, turn)
        new = _Member(bullet.created_at, _number(bullet.id), bullet.id)
        self._places.writable()[bullet.id] = place
        self._changed[place] = tuple(sorted((*self._members(place), new)))

    def remove(self, key: str) -> None:
        """Remove a bullet."""
        if key in self._places.now:
            place = self._places.writable().pop(key)
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
        return BulletTurns(members, self._places.frozen(), conversations)

    def _members(self, place: TurnPlace) -> tuple[_Member, ...]:
        changed = self._changed.get(place)
        return self._turns.members.get(place, ()) if changed is None else changed


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
_NOMINATION_SHARE = 0.4
_EPSILON = 1e-9
_SPARE = 64
_TOPIC = "topic:"
_LENGTH = "H"
_FEW_NUMBERS = 65_536
_Code = Literal["H", "I"]
"""How a number is packed: in two bytes where they are few, in four where they are more."""
_NONE: Mapping[str, float] = MappingProxyType({})


def idf(frequency: int, bullets: int) -> float:
    """Return the weight of a term that occurs in `frequency` of `bullets` bullets; always positive."""
    return log(1 + (bullets + _PRIOR_BULLETS - frequency + 0.5) / (frequency + 0.5))


def topic_term(topic: str) -> str:
    """Return the term under which all bullets of a topic are listed; no text contains it."""
    return f"{_TOPIC}{topic.casefold()}"


class Postings(Mapping[str, Mapping[str, float]]):
    """Maps a term to bullet ids and weights; never changed.

    `packed` has the numbers of the bullets with a term, one as often as the bullet has the term. `ids` and
    `lengths` are by number: a bullet's id, and how many terms it has. `known` are the terms already read.
    """

    def __init__(
        self,
        ids: Sequence[str] = (),
        lengths: array[int] | None = None,
        packed: Mapping[str, bytes] = MappingProxyType({}),
        known: Mapping[str, Mapping[str, float]] = MappingProxyType({}),
    ) -> None:
        self.ids = ids
        self.lengths = array(_LENGTH) if lengths is None else lengths
        self.packed = packed
        self.code: _Code = _code_for(ids)
        self.known = _Weighed(packed, self.code, ids, self.lengths)
        self.known.update(known)
        self.of: Callable[[str], Mapping[str, float]] = self.known.__getitem__
        """Return the bullets with a term and the weights of its postings; none for an unknown term."""

    def __getitem__(self, term: str) -> Mapping[str, float]:
        if term not in self.packed:
            raise KeyError(term)
        return self.known[term]

    def __contains__(self, term: object) -> bool:
        return term in self.packed

    def __iter__(self) -> Iterator[str]:
        return iter(self.packed)

    def __len__(self) -> int:
        return len(self.packed)


class _Weighed(dict[str, Mapping[str, float]]):
    """The bullets with a term and their weights, by the terms that were asked for."""

    def __init__(
        self, packed: Mapping[str, bytes], code: _Code, ids: Sequence[str], lengths: Sequence[int]
    ) -> None:
        self._packed, self._ids, self._lengths = packed, ids, lengths
        self._code: _Code = code

    def __missing__(self, term: str) -> Mapping[str, float]:
        if term not in self._packed:
            return _NONE
        ids, lengths, numbers = self._ids, self._lengths, _unpacked(self._packed[term], self._code)
        if term.startswith(_TOPIC):
            found = {ids[n]: 1.0 for n in numbers}
        else:
            found = {ids[n]: _weight(1, lengths[n]) for n in numbers}
        if len(found) < len(numbers):
            found.update(
                (ids[n], _weight(many, lengths[n])) for n, many in Counter(numbers).items() if many > 1
            )
        self[term] = found
        return found


def _code_for(ids: Sequence[str]) -> _Code:
    return "H" if len(ids) <= _FEW_NUMBERS else "I"


def _unpacked(packed: bytes, code: _Code) -> array[int]:
    numbers = array(code)
    numbers.frombytes(packed)
    return numbers


@dataclass(frozen=True, eq=False)
class Index:
    """`postings` maps a term to bullet ids and weights, for `size` bullets.

    `core` are the ids of the bullets that are always candidates. `source` holds the terms of source words, as
    `postings` those of texts and labels. `turns` says which bullets came from a turn and which turns a
    conversation has. `own` is by number: how many different terms a bullet's text has. The parts are never
    mutated. Two indexes of the same bullets are equal, whatever the numbers.
    """

    postings: Postings = field(default_factory=Postings)
    size: int = 0
    own: array[int] = field(default_factory=lambda: array(_LENGTH))
    core: frozenset[str] = frozenset()
    source: Postings = field(default_factory=Postings)
    turns: BulletTurns = BulletTurns()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Index) and self._compared == other._compared

    @property
    def _compared(self) -> tuple[object, ...]:
        own = {key: self.own[number] for key, number in self.numbers.items()}
        return own, self.postings, self.core, self.source, self.turns

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """The number of each bullet by its id; who only searches for words needs none."""
        return {key: number for number, key in enumerate(self.postings.ids) if key}

    @cached_property
    def _vocabulary(self) -> str:
        return vocabulary(self.postings)

    @classmethod
    def build(cls, bullets: Iterable[Bullet]) -> Index:
        """Return the index of these bullets, in any order."""
        return cls().changed((), bullets)

    def __len__(self) -> int:
        return self.size

    def __contains__(self, key: object) -> bool:
        """Whether the bullet with this id is indexed."""
        return key in self.numbers

    @property
    def scattered(self) -> bool:
        """Whether most numbers are those of bullets that are gone, so that a new index takes less memory."""
        return len(self.own) > 2 * self.size + _SPARE

    @property
    def conversations(self) -> Mapping[str, tuple[str, ...]]:
        """The ids of the turns of each conversation, in order of time."""
        return self.turns.conversations

    def changed(self, removed: Iterable[Bullet], added: Iterable[Bullet]) -> Index:
        """Return the index without `removed` and with `added`; a bullet in both was replaced.

        A removed bullet need not be in the index, one that is added again must be among the removed. Takes
        time in proportion to the number of terms and to the lists of the bullets' own terms; a change of
        counters alone returns the same index.
        """
        before = {bullet.id: bullet for bullet in removed if bullet.id in self.numbers}
        after = {bullet.id: bullet for bullet in added}
        unchanged = {key for key in before.keys() & after.keys() if _same_entry(before[key], after[key])}
        outdated = [bullet for key, bullet in before.items() if key not in unchanged]
        new = [bullet for key, bullet in after.items() if key not in unchanged]
        if not outdated and not new:
            return self
        builder = _Builder(self)
        for bullet in outdated:
            builder.remove(bullet)
        for bullet in new:
            builder.add(bullet)
        return builder.index()

    def compounds(self, term: str) -> list[str]:
        """Return the terms of bullets that hold this one or are held by it."""
        return compounds(term, self.postings.packed, self._vocabulary)

    def frequency(self, term: str) -> int:
        """Return how many bullets have the term."""
        return len(self.postings.of(term))

    def covering(self, weights: Mapping[str, float], floor: float) -> dict[str, float]:
        """Return the bullets whose terms weigh at least `floor` together, with that weight.

        Terms are processed from the shortest list on. Once the weight of the remaining terms is below the
        floor, a bullet that is not found yet can't reach it, so the long lists are only looked up.
        """
        lists = [(self.postings.of(term), term, weight) for term, weight in weights.items()]
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
            postings = self.postings.of(term)
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
            lengths = sorted((len(wanted), self.own[self.numbers[key]]))
            return covered[key] * lengths[0] / lengths[1]

        return tuple(sorted(covered, key=lambda key: (-similarity(key), key))[:limit])


class _Builder:
    """The next index while it is made."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._numbers = copied(index.numbers)
        self._ids = list(index.postings.ids)
        self._own = index.own[:]
        self._lengths = index.postings.lengths[:]
        self._source_lengths = index.source.lengths[:]
        self._core = set(index.core)
        self._turns = TurnsBuilder(index.turns)
        self._postings, self._source = _Lists(), _Lists()

    def remove(self, bullet: Bullet) -> None:
        entry, number = _entry(bullet), self._numbers.pop(bullet.id)
        self._ids[number] = ""
        self._postings.remove(number, entry.content)
        self._postings.remove(number, entry.labels)
        self._source.remove(number, entry.source)
        self._core.discard(bullet.id)
        self._turns.remove(bullet.id)

    def add(self, bullet: Bullet) -> None:
        entry, number = _entry(bullet), len(self._ids)
        self._numbers[bullet.id] = number
        self._ids.append(bullet.id)
        self._own.append(entry.own)
        self._lengths.append(len(entry.content))
        self._source_lengths.append(len(entry.source))
        self._postings.add(number, entry.content)
        if entry.labels:
            self._postings.add(number, entry.labels)
        if entry.source:
            self._source.add(number, entry.source)
        if bullet.core:
            self._core.add(bullet.id)
        if bullet.turn_id is not None:
            self._turns.add(bullet, bullet.turn_id)

    def index(self) -> Index:
        old = self._index
        new = Index(
            self._postings.onto(old.postings, self._ids, self._lengths),
            len(self._numbers),
            self._own,
            frozenset(self._core),
            self._source.onto(old.source, self._ids, self._source_lengths),
            self._turns.result(),
        )
        if old.size:
            vars(new)["numbers"] = self._numbers
        return new


class _Lists:
    """What is removed from posting lists and added to them, as numbers by term."""

    def __init__(self) -> None:
        self._gone: defaultdict[str, list[int]] = defaultdict(list)
        self._new: defaultdict[str, list[int]] = defaultdict(list)

    def remove(self, number: int, terms: Iterable[str]) -> None:
        for term in terms:
            self._gone[term].append(number)

    def add(self, number: int, terms: Iterable[str]) -> None:
        new = self._new
        for term in terms:
            new[term].append(number)

    def onto(self, old: Postings, ids: Sequence[str], lengths: array[int]) -> Postings:
        """Return the lists with the changes."""
        packed, known = dict(old.packed), dict(old.known)
        code = _code_for(ids)
        if code != old.code:
            packed = {term: array(code, _unpacked(held, old.code)).tobytes() for term, held in packed.items()}
        for term, numbers in self._gone.items():
            left = filterfalse(set(numbers).__contains__, _unpacked(packed[term], code))
            packed[term] = array(code, left).tobytes()
        for term, numbers in self._new.items():
            packed[term] = packed.get(term, b"") + array(code, numbers).tobytes()
        for term in self._gone:
            if not packed[term]:
                del packed[term]
        for term in (*self._gone, *self._new) if known else ():
            known.pop(term, None)
        return Postings(ids, lengths, packed, known)


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
        and a.turn_id == b.turn_id
        and a.conversation_id == b.conversation_id
        and a.created_at == b.created_at
    )


class _Entry(NamedTuple):
    """The terms of one bullet: of its text, as often as they occur there, `own` of them different.

    `labels` are those of its labels only, `source` those of its source words only.
    """

    content: tuple[str, ...]
    own: int
    labels: Sequence[str]
    source: Sequence[str]


def _entry(bullet: Bullet) -> _Entry:
    language, content = language_and_terms(bullet.content)
    own = set(content)
    named, further = (bullet.topic, bullet.concept, *bullet.tags), (bullet.context, *bullet.keywords)
    found = _label_terms(named, language)
    if any(further):
        found = dict.fromkeys((*found, *terms(_joined(further), language)))
    labels = [term for term in found if term not in own]
    if bullet.topic:
        labels.append(topic_term(bullet.topic))
    source = _source_terms(bullet.source_words, language, own.union(labels)) if bullet.source_words else ()
    return _Entry(content, len(own), labels, source)


@lru_cache(maxsize=16_384)  # the same bullets are shown again and again; 5 MB at most
def own_terms(text: str) -> tuple[str, ...]:
    """Return the terms of a text, each once, as `in_order`."""
    return in_order(set(terms(text)))


def _source_terms(words: tuple[str, ...], language: str, known: Container[str]) -> tuple[str, ...]:
    found = dict.fromkeys(terms(" ".join(words), language))
    return tuple(term for term in found if term not in known)


@lru_cache(maxsize=1_024)
def _label_terms(labels: tuple[str | None, ...], language: str) -> Collection[str]:
    """Return the terms of labels, each once; cached because many bullets have the same ones."""
    return dict.fromkeys(terms(_joined(labels), language)).keys()


def _joined(labels: Iterable[str | None]) -> str:
    return " ".join(filter(None, labels))


@lru_cache(maxsize=8192)
def _weight(count: int, length: int) -> float:
    """Return BM25's saturated term frequency; cached so that equal weights are one object in memory."""
    return count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * length / _TYPICAL_LENGTH))
