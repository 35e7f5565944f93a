"""Answers a question about one number of a solution ("why 12?") in other words than its step."""

from __future__ import annotations

import re

from ace_graph.offline_tutor.explain import over_common_denominator
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
    """Return where `number` comes from, in other words; None where the solution does not hold it.

    In a calculation or comparison of two fractions with different denominators it says why there is a common
    one, how the tops change, and what is counted; otherwise it quotes the first step with the number.
    """
    denominators = {value.denominator for value in solution.numbers}
    if solution.symbol in ("+", "-", None) and len(solution.numbers) == len(denominators - {1}) == 2:
        explained = _with_common_denominator(solution, number)
        if explained is not None:
            return explained
    step = next((line for line in solution.steps if number in _NUMBER.findall(line)), None)
    return f"{number} comes from here: {step}" if step is not None else None


def _with_common_denominator(solution: WorkedSolution, number: str) -> str | None:
    left, right = solution.numbers
    common, *tops = over_common_denominator(left, right)
    if number == str(common):
        return (
            f"{common} is the first number in both times tables: {_multiples(left.denominator, common)} and "
            f"{_multiples(right.denominator, common)}. With {common} below, all pieces have the same size, "
            "so they can be counted together."
        )
    for part, top in zip((left, right), tops, strict=True):
        if number in (str(top), f"{top}/{common}"):
            times = common // part.denominator
            return (
                f"{common} is {times} times {part.denominator}, so each piece of {part} is cut into {times} "
                f"smaller ones: {part.numerator} × {times} = {top} pieces, which is {top}/{common}."
            )
    first, second = tops
    total = first + second if solution.symbol == "+" else first - second
    if solution.symbol is None or number not in (str(total), f"{total}/{common}"):
        return None
    change = f"{second} more make" if solution.symbol == "+" else f"taking away {second} leaves"
    return f"{first} pieces of the size 1/{common}, and {change} {total} of them: {total}/{common}."


def _multiples(of: int, up_to: int) -> str:
    multiples = [str(of * n) for n in range(1, min(up_to // of, _MULTIPLES_SHOWN) + 1)]
    more = [f"... {up_to}"] if up_to // of > _MULTIPLES_SHOWN else []
    return ", ".join(multiples + more)
