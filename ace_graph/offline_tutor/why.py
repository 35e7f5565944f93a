"""Answers a question about one number of a solution ("why 12?") in other words than its step."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import accumulate, repeat
from math import lcm

from ace_graph.offline_tutor.solver import WorkedSolution

__all__ = ["asked_number", "explain_number"]

_WHY = re.compile(
    r"\b(?:why|how come|how (?:do|did|does) \w{1,12} get|where (?:does|did|do|is))\b[^\d.!?]{0,30}"
    r"(\d{1,9}(?:/\d{1,9})?)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+(?:[/.]\d+)?")
_MULTIPLES_SHOWN = 6


def asked_number(question: str) -> str | None:
    """Return the number that the question asks about, as it is written; None where it asks about none."""
    found = _WHY.search(question)
    return found[1] if found is not None else None


def explain_number(solution: WorkedSolution, number: str) -> str | None:
    """Return where `number` comes from, in other words; None where the solution does not hold it."""
    return _of_fractions(solution, number) or _of_step(solution, number)


def _of_fractions(solution: WorkedSolution, number: str) -> str | None:
    """For two fractions with different denominators: the common one, the tops, and what is counted."""
    if solution.symbol not in ("+", "-", None) or len(solution.numbers) != 2:
        return None
    left, right = solution.numbers
    if left.denominator == right.denominator or 1 in (left.denominator, right.denominator):
        return None
    common = lcm(left.denominator, right.denominator)
    if number == str(common):
        return (
            f"{common} is the first number in both times tables: {_multiples(left.denominator, common)} and "
            f"{_multiples(right.denominator, common)}. With {common} below, all pieces have the same size, "
            "so they can be counted together."
        )
    for part in (left, right):
        top = part.numerator * (common // part.denominator)
        if number in (str(top), f"{top}/{common}"):
            return _recut(part, top, common)
    return _counted(solution, number, common)


def _multiples(of: int, up_to: int) -> str:
    count = up_to // of
    shown = accumulate(repeat(of, min(count, _MULTIPLES_SHOWN)))
    text = ", ".join(map(str, shown))
    return text if count <= _MULTIPLES_SHOWN else f"{text}, ... {up_to}"


def _recut(part: Fraction, top: int, common: int) -> str:
    times = common // part.denominator
    return (
        f"{common} is {times} times {part.denominator}, so each piece of {part} is cut into {times} smaller "
        f"ones: {part.numerator} × {times} = {top} pieces, which is {top}/{common}."
    )


def _counted(solution: WorkedSolution, number: str, common: int) -> str | None:
    left, right = (part.numerator * (common // part.denominator) for part in solution.numbers)
    top = left + right if solution.symbol == "+" else left - right
    if solution.symbol is None or number not in (str(top), f"{top}/{common}"):
        return None
    change = f"{right} more make" if solution.symbol == "+" else f"taking away {right} leaves"
    return f"{left} pieces of the size 1/{common}, and {change} {top} of them: {top}/{common}."


def _of_step(solution: WorkedSolution, number: str) -> str | None:
    """Any other number: the step that it comes up in first, and what it starts from."""
    line = next((line for line in solution.steps if number in _NUMBER.findall(line)), None)
    return f"{number} comes from here: {line}" if line is not None else None
