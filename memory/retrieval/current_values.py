"""One line for one subject and relation: of facts that differ in their last words alone, the newest is shown.

"Ada lives in Berlin" and "Ada lives in Rome" are one line, "Ada lives in Rome (said earlier: Berlin)", so a
model need not guess which is newer; with the day from which it is true, or on which a person said it. The
words in brackets are true whether the value changed or both hold ("speaks French", "speaks Italian"), and
nothing is dropped. Advice is not folded: evidence judges it, not its date.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from functools import cache, lru_cache
from itertools import filterfalse
from typing import NamedTuple

from ace_graph.memory.bullet import DATED_SLOTS, GIVEN, PROFILE_SECTIONS, Bullet
from ace_graph.memory.classify import infer_memory_type
from ace_graph.memory.languages.relations import Relation, claimed, relation_of, same_value
from ace_graph.memory.languages.tables import stop_words
from ace_graph.memory.playbook import id_number
from ace_graph.memory.retrieval.gate import Retrievable
from ace_graph.memory.retrieval.relevance import Hit
from ace_graph.memory.search.index import PrefixFilter, in_order
from ace_graph.memory.search.tokenize import language_of, terms
from ace_graph.memory.similarity.claim import lexicon
from ace_graph.memory.similarity.compare import compare
from ace_graph.memory.views import BulletFilter

_VALUE_WORDS = 6
"""A value has at most so many words."""
_SUBJECT_TERMS = 2
"""So many content terms stand before the value, at least."""
_WISHES = PROFILE_SECTIONS - {"profile"}
_SAYS = ("learner", "says:")
"""Stands before what a learner said, and is no subject."""
_SHOWN = 3
"""So many earlier values are named, the newest; the line says how many more there are."""
_CACHED_TEXTS = 4_096
_END = " .!;。！"


class Earlier(NamedTuple):
    """The other values of a subject and relation, each once, and whether the newest replaced them all."""

    values: tuple[str, ...] = ()
    replaced: bool = False


def fold(
    usable: Sequence[Retrievable], on: date, others: Sequence[Retrievable] = (), *, one_value: bool = False
) -> tuple[list[Retrievable], Mapping[str, str]]:
    """Return the bullets with one for each subject and relation, and which id is told by which other's line.

    The value of the day `on` takes the best rank of its group, and `earlier` holds the others, the newest
    first. The order is the given one, with that value in the place of the first of its group. `others` are
    facts that did not meet the question, and are returned only as a part of a group. `one_value` as in
    `of_one_relation`.
    """
    items = [*usable, *others]
    told: dict[int, Retrievable | None] = {}
    by: dict[str, str] = {}
    for row in of_one_relation([(item.bullet, item.hit.of_base) for item in items], one_value=one_value):
        if row[0] >= len(usable):
            continue
        by_id = {items[place].bullet.id: items[place] for place in row}
        newest, *older = (
            by_id[bullet.id] for bullet in current_first([item.bullet for item in by_id.values()], on)
        )
        by.update((other.hit.key, newest.hit.key) for other in older)
        told.update(dict.fromkeys(row))
        told[row[0]] = newest._replace(
            hit=_best(newest.hit, [other.hit for other in older]),
            earlier=tuple(other.bullet for other in older),
        )
    if not told:
        return list(usable), by
    kept = (told.get(place, item) for place, item in enumerate(usable))
    return [item for item in kept if item is not None], by


def stated_by(bullet: Bullet) -> Relation | None:
    """Return the relation that a bullet states: by the forms of its text, else by its claim."""
    relation, claim = relation_of(bullet.content), bullet.claim
    return claimed(claim.relation, claim.subject, claim.value) if relation is None and claim else relation


def restated(
    stating: Mapping[str, tuple[str, ...]], removed: Iterable[Bullet], added: Iterable[Bullet]
) -> Mapping[str, tuple[str, ...]]:
    """Return the ids of the bullets that state a relation, by its key, without `removed` and with `added`."""
    gone, new = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for lists, bullets in ((gone, removed), (new, added)):
        for bullet in bullets:
            relation = stated_by(bullet)
            if relation is not None:
                lists[relation.key].append(bullet.id)
    result = dict(stating)
    for key in gone.keys() | new.keys():
        left = filterfalse(set(gone[key]).__contains__, result.pop(key, ()))
        if ids := (*left, *new[key]):
            result[key] = ids
    return result


def of_one_relation(bullets: Sequence[tuple[Bullet, bool]], *, one_value: bool = False) -> list[list[int]]:
    """Return the places of bullets that tell of one subject and relation, those of the base apart.

    With `one_value` every relation holds one value. Which bullets are together does not depend on their
    order; the work grows with their number.
    """
    stated: dict[tuple[bool, str], list[int]] = {}
    begun: dict[tuple[bool, str, tuple[str, ...]], list[int]] = {}
    for place, (bullet, of_base) in enumerate(bullets):
        if not is_fact(bullet):
            continue
        relation = stated_by(bullet)
        key = relation.key if relation is not None else ""
        if relation is not None and (relation.holds_one or one_value):
            stated.setdefault((of_base, key), []).append(place)
        for beginning in _beginnings(bullet.content):
            begun.setdefault((of_base, key, beginning), []).append(place)
    joined = _Joined()
    for places in stated.values():
        if one_value or any(_is_certain(bullets[place][0]) for place in places):
            joined.join(places)
    for (_, _, beginning), places in begun.items():
        if len({_words(bullets[place][0].content)[len(beginning)] for place in places}) > 1:
            joined.join(places)
    return joined.rows()


def contradicting_wishes(bullets: Sequence[tuple[Bullet, bool]], similarity: float) -> list[list[int]]:
    """Return the places of wishes of which a rule tells that they exclude each other: long and short answers.

    `similarity` as in `compare`. Those of the base are apart, and pairs are looked for among those with most
    of their words in common.
    """
    joined, found = _Joined(), PrefixFilter()
    for place, (bullet, _) in enumerate(bullets):
        if bullet.section != "preferences" or bullet.slot is not None:
            continue
        words = in_order(dict.fromkeys(terms(bullet.content)))
        signature = found.signature(words)
        for key in found.candidates(words, signature):
            other, of_base = bullets[int(key)]
            if of_base == bullets[place][1] and compare(other, bullet, similarity).outcome == "rival":
                joined.join([int(key), place])
        found.add(str(place), words, signature)
    return joined.rows()


class _Joined:
    """Places, those that belong together as rows of their own."""

    def __init__(self) -> None:
        self._led_by: dict[int, int] = {}

    def join(self, places: Sequence[int]) -> None:
        first = self._leader(places[0])
        for place in places[1:]:
            self._led_by[self._leader(place)] = first

    def rows(self) -> list[list[int]]:
        """Return the rows of two or more, and the places of each, from the lowest on."""
        found: dict[int, list[int]] = {}
        for place in sorted(self._led_by):
            found.setdefault(self._leader(place), []).append(place)
        return [row for row in found.values() if len(row) > 1]

    def _leader(self, place: int) -> int:
        led_by = self._led_by
        while (other := led_by.setdefault(place, place)) != place:
            led_by[place] = led_by.setdefault(other, other)
            place = other
        return place


def earlier_values(bullet: Bullet, others: Sequence[Bullet], *, one_value: bool = False) -> Earlier:
    """Return the values of other facts of its subject and relation, as their texts say them.

    Of a wish, and of a fact that does not tell its value apart, it is the text. `one_value` as in
    `of_one_relation`.
    """
    own = stated_by(bullet)
    found: dict[str, None] = {}
    replaced, in_slot = True, bullet.slot in DATED_SLOTS
    for other in others:
        relation = stated_by(other)
        if bullet.section in _WISHES and other.section in _WISHES:
            start = len(_SAYS) if _words(other.content)[: len(_SAYS)] == _SAYS else 0
            found[" ".join(other.content.rstrip(_END).split()[start:])] = None
        elif own is None or relation is None or own.key != relation.key:
            found[_last_value(bullet.content, other.content)] = None
            replaced = replaced and in_slot
        elif not same_value(own, relation):
            found[relation.value] = None
            replaced = replaced and (in_slot or own.holds_one or one_value)
    return Earlier(tuple(found), replaced and (in_slot or not _show_many((bullet, *others))))


def _last_value(text: str, other: str) -> str:
    """Return what another text says behind the last beginning that it shares with a text; else all of it."""
    shared = _value_places(text) & _value_places(other)
    begin = len(_SAYS) if _words(other)[: len(_SAYS)] == _SAYS else 0
    place = max((at for at in shared if _words(text)[:at] == _words(other)[:at]), default=begin)
    return " ".join(other.rstrip(_END).split()[place:])


def _show_many(bullets: Sequence[Bullet]) -> bool:
    """Whether facts of one subject and relation show that it holds many values.

    They do where one message states two, and where two were affirmed after both had been said.
    """
    said: dict[tuple[str | None, str], Bullet] = {}
    latest: Bullet | None = None
    for bullet in sorted(bullets, key=lambda each: (each.created_at, each.updated_at, each.id)):
        if bullet.turn_id is not None:
            beside = said.setdefault((bullet.conversation_id, bullet.turn_id), bullet)
            if not _agree(beside, bullet):
                return True
        if bullet.seen > 1:
            if latest is not None and latest.updated_at > bullet.created_at and not _agree(latest, bullet):
                return True
            latest = bullet if latest is None else max(latest, bullet, key=lambda each: each.updated_at)
    return False


def _agree(a: Bullet, b: Bullet) -> bool:
    """Whether two facts state the same value."""
    first, second = stated_by(a), stated_by(b)
    return a is b or (first is not None and second is not None and same_value(first, second))


def current_first(rivals: Sequence[Bullet], on: date) -> list[Bullet]:
    """Return facts of one subject and relation, that with the value of the day `on` first.

    What is true on the day comes before what is past or still to come, and what had begun or was said by then
    before what may have begun later; then the newest: by the day from which it is true where all say so, else
    by when it was said.
    """
    dated = all(bullet.valid_from for bullet in rivals)

    def key(bullet: Bullet) -> tuple[bool, bool, date, tuple[datetime, int]]:
        begun = (bullet.valid_from or bullet.created_at.date()) <= on
        return bullet.true_on(on), begun, (bullet.valid_from if dated else None) or date.min, age(bullet)

    return sorted(rivals, key=key, reverse=True)


def filtered(wanted: BulletFilter, bullets: Iterable[Bullet]) -> list[Bullet]:
    """Return the bullets that pass; with `valid_on` without values that others had replaced by that day."""
    every = list(bullets)
    if wanted.valid_on is not None:
        every = [bullet.on(wanted.valid_on) for bullet in every]
        gone = _replaced_by([each for each in every if each.status in wanted.statuses], wanted.valid_on)
        every = [bullet for bullet in every if bullet.id not in gone]
    return [bullet for bullet in every if wanted.passes(bullet)]


def _replaced_by(bullets: Sequence[Bullet], on: date) -> set[str]:
    """Return the ids of facts whose value another one of their relation had replaced by a day."""
    gone = set[str]()
    for row in of_one_relation([(bullet, False) for bullet in bullets]):
        current, *others = current_first([bullets[place] for place in row], on)
        told = ((other.id, earlier_values(current, [other])) for other in others)
        gone.update(key for key, earlier in told if earlier.values and earlier.replaced)
    return gone


def when_true(bullet: Bullet, earlier: Sequence[Bullet], on: date) -> str:
    """Return the days on which a fact is true, in words for a prompt of the day `on`; "" where none is known.

    A value that others had before, and that has no day of its own, has that on which a person or the host
    said it: of one that is said again the day of the last time.
    """
    first, last = bullet.valid_from, bullet.valid_until
    if last is not None:
        begun = f"{first} " if first else ""
        return f"was true {begun}until {last}" if last < on else f"{begun}until {last}"
    if first is not None:
        return f"since {first}" if first <= on else f"from {first} on"
    if not earlier or GIVEN.isdisjoint(bullet.sources):
        return ""
    again = any(other.created_at > bullet.created_at for other in earlier)
    return f"said {(bullet.updated_at if again else bullet.created_at).date()}"


def with_earlier(text: str, earlier: Earlier, when: str, later: Sequence[str] = ()) -> str:
    """Return a line with the time of its value, those before it and those to come, in brackets behind it."""
    values = earlier.values
    more = f"; and {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
    before = "before" if earlier.replaced else "earlier" if when else "said earlier"
    told = [f"{before}: {'; '.join(values[:_SHOWN])}{more}"] if values else []
    inside = [each for each in (when, *told, *later) if each]
    return f"{text} ({'; '.join(inside)})" if inside else text


def same_relation(a: Bullet, b: Bullet, *, one_value: bool = False) -> bool:
    """Whether two facts tell of one subject and relation; `one_value` as in `of_one_relation`."""
    first, second = stated_by(a), stated_by(b)
    if (first and first.key) != (second and second.key):
        return False
    by_relation = first is not None and (first.holds_one or one_value)
    if not by_relation and set(_beginnings(a.content)).isdisjoint(_beginnings(b.content)):
        return False
    return bool(of_one_relation([(a, False), (b, False)], one_value=one_value))


def about_others(a: Bullet, b: Bullet) -> bool:
    """Whether two facts state relations of two subjects: "Oslo is where Ada lives", and where Bob does."""
    first, second = stated_by(a), stated_by(b)
    return first is not None and second is not None and first.subject != second.subject


def age(bullet: Bullet) -> tuple[datetime, int]:
    """Return what is greater for a newer bullet: of one commit, for the one with the higher number."""
    return bullet.updated_at, id_number(bullet.id)


def is_fact(bullet: Bullet) -> bool:
    """Whether a bullet is neither advice, nor a wish, nor a lesson that evidence has judged.

    What a person or the host said, or pinned, is a fact whatever its votes: it is dated, and not contested. A
    slot holds one value anyway.
    """
    judged = bool(bullet.helpful or bullet.harmful) and GIVEN.isdisjoint(bullet.sources) and not bullet.pinned
    alone = bullet.slot is not None or bullet.section in _WISHES
    if judged or alone or bullet.memory_type == "procedural" or bullet.polarity == "anti_pattern":
        return False
    return stated_by(bullet) is not None or infer_memory_type(bullet.content) != "procedural"


def _best(own: Hit, others: Iterable[Hit]) -> Hit:
    """Return the hit with the rank of the best of its group: they are one line."""
    best = max((own, *others), key=lambda hit: hit.score)
    return best._replace(key=own.key)


def _is_certain(bullet: Bullet) -> bool:
    relation = stated_by(bullet)
    return relation is not None and relation.certain


@lru_cache(_CACHED_TEXTS)
def _beginnings(text: str) -> tuple[tuple[str, ...], ...]:
    """Return the words before each place at which the last value may begin."""
    return tuple(_words(text)[:place] for place in sorted(_value_places(text)))


@lru_cache(_CACHED_TEXTS)
def _value_places(text: str) -> frozenset[int]:
    """Return at which words of a text its last value may begin.

    A word such as "in", "is" or "of" stands before a value: without it texts share a subject alone, as
    "Ada's mother sings" and "Ada's mother bakes bread" do.
    """
    told, before = _words(text), _function_words(language_of(text))
    found = set[int]()
    for place in range(max(1, len(told) - _VALUE_WORDS), len(told)):
        if told[place - 1] in before and lexicon().forms_of_be.isdisjoint(told[place:]):
            subject = told[len(_SAYS) : place] if told[: len(_SAYS)] == _SAYS else told[:place]
            if found or len(terms(" ".join(subject))) >= _SUBJECT_TERMS:
                found.add(place)
    return frozenset(found)


@cache
def _function_words(language: str) -> frozenset[str]:
    return stop_words(language) | lexicon().forms_of_be


@lru_cache(_CACHED_TEXTS)
def _words(text: str) -> tuple[str, ...]:
    return tuple(text.rstrip(_END).casefold().split())
