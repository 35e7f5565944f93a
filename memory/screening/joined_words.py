"""The plainest orders in texts whose words are run together, cut in two, or spelt letter by letter.

Such a text is read without anything between its letters. An order that stands there in whole words is left to
the other tables, which know what excuses it; one that does not was disguised, and has no excuse.

Does not: find more than the plainest orders that way.
"""

from __future__ import annotations

import re
from itertools import pairwise

from ace_graph.memory.screening.disguise import folded, joined, letters_apart

__all__ = ["disguised_order_in"]

_VERBS = (
    "ignore ignoring disregard forget bypass override obey reveal ignoriere vergiss missachte ignorez ignora"
    " olvida oubliez oublie игнорируй забудь"
)
_WHOSE = (
    "all any every each the your my these those previous prior above earlier system hidden safety alle deine"
    " vorherigen bisherigen toutes les tes vos las todas tus le votre ton las все свои предыдущие твои"
)
_WHAT = (
    "instructions instruction rules guidelines prompts prompt restrictions anweisungen regeln vorgaben"
    " instrucciones reglas consignes regles règles инструкции правила указания"
)
_WORDS = frozenset(f"{_VERBS} {_WHOSE} {_WHAT}".split())
_FOLDED_WORDS = frozenset(map(folded, _WORDS))
_APART = "with its letters set apart"
_MIN_APART, _MIN_DISTINCT = 16, 8
"""A word that is spelt is shorter, an alphabet ascends, a melody has seven letters."""


def _any_of(words: str) -> str:
    return "|".join(sorted(set(folded(words).split()), key=len, reverse=True))


_BEGUN = re.compile(rf"(?:{_any_of(_VERBS)})(?:{_any_of(_WHOSE)})")
_PLAINEST = re.compile(rf"(?:{_any_of(_VERBS)})(?:{_any_of(_WHOSE)}){{1,5}}(?:{_any_of(_WHAT)})")


def disguised_order_in(text: str) -> str | None:
    """Return what is wrong with how a folded text in lower case sets its letters, None for nothing."""
    for run in letters_apart(text):
        letters = run[:400]
        if _BEGUN.search(letters):
            return _APART
        if len(letters) >= _MIN_APART and len(set(letters)) >= _MIN_DISTINCT and not _ascends(letters):
            return _APART
    return _APART if _hides_an_order(text) else None


def _hides_an_order(text: str) -> bool:
    whole = joined(text)
    found = _PLAINEST.search(whole)
    return found is not None and not _stands_in_words(text, found.group())


def _stands_in_words(text: str, order: str) -> bool:
    """Whether the order is a row of whole words of the tables, as in a sentence."""
    words = re.findall(r"[^\W_]{1,64}", text)
    ends, at = list[int](), 0
    for word in words:
        at += len(word)
        ends.append(at)
    start = "".join(words).find(order)
    span = [
        word
        for word, end in zip(words, ends, strict=True)
        if start < end and end - len(word) < start + len(order)
    ]
    return all(word in _FOLDED_WORDS for word in span)


def _ascends(letters: str) -> bool:
    """Whether most letters follow on the one before, as in an alphabet."""
    steps = [ord(b) - ord(a) for a, b in pairwise(letters)]
    return sum(step == 1 for step in steps) * 2 >= len(steps)
