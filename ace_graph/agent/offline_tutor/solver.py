"""From a problem to its exact answer, with the steps, a picture, and where a number in them comes from."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from fractions import Fraction
from math import gcd, lcm
from typing import Literal, NamedTuple

from ace_graph.agent.offline_tutor.parser import Compare, Compute, Convert, Factor, Problem
from ace_graph.memory.arithmetic import (
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

Feature = Literal[
    "common_denominator", "tops_only", "simplify", "reciprocal", "order", "percent", "splitting", "compare"
]
"""What the solution made use of; advice about it was followed."""


class Working:
    """An expression being worked out: the lines that explain it, and what they make use of.

    With `decimal`, results are written as decimals where that is exact, otherwise as fractions.
    """

    def __init__(self, *, decimal: bool) -> None:
        self._decimal = decimal
        self.lines: list[str] = []
        self.features: set[Feature] = set()

    def evaluate(self, tree: Expression) -> Fraction:
        """Return the value of `tree`. Raises NoValue where it has none."""
        if isinstance(tree, Number):
            return tree.value
        left, right = self.evaluate(tree.left), self.evaluate(tree.right)
        value = apply(tree.symbol, left, right)
        if isinstance(tree.left, Number) and tree.left.is_percent:
            self._explain(f"{tree.left.text} means {left * 100} out of 100, so {left}.", "percent")
        whole = left.denominator == right.denominator == 1
        fractions = not whole and not self._decimal
        match tree.symbol:
            case "+" | "-" if fractions:
                self._sum_of_fractions(tree.symbol, left, right, value)
            case "×" if fractions:
                self._product_of_fractions(left, right, value)
            case "÷" if fractions:
                flipped = 1 / right
                upside_down = f"{flipped.numerator}/{flipped.denominator}"
                self._explain(
                    f"Dividing by {right} is multiplying by its reciprocal {upside_down}.", "reciprocal"
                )
                self._product_of_fractions(left, flipped, value)
            case "×" if whole and (split := _split(int(left), int(right))) is not None:
                self._explain(split, "splitting")
            case symbol:
                if symbol == "÷" and whole and value.denominator != 1:
                    quotient, rest = divmod(abs(int(left)), abs(int(right)))
                    self._explain(f"{abs(left)} ÷ {abs(right)} is {quotient} with remainder {rest}.")
                result = format_number(value, decimal=self._decimal)
                self._explain(f"{self._signed(left)} {symbol} {self._signed(right)} = {result}.")
        return value

    def _explain(self, line: str, *features: Feature) -> None:
        self.lines.append(line)
        self.features.update(features)

    def _sum_of_fractions(self, symbol: Symbol, left: Fraction, right: Fraction, value: Fraction) -> None:
        common, first, second = over_common_denominator(left, right)
        top = first + second if symbol == "+" else first - second
        if left.denominator == right.denominator:
            self._explain(f"Both have the denominator {common}, so it stays as it is.")
        else:
            both = f"{left.denominator} and {right.denominator}"
            self._explain(f"The smallest common denominator of {both} is {common}.", "common_denominator")
            rewritten = (
                f"{part} = {over}/{common}"
                for part, over in ((left, first), (right, second))
                if part.denominator != common
            )
            self._explain(f"{' and '.join(rewritten)}.")
        verb, tops = "Add" if symbol == "+" else "Subtract", f"{first} {symbol} {self._signed(second)}"
        self._explain(f"{verb} the tops only: {tops} = {top}, which gives {top}/{common}.", "tops_only")
        self._lowest_terms(top, common, value)

    def _product_of_fractions(self, left: Fraction, right: Fraction, value: Fraction) -> None:
        top, bottom = left.numerator * right.numerator, left.denominator * right.denominator
        bottoms = f"{left.denominator} × {right.denominator} = {bottom}"
        self._explain(f"Multiply the tops: {left.numerator} × {self._signed(right.numerator)} = {top}.")
        self._explain(f"Multiply the bottoms: {bottoms}. That is {top}/{bottom}.")
        self._lowest_terms(top, bottom, value)

    def _lowest_terms(self, top: int, bottom: int, value: Fraction) -> None:
        if bottom != value.denominator:
            by = gcd(top, bottom)
            self._explain(f"In lowest terms, dividing both by {by}: {top}/{bottom} = {value}.", "simplify")

    def _signed(self, value: Fraction | int) -> str:
        text = format_number(Fraction(value), decimal=self._decimal)
        return f"({text})" if value < 0 else text


def over_common_denominator(left: Fraction, right: Fraction) -> tuple[int, int, int]:
    """Return the smallest common denominator of two numbers, and the numerator of each over it."""
    common = lcm(left.denominator, right.denominator)
    return common, int(left * common), int(right * common)


def format_mixed(value: Fraction) -> str:
    """Return `value` as a mixed number: 1 1/2."""
    whole, rest = divmod(abs(value.numerator), value.denominator)
    parts = [str(whole)] if whole or not rest else []
    parts += [f"{rest}/{value.denominator}"] if rest else []
    return ("-" if value < 0 else "") + " ".join(parts)


def _split(left: int, right: int) -> str | None:
    """12 × 5 as 10 × 5 + 2 × 5, where that helps."""
    big, small = max(left, right), min(left, right)
    tens, ones = big // 10 * 10, big % 10
    if not (10 < big < 100 and 2 <= small <= 12 and ones):
        return None
    parts = f"{tens} × {small} = {tens * small} and {ones} × {small} = {ones * small}"
    return f"{left} × {right}: {parts}, together {big * small}."


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


_MAX_CELLS = 30
_MAX_WHOLES = 4
_MAX_DOTS = 20
_MAX_SIDE = 12
_HUNDRED = 20


def draw(solution: WorkedSolution) -> str | None:
    """Return a picture of `solution`, several lines without a line end, or None where none would help."""
    numbers = solution.numbers
    if solution.kind == "percentages":
        share = next((number for number in numbers if 0 <= number <= 1), None)
        return _bars([(f"{share * 100}%", share)], _HUNDRED) if share is not None else None
    if solution.kind in ("arithmetic", "factors"):
        return _dots(solution)
    shown = [(str(number), number) for number in numbers]
    if solution.symbol in ("+", "-"):
        shown.append((f"= {solution.value}", solution.value))
    return _bars(shown, lcm(*(number.denominator for _, number in shown))) if shown else None


def _bars(shown: Sequence[tuple[str, Fraction]], cells: int) -> str | None:
    """A bar of `cells` cells to the whole for each labelled number, or None when one does not fit."""
    if cells > _MAX_CELLS or any(not 0 <= value <= _MAX_WHOLES for _, value in shown):
        return None
    width = max(len(label) for label, _ in shown)
    lines, cells = list[str](), max(cells, 4)
    for label, value in shown:
        filled = round(value * cells)
        row = "#" * filled + "." * (max(1, -(-filled // cells)) * cells - filled)
        wholes = "".join(f"[{row[start : start + cells]}]" for start in range(0, len(row), cells))
        lines.append(f"{label.rjust(width)} {wholes}")
    return "\n".join(lines)


def _dots(solution: WorkedSolution) -> str | None:
    if len(solution.numbers) != 2 or any(number.denominator != 1 for number in solution.numbers):
        return None
    left, right = (int(number) for number in solution.numbers)
    if solution.symbol == "×" and 1 <= left <= _MAX_SIDE and 1 <= right <= _MAX_SIDE:
        return "\n".join(["o " * (right - 1) + "o"] * left)
    if solution.symbol == "+" and left > 0 and right > 0 and left + right <= _MAX_DOTS:
        return f"{'o' * left} + {'o' * right} = {'o' * (left + right)}"
    if solution.symbol == "-" and 0 < right <= left <= _MAX_DOTS:
        return f"{'o' * (left - right)}{'x' * right}   ({right} of {left} crossed out)"
    return None
