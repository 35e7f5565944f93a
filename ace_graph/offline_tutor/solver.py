"""From a problem to its exact answer, with the steps a learner can follow."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import Literal

from ace_graph.arithmetic import NoValue, Number, Operation, Symbol, format_number, format_tree, numbers_of
from ace_graph.offline_tutor.explain import Feature, Working, format_mixed, over_common_denominator
from ace_graph.offline_tutor.parser import Compare, Compute, Convert, Factor, Problem, Simplify

__all__ = ["Kind", "WorkedSolution", "solve"]

Kind = Literal[
    "fraction_addition",
    "fraction_subtraction",
    "fraction_multiplication",
    "fraction_division",
    "fraction_comparison",
    "fraction_simplification",
    "percentages",
    "decimals",
    "factors",
    "arithmetic",
]


_FRACTION_KINDS: dict[Symbol, Kind] = {
    "+": "fraction_addition",
    "-": "fraction_subtraction",
    "×": "fraction_multiplication",
    "÷": "fraction_division",
}


@dataclass(frozen=True, slots=True)
class WorkedSolution:
    """The answer as text and value, how it was reached, and what can be drawn of it."""

    kind: Kind
    question: str
    answer: str
    value: Fraction
    steps: tuple[str, ...]
    features: frozenset[Feature] = frozenset()
    numbers: tuple[Fraction, ...] = ()
    symbol: Symbol | None = None


def solve(problem: Problem) -> WorkedSolution:
    """Return the exact solution of `problem`. Raises NoValue where it has none."""
    match problem:
        case Compute(tree):
            return _compute(tree)
        case Compare():
            return _compare(problem)
        case Simplify(top, bottom):
            return _simplify(top, bottom)
        case Convert():
            return _convert(problem)
        case Factor():
            return _factor(problem)


def _compute(tree: Operation) -> WorkedSolution:
    numbers = numbers_of(tree)
    decimal = not any("/" in number.text for number in numbers)
    working = Working(decimal=decimal)
    if isinstance(tree.left, Operation) or isinstance(tree.right, Operation):
        working.features.add("order")
    value = working.evaluate(tree)
    if any(isinstance(side, Number) and side.is_percent for side in (tree.left, tree.right)):
        kind: Kind = "percentages"
    elif all(number.value.denominator == 1 for number in numbers):
        kind = "arithmetic"
    else:
        kind = "decimals" if decimal else _FRACTION_KINDS.get(tree.symbol, "arithmetic")
    if kind.startswith("fraction") and abs(value) > 1 and value.denominator != 1:
        working.lines.append(f"As a mixed number that is {format_mixed(value)}.")
    return WorkedSolution(
        kind,
        format_tree(tree),
        format_number(value, decimal=decimal),
        value,
        tuple(working.lines),
        frozenset(working.features),
        tuple(number.value for number in numbers),
        tree.symbol,
    )


def _compare(problem: Compare) -> WorkedSolution:
    left, right = problem.left, problem.right
    lines: list[str] = []
    if left.value.denominator != right.value.denominator:
        common, first, second = over_common_denominator(left.value, right.value)
        lines += [
            f"Give both the denominator {common}: {left.text} = {first}/{common}, "
            f"{right.text} = {second}/{common}.",
            "With equal denominators the larger top wins.",
        ]
    chosen, other = left, right
    if (left.value >= right.value) != (problem.asked == "larger"):
        chosen, other = right, left
    if left.value == right.value:
        answer = "equal"
        lines.append(f"{left.text} and {right.text} are equal.")
    else:
        answer = chosen.text
        lines.append(f"{chosen.text} is {problem.asked} than {other.text}.")
    return WorkedSolution(
        "fraction_comparison",
        f"{left.text} or {right.text}",
        answer,
        chosen.value,
        tuple(lines),
        frozenset({"common_denominator", "compare"}),
        (left.value, right.value),
    )


def _simplify(top: int, bottom: int) -> WorkedSolution:
    value, shared, question = Fraction(top, bottom), gcd(top, bottom), f"{top}/{bottom}"
    if shared == 1:
        line = f"{top} and {bottom} share no divisor but 1, so {question} is in lowest terms already."
    else:
        line = f"The largest number that divides {top} and {bottom} is {shared}: {question} = {value}."
    features = frozenset[Feature]({"simplify"})
    return WorkedSolution("fraction_simplification", question, str(value), value, (line,), features, (value,))


def _convert(problem: Convert) -> WorkedSolution:
    value, text = problem.number.value, problem.number.text
    top, bottom = value.numerator, value.denominator
    kind: Kind = "decimals"
    features = frozenset[Feature]()
    match problem.into:
        case "decimal":
            answer = format_number(value, decimal=True)
            if "/" in answer:
                raise NoValue(f"{text} has no decimal that ends; {float(value):.4g} is close to it")
            line = f"Divide the top by the bottom: {top} ÷ {bottom} = {answer}."
        case "percent":
            kind, features = "percentages", frozenset[Feature]({"percent"})
            hundredfold = format_number(value * 100, decimal=True)
            answer = f"{hundredfold}%"
            line = f"Percent means out of 100: {text} × 100 = {hundredfold}."
        case "mixed":
            answer = format_mixed(value)
            line = f"{abs(top)} ÷ {bottom} is {abs(top) // bottom} with remainder {abs(top) % bottom}."
        case "fraction" | "whole":
            features = frozenset[Feature]({"simplify"})
            answer = str(value)
            line = f"{text} = {value} in lowest terms."
    return WorkedSolution(kind, text, answer, value, (line,), features, (value,))


def _factor(problem: Factor) -> WorkedSolution:
    named = " and ".join(str(number) for number in problem.numbers)
    if problem.kind == "multiple":
        value, largest = lcm(*problem.numbers), max(problem.numbers)
        tried = ", ".join(str(largest * n) for n in range(1, min(value // largest, 6) + 1))
        ending = "" if value // largest <= 6 else ", and so on"
        line = f"Count up in steps of {largest} until all divide it: {tried}{ending}. The first is {value}."
    else:
        value = gcd(*problem.numbers)
        line = f"The largest number that divides {named} without remainder is {value}."
    return WorkedSolution("factors", named, str(value), Fraction(value), (line,))
