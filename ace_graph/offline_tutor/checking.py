"""The calculator's result beside the tutor's own.

Does not: call the calculator.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from ace_graph.offline_tutor.solving import Solution

__all__ = ["Check", "check"]

_EXACT = re.compile(r"exactly (-?\d+/\d+)")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?:/\d+)?")
_CLOSE = Fraction(1, 10**9)


@dataclass(frozen=True, slots=True)
class Check:
    """What to say about the calculator's result; '' when it was not asked."""

    text: str = ""


def check(calculated: str | None, solution: Solution) -> Check:
    """Compare the text that the calculator gave, None for none, with `solution`."""
    if calculated is None:
        return Check()
    text = calculated.strip()
    if text.startswith("Error"):
        return Check("The calculator could not help here, so this is my own working.")
    value = _value(text)
    if value is None or abs(value - solution.value) > _CLOSE * (1 + abs(solution.value)):
        return Check(
            f"The calculator says {text[:80]}, which differs from my own working; check the question."
        )
    return Check(f"The calculator agrees: {solution.question} = {solution.answer}.")


def _value(text: str) -> Fraction | None:
    found = _EXACT.search(text)
    number = found[1] if found is not None else text.replace(",", "")
    if not _NUMBER.fullmatch(number):
        return None
    try:
        return Fraction(number)
    except (ValueError, ZeroDivisionError):
        return None
