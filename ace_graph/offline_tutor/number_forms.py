"""One value, several forms: 11/8, 1 3/8, 1.375, 137.5%. The form that a learner wants, and its text."""

from __future__ import annotations

import re
from fractions import Fraction

from ace_graph.arithmetic import format_number
from ace_graph.numerals import Form, Numeral, numerals
from ace_graph.offline_tutor.explain import format_mixed

__all__ = ["ADVICE", "find_restatement", "format_as", "requested_form"]

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
"""What a learner who corrects the form of a result wants, in words that `requested_form` reads."""


def requested_form(text: str) -> Form | None:
    """Return the form that an item of the playbook, or a sentence, asks for; None where it asks for none."""
    wish = _WISH.search(text)
    if wish is None or _AGAINST.search(text[: wish.start()]):
        return None
    return next(form for form in ADVICE if form == wish[1].casefold())


def format_as(value: Fraction, form: Form) -> str | None:
    """Return `value` in that form; None where it has none of its own: a whole number, an endless decimal."""
    if value.denominator == 1:
        return None
    match form:
        case "mixed":
            return format_mixed(value) if abs(value) > 1 else None
        case "decimal" | "percent":
            text = format_number(value if form == "decimal" else value * 100, decimal=True)
            return None if "/" in text else text if form == "decimal" else f"{text}%"
        case "fraction":
            return str(value)
        case "whole":
            return None


def find_restatement(text: str, value: Fraction) -> Numeral | None:
    """Return the first number of a text that has exactly this value, None where there is none."""
    return next(
        (number for number in numerals(text) if number.value == value and number.form != "whole"), None
    )
