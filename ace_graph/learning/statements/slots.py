"""Which value of a slot a statement gives, and whether it says more than that.

"I live in Berlin with my cats" says more than where the learner lives. A later home takes its slot and leaves
it as it is, because what is said of the cats is not withdrawn.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ace_graph.learning.statements.forget_requests import Own, values_named
from ace_graph.learning.statements.forms import SLOTS, form_of
from ace_graph.learning.statements.rules import rule_of
from ace_graph.learning.statements.statement import ATTRIBUTION
from ace_graph.memory.delta.operations import Add
from ace_graph.memory.languages.detection import spoken_language
from ace_graph.memory.languages.tables import FIRST, SPACELESS, languages, stop_words, words
from ace_graph.memory.search.tokenize import terms

FACTS = frozenset({"name", "age", "grade", "home", "native_language"})
"""Slots of what a learner is, not of what they wish."""
_WISHES = ("persona", "language")
"""Slots whose value may be many words: "talk like a pirate from the Caribbean"."""
_WITHIN = ("age", "grade")
"""Slots whose value lies within the form, so that any word behind it says more."""
_MOST_WORDS = 4
_SHORT = 2
_COVERAGE = 0.6
"""Share of a statement's words that a request must hold to be about all of it."""
_WORD = re.compile(r"[^\W_]+")
_ASIDE = re.compile(r"[(;:]| [-–—] ")
_PERSONS = ("own", "mine", "relatives", "joints")


class _Value(NamedTuple):
    slot: str
    begin: int


def slot_of(text: str, language: str) -> str | None:
    """Return the slot whose value a statement gives, None for none."""
    value = _value(text, language)
    return value.slot if value is not None else None


def says_more(text: str) -> bool:
    """Whether a statement says more than the value of its slot."""
    read = dict.fromkeys(
        (spoken_language(text), FIRST, *languages("statements"))
    )  # few words tell no language
    for language in read:
        value = _value(text, language)
        if value is not None:
            return _goes_on(text[value.begin :], value.slot, language)
    return True


def _goes_on(rest: str, slot: str, language: str) -> bool:
    roles = (*_PERSONS, "others") if slot == "home" else _PERSONS
    persons = frozenset[str]().union(*(words(language, "persons", name) for name in roles))
    if _ASIDE.search(rest):
        return True
    if language in SPACELESS:
        return any(each in rest for each in persons)
    found = _WORD.findall(rest)
    joints = words(language, "persons", "joints")
    if len(found) > _SHORT and found[-1][0].isupper() and found[-2].casefold() in joints:
        found = found[:-2]  # "Trinidad and Tobago"
    said = [each.casefold() for each in found]
    if not persons.isdisjoint(said):
        return True
    return slot not in _WISHES and _links(said, stop_words(language), within=slot in _WITHIN)


def _links(said: Sequence[str], stops: frozenset[str], *, within: bool) -> bool:
    """Whether words of content stand behind the value, as by a preposition: "Berlin with two cats"."""
    told = [at for at, word in enumerate(said) if word not in stops]
    if within or not told:
        return bool(told)
    between = said[told[0] : told[-1]]
    return len(told) > _MOST_WORDS or any(word in stops and len(word) > _SHORT for word in between)


def sparing(add: Add, own: Own) -> Add:
    """Return the operation; it spares the statement in its slot if that says more than a value."""
    known = own.in_slot(add.slot) if add.slot is not None else None
    if known is None or not says_more(known.content.removeprefix(ATTRIBUTION)):
        return add
    return add.model_copy(update={"spares": known.id})


def is_part(request: str, said: str, slot: str | None) -> bool:
    """Whether a request to forget is about a part of a statement that says more than its value."""
    if slot is None or slot in values_named(request) or not says_more(said):
        return False
    known = set(terms(said))
    return len(known & set(terms(request))) < _COVERAGE * len(known)


def _value(text: str, language: str) -> _Value | None:
    if language == FIRST:
        found = rule_of(text)
        slot = found[0].slot if found is not None else None
        return _Value(slot, found[1].end() - (slot not in _WITHIN)) if found is not None and slot else None
    form = form_of(text, language)
    return _Value(form.kind, form.value) if form is not None and form.kind in SLOTS else None
