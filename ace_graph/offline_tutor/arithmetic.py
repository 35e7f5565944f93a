"""Arithmetic as a tree: read exactly, written back, never rounded.

`1/2` without spaces is the fraction one half; `1 / 2` is a division with the same value. So `1/2 / 3/4`
means what a learner means by it. Numbers are `fractions.Fraction` throughout.

Does not: explain (solver.py does) or look for arithmetic in prose (wording.py does).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

__all__ = ["Expression", "Number", "Operation", "Refusal", "as_python", "compute", "parse", "show", "written"]

Symbol = Literal["+", "-", "×", "÷", "mod", "^"]

MAX_CHARS = 300
_MAX_DEPTH = 20
_MAX_EXPONENT = 64
_MAX_BITS = 512
_DECIMAL_PLACES = 10


@dataclass(frozen=True, slots=True)
class Number:
    """A number with the text the learner wrote it in, such as 1 1/2, 0.5 or 50%."""

    value: Fraction
    text: str


@dataclass(frozen=True, slots=True)
class Operation:
    """Two expressions and what is done with them."""

    symbol: Symbol
    left: Expression
    right: Expression


Expression = Number | Operation
_Write = Callable[[Expression], str]
_Rule = Callable[[], Expression | None]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why there is no result, as a sentence for the learner."""

    reason: str


_TOKEN = re.compile(
    r"""\s*(?:
      (?P<mixed>\d+\s+\d+/0*[1-9]\d*(?![\d/^]|\.\d))
    | (?P<fraction>(?<![/^])\d+/0*[1-9]\d*(?![\d/^]|\.\d))
    | (?P<percent>(?:\d+\.?\d*|\.\d+)\s?%(?!\s*[\d(]))
    | (?P<number>\d+\.?\d*|\.\d+)
    | (?P<mod>mod\b|%)
    | (?P<symbol>[-+*/÷×^()])
    )""",
    re.VERBOSE,
)
_SYMBOLS: dict[str, Symbol] = {
    "*": "×",
    "×": "×",
    "/": "÷",
    "÷": "÷",
    "+": "+",
    "-": "-",
    "^": "^",
    "mod": "mod",
}
_SUMS: frozenset[Symbol] = frozenset({"+", "-"})
_PRODUCTS: frozenset[Symbol] = frozenset({"×", "÷", "mod"})
_POWERS: frozenset[Symbol] = frozenset({"^"})
_PLUS: frozenset[Symbol] = frozenset({"+"})
_MINUS: frozenset[Symbol] = frozenset({"-"})
_PYTHON: dict[Symbol, str] = {"+": "+", "-": "-", "×": "*", "÷": "/", "mod": "%", "^": "**"}
_STRENGTH: dict[Symbol, int] = {"+": 1, "-": 1, "×": 2, "÷": 2, "mod": 2, "^": 3}


def parse(text: str) -> Expression | None:
    """Return the expression that `text` is as a whole, or None when it is none or too long."""
    bounded = len(text) <= MAX_CHARS and text.count("(") <= _MAX_DEPTH
    tokens = _tokens(text) if bounded else None
    if not tokens:
        return None
    reader = _Reader(tokens)
    tree = reader.sum()
    return tree if tree is not None and reader.at_end() else None


def compute(tree: Expression) -> Fraction | Refusal:
    """Return the exact value of `tree`, or why it has none here."""
    if isinstance(tree, Number):
        return tree.value
    left = compute(tree.left)
    if isinstance(left, Refusal):
        return left
    right = compute(tree.right)
    if isinstance(right, Refusal):
        return right
    return apply(tree.symbol, left, right)


def apply(symbol: Symbol, left: Fraction, right: Fraction) -> Fraction | Refusal:
    """Return `left symbol right`, or why it has no result here."""
    match symbol:
        case "+":
            value = left + right
        case "-":
            value = left - right
        case "×":
            value = left * right
        case "÷" | "mod":
            if right == 0:
                return Refusal("Dividing by zero has no result: no number times 0 gives anything but 0.")
            value = left / right if symbol == "÷" else left % right
        case "^":
            return _power(left, right)
    return value if _small(value) else Refusal("That number is too big for me.")


def show(value: Fraction, *, decimal: bool = False) -> str:
    """Return `value` as 5/6 or 7; with `decimal` as 0.75 where that is exact in at most 10 places."""
    if not decimal or value.denominator == 1:
        return str(value)
    scaled = value * 10**_DECIMAL_PLACES
    if scaled.denominator != 1:
        return str(value)
    digits = f"{abs(scaled.numerator):0{_DECIMAL_PLACES + 1}d}"
    text = f"{digits[:-_DECIMAL_PLACES]}.{digits[-_DECIMAL_PLACES:]}".rstrip("0")
    return f"-{text}" if value < 0 else text


