"""One operation on two numbers, explained in lines a learner can follow, and what the lines make use of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import Literal

from ace_graph.arithmetic import Symbol, format_number

__all__ = ["NOTHING", "ExplainedStep", "Feature", "explain", "format_mixed"]

Feature = Literal[
    "common_denominator", "tops_only", "simplify", "reciprocal", "order", "percent", "splitting", "compare"
]
"""What the solution made use of; advice about it was followed."""

NOTHING: frozenset[Feature] = frozenset()


@dataclass(frozen=True, slots=True)
class ExplainedStep:
    """One operation explained."""

    lines: tuple[str, ...]
    features: frozenset[Feature] = NOTHING


def explain(
    symbol: Symbol, left: Fraction, right: Fraction, value: Fraction, *, decimal: bool
) -> ExplainedStep:
    """Return how `left symbol right` comes to be `value`, in fractions, or with `decimal` in decimals."""
    whole = left.denominator == right.denominator == 1
    if not whole and not decimal:
        if symbol in ("+", "-"):
            return _sum_of_fractions(symbol, left, right, value)
        if symbol == "×":
            return _product_of_fractions(left, right, value)
        if symbol == "÷":
            return _quotient_of_fractions(left, right, value)
    result = format_number(value, decimal=decimal)
    line = f"{_inside(left, decimal)} {symbol} {_inside(right, decimal)} = {result}."
    if whole and symbol == "×" and (split := _split(int(left), int(right))) is not None:
        return ExplainedStep((split,), frozenset({"splitting"}))
    if whole and symbol == "÷" and value.denominator != 1:
        quotient, rest = divmod(abs(int(left)), abs(int(right)))
        return ExplainedStep((f"{abs(left)} ÷ {abs(right)} is {quotient} with remainder {rest}.", line))
    return ExplainedStep((line,))


def _sum_of_fractions(symbol: Symbol, left: Fraction, right: Fraction, value: Fraction) -> ExplainedStep:
    common = lcm(left.denominator, right.denominator)
    tops = [part.numerator * (common // part.denominator) for part in (left, right)]
    top = tops[0] + tops[1] if symbol == "+" else tops[0] - tops[1]
    features: set[Feature] = {"tops_only"}
    lines: list[str] = []
    if left.denominator == right.denominator:
        lines.append(f"Both have the denominator {common}, so it stays as it is.")
    else:
        features.add("common_denominator")
        lines.append(
            f"The smallest common denominator of {left.denominator} and {right.denominator} is {common}."
        )
        lines.append(" and ".join(_rewritten((left, right), tops, common)) + ".")
    verb = "Add" if symbol == "+" else "Subtract"
    lines.append(
        f"{verb} the tops only: {tops[0]} {symbol} {_signed(tops[1])} = {top}, which gives {top}/{common}."
    )
    return _lowest(top, common, value, lines, features)


def _rewritten(parts: Sequence[Fraction], tops: Sequence[int], common: int) -> list[str]:
    """The parts that do not have the denominator `common` yet, with it."""
    return [
        f"{part} = {top}/{common}"
        for part, top in zip(parts, tops, strict=True)
        if part.denominator != common
    ]


def _product_of_fractions(left: Fraction, right: Fraction, value: Fraction) -> ExplainedStep:
    top, bottom = left.numerator * right.numerator, left.denominator * right.denominator
    lines = [
        f"Multiply the tops: {left.numerator} × {_signed(right.numerator)} = {top}.",
        f"Multiply the bottoms: {left.denominator} × {right.denominator} = {bottom}. That is {top}/{bottom}.",
    ]
    return _lowest(top, bottom, value, lines, set())


def _quotient_of_fractions(left: Fraction, right: Fraction, value: Fraction) -> ExplainedStep:
    flipped = 1 / right
    product = _product_of_fractions(left, flipped, value)
    reciprocal: frozenset[Feature] = frozenset({"reciprocal"})
    first = f"Dividing by {right} is multiplying by its reciprocal {flipped.numerator}/{flipped.denominator}."
    return ExplainedStep((first, *product.lines), product.features | reciprocal)


def _lowest(
    top: int, bottom: int, value: Fraction, lines: list[str], features: set[Feature]
) -> ExplainedStep:
    if bottom != value.denominator:
        shared = gcd(top, bottom)
        lines.append(f"In lowest terms, dividing both by {shared}: {top}/{bottom} = {value}.")
        features.add("simplify")
    return ExplainedStep(tuple(lines), frozenset(features))


def _split(left: int, right: int) -> str | None:
    """12 × 5 as 10 × 5 + 2 × 5, where that helps."""
    big, small = max(left, right), min(left, right)
    tens, ones = big // 10 * 10, big % 10
    if not (10 < big < 100 and 2 <= small <= 12 and ones):
        return None
    parts = f"{tens} × {small} = {tens * small} and {ones} × {small} = {ones * small}"
    return f"{left} × {right}: {parts}, together {big * small}."


def _inside(value: Fraction, decimal: bool) -> str:
    text = format_number(value, decimal=decimal)
    return f"({text})" if value < 0 else text


def _signed(value: int) -> str:
    return f"({value})" if value < 0 else str(value)


def format_mixed(value: Fraction) -> str:
    """Return `value` as a mixed number: 1 1/2."""
    whole, rest = divmod(abs(value.numerator), value.denominator)
    sign = "-" if value < 0 else ""
    if not rest:
        return f"{sign}{whole}"
    return f"{sign}{whole} {rest}/{value.denominator}" if whole else f"{sign}{rest}/{value.denominator}"
