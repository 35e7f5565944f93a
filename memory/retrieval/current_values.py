"""One line for one subject and relation: of facts that differ in their last words alone, the newest is shown.

"Ada lives in Berlin" and "Ada lives in Rome" are one line, "Ada lives in Rome (said earlier: Berlin)", so a
model need not guess which is newer; with the day from which it is true, or on which a person said it. The
words in brackets are true whether the value changed or both hold ("speaks French", "speaks Italian"), and
nothing is dropped. Advice is not folded: evidence judges it, not its date.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from functools import cache, lru_cache

from ace_graph.memory.bullet import GIVEN, PROFILE_SECTIONS, Bullet
from ace_graph.memory.classify import infer_memory_type
from ace_graph.memory.languages.tables import stop_words
from ace_graph.memory.playbook import id_number
from ace_graph.memory.retrieval.gate import Retrievable
from ace_graph.memory.retrieval.relevance import Hit
from ace_graph.memory.search.tokenize import language_of, terms
from ace_graph.memory.similarity.claim import lexicon

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


def fold(usable: Sequence[Retrievable], on: date) -> tuple[list[Retrievable], Mapping[str, str]]:
    """Return the bullets with one for each subject and relation, and which id is told by which other's line.

    The value of the day `on` takes the best rank of its group, and `earlier` holds the others, the newest
    first. The order is the given one, with the newest in the place of the first of its group.
    """
    told: dict[int, Retrievable | None] = {}
    by: dict[str, str] = {}
    for row in of_one_relation([(item.bullet, item.hit.of_base) for item in usable]):
        items = {usable[place].hit.key: usable[place] for place in row}
        newest, *others = (
            items[bullet.id] for bullet in current_first([item.bullet for item in items.values()], on)
        )
        by.update((other.hit.key, newest.hit.key) for other in others)
        told.update(dict.fromkeys(row))
        told[row[0]] = newest._replace(
            hit=_best(newest.hit, [other.hit for other in others]),
            earlier=tuple(other.bullet for other in others),
        )
    if not told:
        return list(usable), by
    kept = (told.get(place, item) for place, item in enumerate(usable))
    return [item for item in kept if item is not None], by


def of_one_relation(bullets: Sequence[tuple[Bullet, bool]]) -> list[list[int]]:
    """Return the places of bullets that tell of one subject and relation, those of the base apart."""
    groups: dict[tuple[bool, str], list[list[int]]] = {}
    for place, (bullet, of_base) in enumerate(bullets):
        words = _words(bullet.content)
        if not words or not is_fact(bullet):
            continue
        rows = groups.setdefault((of_base, words[0]), [])
        for row in rows:
            if _value_at(bullets[row[0]][0].content, bullet.content) is not None:
                row.append(place)
                break
        else:
            rows.append([place])
    return [row for rows in groups.values() for row in rows if len(row) > 1]


def earlier_values(bullet: Bullet, earlier: Iterable[Bullet]) -> tuple[str, ...]:
    """Return the values of other facts of its subject and relation, each once, as their texts say them."""
    found: dict[str, None] = {}
    for other in earlier:
        place = _value_at(bullet.content, other.content)
        if place is not None:
            found[" ".join(other.content.rstrip(_END).split()[place:])] = None
    return tuple(found)


def current_first(rivals: Sequence[Bullet], on: date) -> list[Bullet]:
    """Return facts of one subject and relation, that with the value of the day `on` first.

    What is true on the day comes before what is past or still to come; then the newest: by the day from which
    it is true where all say so, else by when it was said.
    """
    dated = all(bullet.valid_from for bullet in rivals)

    def key(bullet: Bullet) -> tuple[bool, date, tuple[datetime, int]]:
        begun = bullet.valid_from if dated else None
        return bullet.true_on(on), begun or date.min, age(bullet)

    return sorted(rivals, key=key, reverse=True)


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


def with_earlier(text: str, values: Sequence[str], when: str) -> str:
    """Return a line with the time of its value, and those that were said before it, in brackets behind it."""
    if not values:
        return f"{text} ({when})" if when else text
    more = f"; and {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
    since = f"{when}; earlier" if when else "said earlier"
    return f"{text} ({since}: {'; '.join(values[:_SHOWN])}{more})"


def same_relation(a: Bullet, b: Bullet) -> bool:
    """Whether two facts say something of one subject and relation, each another value."""
    return is_fact(a) and is_fact(b) and _value_at(a.content, b.content) is not None


def relation_keys(text: str) -> tuple[tuple[str, ...], ...]:
    """Return beginnings of a text, of which every other text of its subject and relation has one, too."""
    words = _words(text)
    return tuple(words[:place] for place in range(max(1, len(words) - _VALUE_WORDS), len(words)))


def age(bullet: Bullet) -> tuple[datetime, int]:
    """Return what is greater for a newer bullet: of one commit, for the one with the higher number."""
    return bullet.updated_at, id_number(bullet.id)


def is_fact(bullet: Bullet) -> bool:
    """Whether a bullet is neither advice, nor a wish, nor a lesson that evidence has judged.

    What a person or the host said is a fact whatever its votes: it is dated, and not contested. A pinned
    bullet is shown as it is, and a slot holds one value anyway.
    """
    judged = bool(bullet.helpful or bullet.harmful) and GIVEN.isdisjoint(bullet.sources)
    alone = bullet.pinned or bullet.slot is not None or bullet.section in _WISHES
    if judged or alone or bullet.memory_type == "procedural" or bullet.polarity == "anti_pattern":
        return False
    return infer_memory_type(bullet.content) != "procedural"


def _best(own: Hit, others: Iterable[Hit]) -> Hit:
    """Return the hit with the rank of the best of its group: they are one line."""
    best = max((own, *others), key=lambda hit: hit.score)
    return best._replace(key=own.key)


def _value_at(a: str, b: str) -> int | None:
    """Return at which word the values of two texts begin, None where more than a last value differs.

    A word such as "in", "is" or "of" stands before a value: without it the texts share a subject alone, as
    "Ada's mother sings" and "Ada's mother bakes bread" do.
    """
    first, second = _words(a), _words(b)
    if first[:1] != second[:1] or first == second:
        return None
    place = 0
    for x, y in zip(first, second, strict=False):
        if x != y:
            break
        place += 1
    values = first[place:], second[place:]
    if not all(
        1 <= len(value) <= _VALUE_WORDS and lexicon().forms_of_be.isdisjoint(value) for value in values
    ):
        return None
    before = first[:place]
    if not before or before[-1] not in _function_words(language_of(a)):
        return None
    subject = before[len(_SAYS) :] if before[: len(_SAYS)] == _SAYS else before
    return place if len(terms(" ".join(subject))) >= _SUBJECT_TERMS else None


@cache
def _function_words(language: str) -> frozenset[str]:
    return stop_words(language) | lexicon().forms_of_be


@lru_cache(_CACHED_TEXTS)
def _words(text: str) -> tuple[str, ...]:
    return tuple(text.rstrip(_END).casefold().split())
