"""Works out an expression from the inside, with lines that a learner can follow for each operation."""

from __future__ import annotations

from fractions import Fraction
from math import gcd, lcm
from typing import Literal

from ace_graph.arithmetic import Expression, Number, Symbol, apply, format_number

__all__ = ["Feature", "Working", "format_mixed", "over_common_denominator"]

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
            self.features.add("percent")
            self.lines.append(f"{tree.left.text} means {left * 100} out of 100, so {left}.")
        whole = left.denominator == right.denominator == 1
        match tree.symbol:
            case "+" | "-" if not whole and not self._decimal:
                self._sum_of_fractions(tree.symbol, left, right, value)
            case "×" if not whole and not self._decimal:
                self._product_of_fractions(left, right, value)
            case "÷" if not whole and not self._decimal:
                flipped = 1 / right
                self.features.add("reciprocal")
                self.lines.append(
                    f"Dividing by {right} is multiplying by its reciprocal "
                    f"{flipped.numerator}/{flipped.denominator}."
                )
                self._product_of_fractions(left, flipped, value)
            case "×" if whole and (split := _split(int(left), int(right))) is not None:
                self.features.add("splitting")
                self.lines.append(split)
            case symbol:
                if symbol == "÷" and whole and value.denominator != 1:
                    quotient, rest = divmod(abs(int(left)), abs(int(right)))
                    self.lines.append(f"{abs(left)} ÷ {abs(right)} is {quotient} with remainder {rest}.")
                inside = f"{self._in_brackets(left)} {symbol} {self._in_brackets(right)}"
                self.lines.append(f"{inside} = {format_number(value, decimal=self._decimal)}.")
        return value

    def _sum_of_fractions(self, symbol: Symbol, left: Fraction, right: Fraction, value: Fraction) -> None:
        common, first, second = over_common_denominator(left, right)
        top = first + second if symbol == "+" else first - second
        self.features.add("tops_only")
        if left.denominator == right.denominator:
            self.lines.append(f"Both have the denominator {common}, so it stays as it is.")
        else:
            self.features.add("common_denominator")
            rewritten = [
                f"{part} = {over}/{common}"
                for part, over in ((left, first), (right, second))
                if part.denominator != common
            ]
            self.lines += [
                f"The smallest common denominator of {left.denominator} and {right.denominator} is {common}.",
                " and ".join(rewritten) + ".",
            ]
        verb = "Add" if symbol == "+" else "Subtract"
        self.lines.append(
            f"{verb} the tops only: {first} {symbol} {_signed(second)} = {top}, which gives {top}/{common}."
        )
        self._lowest_terms(top, common, value)

    def _product_of_fractions(self, left: Fraction, right: Fraction, value: Fraction) -> None:
        top, bottom = left.numerator * right.numerator, left.denominator * right.denominator
        self.lines += [
            f"Multiply the tops: {left.numerator} × {_signed(right.numerator)} = {top}.",
            f"Multiply the bottoms: {left.denominator} × {right.denominator} = {bottom}. "
            f"That is {top}/{bottom}.",
        ]
        self._lowest_terms(top, bottom, value)

    def _lowest_terms(self, top: int, bottom: int, value: Fraction) -> None:
        if bottom != value.denominator:
            self.features.add("simplify")
            shared = gcd(top, bottom)
            self.lines.append(f"In lowest terms, dividing both by {shared}: {top}/{bottom} = {value}.")

    def _in_brackets(self, value: Fraction) -> str:
        text = format_number(value, decimal=self._decimal)
        return f"({text})" if value < 0 else text


def over_common_denominator(left: Fraction, right: Fraction) -> tuple[int, int, int]:
    """Return the smallest common denominator of two numbers, and the numerator of each over it."""
    common = lcm(left.denominator, right.denominator)
    return common, int(left * common), int(right * common)


def format_mixed(value: Fraction) -> str:
    """Return `value` as a mixed number: 1 1/2."""
    whole, rest = divmod(abs(value.numerator), value.denominator)
    part = f"{rest}/{value.denominator}" if rest else ""
    return ("-" if value < 0 else "") + (f"{whole} {part}" if whole and part else part or str(whole))


def _split(left: int, right: int) -> str | None:
    """12 × 5 as 10 × 5 + 2 × 5, where that helps."""
    big, small = max(left, right), min(left, right)
    tens, ones = big // 10 * 10, big % 10
    if not (10 < big < 100 and 2 <= small <= 12 and ones):
        return None
    parts = f"{tens} × {small} = {tens * small} and {ones} × {small} = {ones * small}"
    return f"{left} × {right}: {parts}, together {big * small}."


def _signed(value: int) -> str:
    return f"({value})" if value < 0 else str(value)
