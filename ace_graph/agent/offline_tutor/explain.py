"""Works out an expression from the inside, with lines that a learner can follow for each operation."""

from __future__ import annotations

from fractions import Fraction
from math import gcd, lcm
from typing import Literal

from ace_graph.memory.arithmetic import Expression, Number, Symbol, apply, format_number

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
