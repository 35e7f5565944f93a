"""From a problem to its exact answer, with the steps a learner can follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import Literal

from ace_graph.arithmetic import (
    Expression,
    NoValue,
    Number,
    Operation,
    Symbol,
    apply,
    format_number,
    format_tree,
    numbers_of,
)
from ace_graph.offline_tutor.explain import NOTHING, Feature, explain, format_mixed
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


_CONVERTED: Mapping[str, frozenset[Feature]] = {
    "percent": frozenset({"percent"}),
    "fraction": frozenset({"simplify"}),
}


@dataclass(frozen=True, slots=True)
class WorkedSolution:
    """The answer as text and value, how it was reached, and what can be drawn of it."""

    kind: Kind
    question: str
    answer: str
    value: Fraction
    steps: tuple[str, ...]
    features: frozenset[Feature] = NOTHING
    numbers: tuple[Fraction, ...] = ()
    symbol: Symbol | None = None


def solve(problem: Problem) -> WorkedSolution:
    """Return the exact solution of `problem`. Raises NoValue where it has none."""
    match problem:
        case Compute():
            return _compute(problem)
        case Compare():
            return _compare(problem)
        case Simplify():
            return _simplify(problem)
        case Convert():
            return _convert(problem)
        case Factor():
            return _factor(problem)


def _compute(problem: Compute) -> WorkedSolution:
    tree, decimal = problem.tree, _is_decimal(problem.tree)
    lines: list[str] = []
    features: set[Feature] = {"order"} if _mixes(tree) else set()
    value = _evaluate(tree, decimal, lines, features)
    kind, operands = _kind(tree), tuple(number.value for number in numbers_of(tree))
    answer = format_number(value, decimal=decimal)
    if kind.startswith("fraction") and abs(value) > 1 and value.denominator != 1:
        lines.append(f"As a mixed number that is {format_mixed(value)}.")
    return WorkedSolution(
        kind, format_tree(tree), answer, value, tuple(lines), frozenset(features), operands, tree.symbol
    )


def _evaluate(tree: Expression, decimal: bool, lines: list[str], features: set[Feature]) -> Fraction:
    """Compute `tree` from the inside, adding a line for every operation."""
    if isinstance(tree, Number):
        return tree.value
    left = _evaluate(tree.left, decimal, lines, features)
    right = _evaluate(tree.right, decimal, lines, features)
    value = apply(tree.symbol, left, right)
    if isinstance(tree.left, Number) and tree.left.is_percent:
        features.add("percent")
        lines.append(
            f"{tree.left.text} means {format_number(left * 100)} out of 100, so {format_number(left)}."
        )
    step = explain(tree.symbol, left, right, value, decimal=decimal)
    lines.extend(step.lines)
    features.update(step.features)
    return value


def _compare(problem: Compare) -> WorkedSolution:
    left, right = problem.left, problem.right
    lines: list[str] = []
    if left.value.denominator != right.value.denominator:
        common = lcm(left.value.denominator, right.value.denominator)
        tops = [part.value.numerator * (common // part.value.denominator) for part in (left, right)]
        lines.append(
            f"Give both the denominator {common}: {left.text} = {tops[0]}/{common}, "
            f"{right.text} = {tops[1]}/{common}."
        )
        lines.append("With equal denominators the larger top wins.")
    chosen = left if (left.value >= right.value) == (problem.asked == "larger") else right
    if left.value == right.value:
        lines.append(f"{left.text} and {right.text} are equal.")
    else:
        other = right if chosen is left else left
        lines.append(f"{chosen.text} is {problem.asked} than {other.text}.")
    answer = "equal" if left.value == right.value else chosen.text
    features: frozenset[Feature] = frozenset({"common_denominator", "compare"})
    question = f"{left.text} or {right.text}"
    values = (left.value, right.value)
    return WorkedSolution(
        "fraction_comparison", question, answer, chosen.value, tuple(lines), features, values
    )


def _simplify(problem: Simplify) -> WorkedSolution:
    top, bottom, value = problem.top, problem.bottom, Fraction(problem.top, problem.bottom)
    shared = gcd(top, bottom)
    if shared == 1:
        line = f"{top} and {bottom} share no divisor but 1, so {top}/{bottom} is in lowest terms already."
    else:
        line = f"The largest number that divides {top} and {bottom} is {shared}: {top}/{bottom} = {value}."
    features: frozenset[Feature] = frozenset({"simplify"})
    return WorkedSolution(
        "fraction_simplification", f"{top}/{bottom}", str(value), value, (line,), features, (value,)
    )


def _convert(problem: Convert) -> WorkedSolution:
    value, text = problem.number.value, problem.number.text
    top, bottom = value.numerator, value.denominator
    hundredfold = format_number(value * 100, decimal=True)
    match problem.into:
        case "decimal":
            answer = format_number(value, decimal=True)
            line = f"Divide the top by the bottom: {top} ÷ {bottom} = {answer}."
        case "percent":
            answer = f"{hundredfold}%"
            line = f"Percent means out of 100: {text} × 100 = {hundredfold}."
        case "mixed":
            answer = format_mixed(value)
            line = f"{abs(top)} ÷ {bottom} is {abs(top) // bottom} with remainder {abs(top) % bottom}."
        case "fraction" | "whole":
            answer = str(value)
            line = f"{text} = {value} in lowest terms."
    if problem.into == "decimal" and "/" in answer:
        raise NoValue(f"{text} has no decimal that ends; {float(value):.4g} is close to it")
    kind: Kind = "percentages" if problem.into == "percent" else "decimals"
    return WorkedSolution(kind, text, answer, value, (line,), _CONVERTED.get(problem.into, NOTHING), (value,))


def _factor(problem: Factor) -> WorkedSolution:
    named = " and ".join(str(number) for number in problem.numbers)
    if problem.kind == "multiple":
        value = lcm(*problem.numbers)
        largest = max(problem.numbers)
        tried = ", ".join(str(largest * n) for n in range(1, min(value // largest, 6) + 1))
        ending = "" if value // largest <= 6 else ", and so on"
        line = f"Count up in steps of {largest} until all divide it: {tried}{ending}. The first is {value}."
    else:
        value = gcd(*problem.numbers)
        line = f"The largest number that divides {named} without remainder is {value}."
    return WorkedSolution("factors", named, str(value), Fraction(value), (line,))


def _kind(tree: Operation) -> Kind:
    if any(isinstance(side, Number) and side.is_percent for side in (tree.left, tree.right)):
        return "percentages"
    if all(number.value.denominator == 1 for number in numbers_of(tree)):
        return "arithmetic"
    if _is_decimal(tree):
        return "decimals"
    match tree.symbol:
        case "+":
            return "fraction_addition"
        case "-":
            return "fraction_subtraction"
        case "×":
            return "fraction_multiplication"
        case "÷":
            return "fraction_division"
        case _:
            return "arithmetic"


def _is_decimal(tree: Expression) -> bool:
    """Whether the learner writes decimals, or whole numbers only, and no fraction."""
    return not any("/" in number.text for number in numbers_of(tree))


def _mixes(tree: Operation) -> bool:
    """Whether one operation waits for another, so that their order matters."""
    return isinstance(tree.left, Operation) or isinstance(tree.right, Operation)
