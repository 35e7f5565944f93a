"""Calculations as people write them: "what is 7 x 8?", "12 x 12 is 124", and their exact values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from functools import cache

from ace_graph.learning.statements.sentences import sentences, skip
from ace_graph.memory.arithmetic import calculate, parse_result
from ace_graph.memory.languages.forms import any_of
from ace_graph.memory.languages.tables import SPACELESS, languages, phrases
from ace_graph.memory.numbers import normalize, parse_number

_TIMES = re.compile(r"(?<=[\d) ])x(?=[\d( ])")
_IN_WORDS = (
    (" multiplied by ", "*"),
    (" divided by ", "÷"),
    (" times ", "*"),
    (" plus ", "+"),
    (" minus ", "-"),
)
_WRITTEN = re.compile(r"[\d.,+\-*/÷×·−^() ]+")
_OPERATION = re.compile(r"[\d)] ?[+\-*/÷×·−^] ?[\d(.-]")
_EQUALS = re.compile(r" (?:is|equals|makes|gives|are) | ?= ?", re.IGNORECASE)
_MAX_CHARS = 300
_MARKS = " ?=.!？。！"


def calculation_in(question: str) -> str | None:
    """Return the one calculation that a sentence of the question consists of, None for none or several.

    Its numbers may be words ("one half plus one quarter").
    """
    said = (sentence.text for sentence in sentences(question))
    found = [each for each in (_written(s) or _spelled(s) for s in said) if each is not None]
    return found[0] if len(found) == 1 else None


def value_of(calculation: str) -> Fraction | None:
    """Return the value of what `calculation_in` found, None where it has none."""
    return parse_result(calculate(calculation))


def correction_of_sum(claim: str) -> str | None:
    """Return what is right where a text is one calculation with a wrong result ("12 x 12 is 124")."""
    if len(claim) > _MAX_CHARS:
        return None
    sides = _EQUALS.split(claim)
    asked = _written(sides[0]) if len(sides) == 2 else None
    value = value_of(asked) if asked is not None else None
    claimed = parse_number(sides[1]) if value is not None else None
    if value is None or claimed is None or value == claimed:
        return None
    return f"{asked} = {value}, not {sides[1].strip()}"


def patterns() -> Iterator[re.Pattern[str]]:
    """Yield every pattern that is made of the tables."""
    yield _asking()[0]


def _without_question(sentence: str) -> str:
    """Return a sentence without what asks for the value of a calculation, in the languages of the tables."""
    before, after = _asking()
    asked = sentence[skip(before, sentence) :].rstrip(_MARKS)
    ending = next((each for each in after if asked.endswith(each)), "")
    return asked.removesuffix(ending)


@cache
def _asking() -> tuple[re.Pattern[str], tuple[str, ...]]:
    """What stands before a calculation, with a space behind it in languages with spaces, and after it."""
    spaced, apart, after = list[str](), list[str](), list[str]()
    for language in languages("feedback"):
        found = phrases(language, "feedback", "sum_before")
        (apart if language in SPACELESS else spaced).extend(found)
        after += phrases(language, "feedback", "sum_after")
    before = rf"(?:{any_of(spaced)})[ ,:]{{1,3}}|(?:{any_of(apart)})[ ,:，：]{{0,3}}"
    pattern = re.compile(f"¿?(?:{before})")
    return pattern, tuple(sorted(after, key=len, reverse=True))


def _spelled(sentence: str) -> str | None:
    if len(sentence) > _MAX_CHARS or " of " in sentence:  # "half of 3 plus 4" can be read in two ways
        return None
    return _written(normalize(sentence))


def _written(sentence: str) -> str | None:
    if len(sentence) > _MAX_CHARS:
        return None
    calculation = _without_question(sentence.casefold()).rstrip(_MARKS)
    for words, sign in _IN_WORDS:
        calculation = calculation.replace(words, f" {sign} ")
    calculation = _TIMES.sub("*", calculation)
    if _WRITTEN.fullmatch(calculation) is None or _OPERATION.search(calculation) is None:
        return None
    divisions = calculation.count("/") + calculation.count("÷")
    two_ways = divisions > 1 and ("÷" in calculation or " / " in calculation)
    return None if two_ways else calculation.replace("*", "×")