def written(tree: Expression) -> str:
    """Return `tree` as a learner would write it: 3 × (4 + 5), 1/2 ÷ 3/4."""
    return tree.text if isinstance(tree, Number) else _joined(tree, written, f" {tree.symbol} ")


def as_python(tree: Expression) -> str:
    """Return `tree` as a calculator takes it: 12*5, (1/2)/(3/4)."""
    if isinstance(tree, Operation):
        return _joined(tree, as_python, _PYTHON[tree.symbol])
    if tree.value.denominator == 1 and tree.value >= 0:
        return str(tree.value)
    return tree.text if re.fullmatch(r"\d*\.\d+", tree.text) else f"({tree.value})"


def _joined(tree: Operation, write: _Write, symbol: str) -> str:
    left, right = write(tree.left), write(tree.right)
    own = _STRENGTH[tree.symbol]
    if isinstance(tree.left, Operation) and _STRENGTH[tree.left.symbol] < own + (tree.symbol == "^"):
        left = f"({left})"
    if isinstance(tree.right, Operation) and _STRENGTH[tree.right.symbol] <= own:
        right = f"({right})"
    return f"{left}{symbol}{right}"


def _power(base: Fraction, exponent: Fraction) -> Fraction | Refusal:
    if exponent.denominator != 1 or abs(exponent) > _MAX_EXPONENT:
        return Refusal("I can only raise to whole powers up to 64.")
    if base == 0 and exponent < 0:
        return Refusal("A negative power of zero has no result: it would divide by zero.")
    if max(base.numerator.bit_length(), base.denominator.bit_length()) * abs(exponent) > _MAX_BITS:
        return Refusal("That number is too big for me.")
    return base ** int(exponent)


def _small(value: Fraction) -> bool:
    return max(value.numerator.bit_length(), value.denominator.bit_length()) <= _MAX_BITS


def _tokens(text: str) -> list[tuple[str, str]] | None:
    found: list[tuple[str, str]] = []
    position, text = 0, text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            return None
        kind = str(match.lastgroup)
        found.append((kind, match[kind]))
        position = match.end()
    return found


class _Reader:
    """Recursive descent over tokens; a method returns None where its rule does not hold."""

    def __init__(self, tokens: Sequence[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._at = 0

    def at_end(self) -> bool:
        return self._at == len(self._tokens)

    def sum(self) -> Expression | None:
        return self._chain(self._product, _SUMS)

    def _product(self) -> Expression | None:
        return self._chain(self._signed, _PRODUCTS)

    def _chain(self, operand: _Rule, symbols: frozenset[Symbol]) -> Expression | None:
        tree = operand()
        while tree is not None and (symbol := self._symbol(symbols)) is not None:
            right = operand()
            tree = Operation(symbol, tree, right) if right is not None else None
        return tree

    def _signed(self) -> Expression | None:
        if self._symbol(_PLUS) is not None:
            return self._signed()
        if self._symbol(_MINUS) is None:
            return self._power()
        inner = self._signed()
        if isinstance(inner, Number):
            return Number(-inner.value, f"-{inner.text}")
        return Operation("×", Number(Fraction(-1), "-1"), inner) if inner is not None else None

    def _power(self) -> Expression | None:
        base = self._atom()
        if base is None or self._symbol(_POWERS) is None:
            return base
        exponent = self._signed()
        return Operation("^", base, exponent) if exponent is not None else None

    def _atom(self) -> Expression | None:
        if self.at_end():
            return None
        kind, text = self._tokens[self._at]
        self._at += 1
        if text == "(":
            inner = self.sum()
            if inner is None or self.at_end() or self._tokens[self._at][1] != ")":
                return None
            self._at += 1
            return inner
        return _number(kind, text)

    def _symbol(self, wanted: frozenset[Symbol]) -> Symbol | None:
        if self.at_end():
            return None
        kind, text = self._tokens[self._at]
        symbol = "mod" if kind == "mod" else _SYMBOLS.get(text)
        if symbol not in wanted:
            return None
        self._at += 1
        return symbol


def _number(kind: str, text: str) -> Number | None:
    match kind:
        case "number":
            return Number(Fraction(text if not text.endswith(".") else text[:-1]), text.rstrip("."))
        case "percent":
            return Number(Fraction(text.rstrip("% ")) / 100, text.replace(" ", ""))
        case "fraction" | "mixed":
            value = sum((Fraction(part) for part in text.split()), Fraction(0))
            return Number(value, " ".join(text.split()))
        case _:
            return None
