"""One value, several ways to write it: 11/8, 1 3/8, 1.375, 137.5%. Which one a learner wants, and writing it.

Does not: change a value. A form that can't hold it exactly is not used.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Literal

from ace_graph.offline_tutor.arithmetic import show
from ace_graph.offline_tutor.explain import mixed

__all__ = ["ADVICE", "Form", "form_wanted", "in_form", "restated"]

Form = Literal["mixed", "decimal", "percent", "fraction"]

_WRITTEN: tuple[tuple[Form, re.Pattern[str]], ...] = (
    ("mixed", re.compile(r"(?<![\d./])(\d{1,9}) (\d{1,9})/(0*[1-9]\d{0,8})(?![\d/])")),
    ("percent", re.compile(r"(?<![\d./])(\d{1,9}(?:\.\d{1,9})?) ?%")),
    ("fraction", re.compile(r"(?<![\d./])(\d{1,9})/(0*[1-9]\d{0,8})(?![\d/])")),
    ("decimal", re.compile(r"(?<![\d./])(\d{1,9}\.\d{1,9})(?![\d/%])")),
)
_WISH = re.compile(
    r"\b(?:as|prefers?|wants?)\s+(?:an?\s+)?(?:plain |improper )?(mixed|decimal|percent|fraction)"
    r"(?:\s+number|age)?s?\b(?! (?:circle|bar|strip))",
    re.IGNORECASE,
)
_AGAINST = re.compile(r"\b(?:never|don'?t|do not|avoid|not|without)\b", re.IGNORECASE)

ADVICE: dict[Form, str] = {
    "mixed": "give a result above one as a mixed number",
    "decimal": "give the result as a decimal",
    "percent": "give the result as a percentage",
    "fraction": "give the result as a fraction in lowest terms",
}
"""What a learner who corrects the form of a result wants, in words that `form_wanted` reads."""


def form_wanted(text: str) -> Form | None:
    """Return the form that an item of the playbook, or a sentence, asks for; None where it asks for none."""
    wish = _WISH.search(text)
    if wish is None or _AGAINST.search(text[: wish.start()]):
        return None
    return _named(wish[1])


def in_form(value: Fraction, form: Form) -> str | None:
    """Return `value` in that form; None where it has none of its own: a whole number, an endless decimal."""
    if value.denominator == 1:
        return None
    match form:
        case "mixed":
            return mixed(value) if abs(value) > 1 else None
        case "decimal" | "percent":
            told = show(value if form == "decimal" else value * 100, decimal=True)
            return None if "/" in told else told if form == "decimal" else f"{told}%"
        case "fraction":
            return str(value)


def restated(text: str, value: Fraction) -> tuple[Form, str] | None:
    """Return the form, and the words, in which a text holds exactly this value; None where it does not."""
    for form, pattern in _WRITTEN:
        for match in pattern.finditer(text):
            if _value(form, match) == value:
                return form, match.group()
    return None


def _value(form: Form, match: re.Match[str]) -> Fraction:
    match form:
        case "mixed":
            return int(match[1]) + Fraction(int(match[2]), int(match[3]))
        case "percent":
            return Fraction(match[1]) / 100
        case "fraction":
            return Fraction(int(match[1]), int(match[2]))
        case "decimal":
            return Fraction(match[1])


def _named(word: str) -> Form:
    match word.casefold():
        case "mixed":
            return "mixed"
        case "decimal":
            return "decimal"
        case "percent":
            return "percent"
        case _:
            return "fraction"
