"""From a problem to its exact answer, with the steps, and where a number in them comes from."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from fractions import Fraction
from math import gcd, lcm
from typing import Literal, NamedTuple

from ace_graph.agent.offline_tutor.explain import Feature, Working, format_mixed, over_common_denominator
from ace_graph.agent.offline_tutor.parser import Compare, Compute, Convert, Factor, Problem
from ace_graph.memory.arithmetic import (
    NoValue,
    Number,
    Operation,
    Symbol,
    format_number,
    format_tree,
    numbers_of,
)

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
_WHY = re.compile(
    r"\b(?:why|how come|how (?:do|did|does) \w{1,12} get|where (?:does|did|do|is))\b[^\d.!?]{0,30}"
    r"(\d{1,9}(?:/\d{1,9})?)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+(?:[/.]\d+)?")
_MULTIPLES_SHOWN = 6


class WorkedSolution(NamedTuple):
    """The answer as text and value, how it was reached, and what can be drawn of it."""

    kind: Kind
    question: str
    answer: str
    value: Fraction
    steps: Sequence[str]
    features: Set[Feature] = frozenset()
    numbers: tuple[Fraction, ...] = ()
    symbol: Symbol | None = None


def solve(problem: Problem) -> WorkedSolution:
    """Return the exact solution of `problem`. Raises NoValue where it has none."""
    match problem:
        case Compute(tree):
            return _compute(tree)
        case Compare():
            return _compare(problem)
        case Convert():
            return _convert(problem)
        case Factor():
            return _factor(problem)


def _compute(tree: Operation) -> WorkedSolution:
    numbers = numbers_of(tree)
    values = tuple(number.value for number in numbers)
    decimal = not any("/" in number.text for number in numbers)
    working = Working(decimal=decimal)
    if isinstance(tree.left, Operation) or isinstance(tree.right, Operation):
        working.features.add("order")
    value = working.evaluate(tree)
    if any(isinstance(side, Number) and side.is_percent for side in (tree.left, tree.right)):
        kind: Kind = "percentages"
    elif all(each.denominator == 1 for each in values):
        kind = "arithmetic"
    else:
        kind = "decimals" if decimal else _FRACTION_KINDS.get(tree.symbol, "arithmetic")
    if kind.startswith("fraction") and abs(value) > 1 and value.denominator != 1:
        working.lines.append(f"As a mixed number that is {format_mixed(value)}.")
    question, answer = format_tree(tree), format_number(value, decimal=decimal)
    return WorkedSolution(kind, question, answer, value, working.lines, working.features, values, tree.symbol)


def _compare(problem: Compare) -> WorkedSolution:
    left, right, asked = problem
    common, first, second = over_common_denominator(left.value, right.value)
    lines: list[str] = []
    if left.value.denominator != right.value.denominator:
        rewritten = f"{left.text} = {first}/{common}, {right.text} = {second}/{common}"
        lines.append(f"Give both the denominator {common}: {rewritten}.")
        lines.append("With equal denominators the larger top wins.")
    chosen, other = (left, right) if (first >= second) == (asked == "larger") else (right, left)
    answer, line = chosen.text, f"{chosen.text} is {asked} than {other.text}."
    if first == second:
        answer, line = "equal", f"{left.text} and {right.text} are equal."
    numbers, features = (left.value, right.value), frozenset[Feature](("common_denominator", "compare"))
    question = f"{left.text} or {right.text}"
    return WorkedSolution(
        "fraction_comparison", question, answer, chosen.value, [*lines, line], features, numbers
    )


def _convert(problem: Convert) -> WorkedSolution:
    value, text = problem.number.value, problem.number.text
    kind: Kind = "decimals"
    features = frozenset[Feature]()
    answer = str(value)
    match problem.into:
        case "decimal":
            answer = format_number(value, decimal=True)
            if "/" in answer:
                raise NoValue(f"{text} has no decimal that ends; {float(value):.4g} is close to it")
            line = f"Divide the top by the bottom: {value.numerator} ÷ {value.denominator} = {answer}."
        case "percent":
            kind, features = "percentages", frozenset[Feature](["percent"])
            answer = f"{format_number(value * 100, decimal=True)}%"
            line = f"Percent means out of 100: {text} × 100 = {answer[:-1]}."
        case "mixed":
            answer = format_mixed(value)
            whole, rest = divmod(abs(value.numerator), value.denominator)
            line = f"{abs(value.numerator)} ÷ {value.denominator} is {whole} with remainder {rest}."
        case "fraction" | "whole":
            kind = "fraction_simplification" if "/" in text else "decimals"
            features = frozenset[Feature](["simplify"])
            line = _lowest_terms(text, value)
    return WorkedSolution(kind, text, answer, value, (line,), features, (value,))


def _lowest_terms(text: str, value: Fraction) -> str:
    top, slash, bottom = text.partition("/")
    if not slash or " " in top:
        return f"{text} = {value} in lowest terms."
    shared = gcd(int(top), int(bottom))
    if shared == 1:
        return f"{top} and {bottom} share no divisor but 1, so {text} is in lowest terms already."
    return f"The largest number that divides {top} and {bottom} is {shared}: {text} = {value}."


def _factor(problem: Factor) -> WorkedSolution:
    numbers, named = problem.numbers, " and ".join(str(number) for number in problem.numbers)
    if problem.kind == "multiple":
        value, step = lcm(*numbers), max(numbers)
        tried = _multiples(step, value)
        line = f"Count up in steps of {step} until all divide it: {tried}. The first is {value}."
    else:
        value = gcd(*numbers)
        line = f"The largest number that divides {named} without remainder is {value}."
    return WorkedSolution("factors", named, str(value), Fraction(value), (line,))


def asked_number(question: str) -> str | None:
    """Return the number that the question asks about, as it is written; None where it asks about none."""
    found = _WHY.search(question)
    return found[1] if found is not None else None


def explain_number(solution: WorkedSolution, number: str) -> str | None:
    """Return where `number` comes from, in other words; None where the solution does not hold it.

    In a calculation or comparison of two fractions with different denominators it says why there is a common
    one, how the tops change, and what is counted; otherwise it quotes the first step with the number.
    """
    denominators, explained = {value.denominator for value in solution.numbers}, None
    if solution.symbol in ("+", "-", None) and len(solution.numbers) == len(denominators - {1}) == 2:
        explained = _with_common_denominator(solution, number)
    step = next((line for line in solution.steps if number in _NUMBER.findall(line)), None)
    return explained or (f"{number} comes from here: {step}" if step is not None else None)


def _with_common_denominator(solution: WorkedSolution, number: str) -> str | None:
    left, right = solution.numbers
    common, first, second = over_common_denominator(left, right)
    if number == str(common):
        tables = f"{_multiples(left.denominator, common)} and {_multiples(right.denominator, common)}"
        size = f"With {common} below, all pieces have the same size, so they can be counted together."
        return f"{common} is the first number in both times tables: {tables}. {size}"
    for part, top in ((left, first), (right, second)):
        if number in (str(top), f"{top}/{common}"):
            times = common // part.denominator
            cut = f"{common} is {times} times {part.denominator}, so each piece of {part} is cut into {times}"
            return f"{cut} smaller ones: {part.numerator} × {times} = {top} pieces, which is {top}/{common}."
    total = first + second if solution.symbol == "+" else first - second
    if solution.symbol is None or number not in (str(total), f"{total}/{common}"):
        return None
    change = f"{second} more make" if solution.symbol == "+" else f"taking away {second} leaves"
    return f"{first} pieces of the size 1/{common}, and {change} {total} of them: {total}/{common}."


def _multiples(of: int, up_to: int) -> str:
    multiples = [str(of * n) for n in range(1, min(up_to // of, _MULTIPLES_SHOWN) + 1)]
    more = [f"... {up_to}"] if up_to // of > _MULTIPLES_SHOWN else []
    return ", ".join(multiples + more)
