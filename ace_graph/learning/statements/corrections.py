"""Reads "I meant Mara" behind "My name is Mia": the statement again, with the value that is meant.

Only a name or a home is corrected, by what is one for sure: a listed first name, or in English what has a
capital letter. A place may also stand behind the word that was before the other one ("ich meinte in Rom").
"""

from __future__ import annotations

import calendar
import re

from ace_graph.learning.statements.forget_requests import Own
from ace_graph.learning.statements.forms import instead
from ace_graph.learning.statements.slots import says_more
from ace_graph.memory.languages.tables import FIRST, first_names, languages

_CHARS = 120
_SLOTS = ("name", "home")
_DAYS_AND_MONTHS = frozenset((*calendar.day_name, *calendar.month_name))
_VALUE = re.compile(r"(?:[^\W\d_a-z][\w'’-]{0,30}(?: |(?=[.!,]|\Z))){1,3}(?=[.!,]|\Z)")


def corrected(text: str, own: Own, last: str | None) -> str:
    """Return a message that corrects what the turn `last` has stored as that statement, else itself."""
    said = text.strip()
    found = ((each, instead(each).match(said)) for each in languages("statements"))
    language, match = next((each for each in found if each[1] is not None), (FIRST, None))
    known = [each for each in own.said_in(last) if each.slot in _SLOTS] if match and last else []
    if match is None or len(known) != 1 or len(said) > _CHARS or says_more(own.words(known[0])):
        return text
    first, *before = own.words(known[0]).split()
    while before and before[-1][:1].isupper():
        before.pop()
    rest = said[match.end() :]
    meant = match[match.lastindex] if match.lastindex else rest
    same_place = known[0].slot == "home" and bool(before) and meant.startswith(f"{before[-1]} ")
    value = _VALUE.match(meant.removeprefix(f"{before[-1]} ") if same_place else meant)
    if value is None or not (same_place or _is_value(value[0], known[0].slot, language)):
        return text
    rest = "" if match.lastindex else meant.partition(value[0])[2]
    return f"{' '.join((first, *before, value[0]))}{rest}"


def _is_value(value: str, slot: str | None, language: str) -> bool:
    first = value.split()[0]
    if slot == "name":
        return first in first_names()
    return language == FIRST and first not in _DAYS_AND_MONTHS
