"""Exact arithmetic: an expression as a tree, its value, and its text.

Two notations are read. LEARNER: `1/2` without spaces is the fraction one half, `1 / 2` is a division,
so `1/2 / 3/4` is one half divided by three quarters; `1 1/2` is a mixed number, `50%` a percentage.
PROGRAM: Python's numbers and operators, with its precedence. Values are `fractions.Fraction`; nothing is
ever executed, and sizes, powers and nesting are bounded, so that every text takes little time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from ace_graph.memory.numbers import parse_number

Symbol = Literal["+", "-", "×", "÷", "//", "mod", "^"]
MAX_CHARS = 300
_MAX_DEPTH = 50
_DECIMAL_PLACES = 10


class NoValue(ArithmeticError):
    """The expression has no value here; the text says why, as the end of a sentence."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number with the text that it was written in, such as 1 1/2, 0.5 or 50%."""

    value: Fraction
    text: str

    @property
    def is_percent(self) -> bool:
        return self.text.endswith("%")


@dataclass(frozen=True, slots=True)
class Operation:
    """Two expressions and the operation that joins them."""

    symbol: Symbol
    left: Expression
    right: Expression


Expression = Number | Operation


@dataclass(frozen=True, slots=True)
class Notation:
    """How numbers and operators are written, and the largest values that are computed.

    `token` names its groups after the kinds of tokens. `bits` bounds the numerator and the denominator of
    every value, `exponent` the exponent of a power; `roots` allows powers that are no whole number.
    """

    token: re.Pattern[str]
    operators: dict[str, Symbol]
    bits: int
    exponent: int
    roots: bool


_LEARNER_TOKEN = re.compile(
    r"""\s*(?:
      (?P<fraction>(?:\d+\s+|(?<![/^]))\d+/0*[1-9]\d*(?![\d/^]|\.\d))
    | (?P<percent>(?:\d+\.?\d*|\.\d+)\s?%(?!\s*[\d(]))
    | (?P<number>\d+\.?\d*|\.\d+)
    | (?P<operator>mod\b|[-+*/÷×^%])
    | (?P<bracket>[()])
    )""",
    re.VERBOSE,
)
_PROGRAM_TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3}(?!\d))?)
    | (?P<operator>\*\*|//|[-+*/%])
    | (?P<bracket>[()])
    )""",
    re.VERBOSE | re.ASCII,
)
_LEARNER_OPERATORS: dict[str, Symbol] = {
    "+": "+",
    "-": "-",
    "*": "×",
    "×": "×",
    "/": "÷",
    "÷": "÷",
    "^": "^",
    "mod": "mod",
    "%": "mod",
}
_PROGRAM_OPERATORS: dict[str, Symbol] = {
    "+": "+",
    "-": "-",
    "*": "×",
    "/": "÷",
    "//": "//",
    "%": "mod",
    "**": "^",
}
LEARNER = Notation(_LEARNER_TOKEN, _LEARNER_OPERATORS, bits=512, exponent=64, roots=False)
PROGRAM = Notation(_PROGRAM_TOKEN, _PROGRAM_OPERATORS, bits=1024, exponent=1000, roots=True)
_AS_PROGRAM = {symbol: text for text, symbol in _PROGRAM_OPERATORS.items()}
_POWER: tuple[Symbol, ...] = ("^",)
_PRECEDENCE: dict[Symbol, int] = {"+": 1, "-": 1, "×": 2, "÷": 2, "//": 2, "mod": 2, "^": 3}


def parse(text: str, notation: Notation = LEARNER) -> Expression | None:
    """Return the expression that `text` is as a whole; None when it is none, too long or too nested."""
    tokens = _tokens(text, notation) if len(text) <= MAX_CHARS else None
    return _Parser(tokens, notation.operators).parse() if tokens else None


def compute(tree: Expression, notation: Notation = LEARNER) -> Fraction:
    """Return the exact value of `tree`. Raises NoValue where it has none, or one that is too large."""
    if isinstance(tree, Number):
        return _bounded(tree.value, notation)
    return apply(tree.symbol, compute(tree.left, notation), compute(tree.right, notation), notation)


def apply(symbol: Symbol, left: Fraction, right: Fraction, notation: Notation = LEARNER) -> Fraction:
    """Return `left symbol right`. Raises NoValue where that has no value, or one that is too large."""
    match symbol:
        case "+":
            value = left + right
        case "-":
            value = left - right
        case "×":
            value = left * right
        case "^":
            value = _power(left, right, notation)
        case "÷" | "//" | "mod":
            if right == 0:
                raise NoValue("division by zero has no result")
            value = (
                left / right
                if symbol == "÷"
                else left % right
                if symbol == "mod"
                else Fraction(left // right)
            )
    return _bounded(value, notation)


def _power(base: Fraction, exponent: Fraction, notation: Notation) -> Fraction:
    if base == 0 and exponent < 0:
        raise NoValue("division by zero has no result")
    if exponent.denominator != 1:
        # A power such as 2 ** 0.5, to the precision of a float
        if not notation.roots:
            raise NoValue("only whole powers can be worked out exactly")
        if base < 0:
            raise NoValue("a negative number has no such power among the real numbers")
        try:
            return Fraction(str(float(base) ** float(exponent)))
        except (OverflowError, ValueError):
            raise NoValue("the power is too big") from None
    size = _bits(base)
    if abs(exponent) > notation.exponent or (size > 1 and size * abs(exponent) > 2 * notation.bits):
        raise NoValue("the power is too big")
    return base ** int(exponent)


def _bounded(value: Fraction, notation: Notation) -> Fraction:
    if _bits(value) > notation.bits:
        raise NoValue("the number is too big")
    return value


def _bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def numbers_of(tree: Expression) -> tuple[Number, ...]:
    """Return the numbers of `tree` from left to right."""
    return (tree,) if isinstance(tree, Number) else (*numbers_of(tree.left), *numbers_of(tree.right))


def format_number(value: Fraction, *, decimal: bool = False) -> str:
    """Return `value` as 5/6 or 7; with `decimal` as 0.75 where that is exact in at most 10 places."""
    if not decimal or value.denominator == 1:
        return str(value)
    scaled = value * 10**_DECIMAL_PLACES
    if scaled.denominator != 1:
        return str(value)
    digits = f"{abs(scaled.numerator):0{_DECIMAL_PLACES + 1}d}"
    text = f"{digits[:-_DECIMAL_PLACES]}.{digits[-_DECIMAL_PLACES:]}".rstrip("0")
    return f"-{text}" if value < 0 else text


def format_tree(tree: Expression) -> str:
    """Return `tree` as a learner would write it: 3 × (4 + 5), 1/2 ÷ 3/4."""
    return tree.text if isinstance(tree, Number) else _joined(tree, format_tree, f" {tree.symbol} ")


def as_program(tree: Expression) -> str:
    """Return `tree` in the notation PROGRAM: 12*5, (1/2)/(3/4)."""
    if isinstance(tree, Operation):
        return _joined(tree, as_program, _AS_PROGRAM[tree.symbol])
    if tree.value.denominator == 1 and tree.value >= 0:
        return str(tree.value)
    return tree.text if re.fullmatch(r"\d*\.\d+", tree.text) else f"({tree.value})"


def _joined(tree: Operation, write: Callable[[Expression], str], symbol: str) -> str:
    left, right = write(tree.left), write(tree.right)
    own = _PRECEDENCE[tree.symbol]
    if isinstance(tree.left, Operation) and _PRECEDENCE[tree.left.symbol] < own + (tree.symbol == "^"):
        left = f"({left})"
    if isinstance(tree.right, Operation) and _PRECEDENCE[tree.right.symbol] <= own:
        right = f"({right})"
    return f"{left}{symbol}{right}"


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str


def _tokens(text: str, notation: Notation) -> list[_Token] | None:
    found: list[_Token] = []
    position, text = 0, text.rstrip()
    while position < len(text):
        match = notation.token.match(text, position)
        if match is None:
            return None
        kind = str(match.lastgroup)
        found.append(_Token(kind, match[kind]))
        position = match.end()
    return found


class _Parser:
    """Recursive descent over tokens; a method returns None where its rule does not hold."""

    def __init__(self, tokens: Sequence[_Token], operators: dict[str, Symbol]) -> None:
        self._tokens = tokens
        self._operators = operators
        self._at = 0
        self._depth = 0

    def parse(self) -> Expression | None:
        tree = self._sum()
        return tree if self._at == len(self._tokens) else None

    def _sum(self) -> Expression | None:
        return self._chain(self._product, ("+", "-"))

    def _product(self) -> Expression | None:
        return self._chain(self._signed, ("×", "÷", "//", "mod"))

    def _chain(
        self, operand: Callable[[], Expression | None], symbols: Collection[Symbol]
    ) -> Expression | None:
        tree = operand()
        while tree is not None and (symbol := self._operator(symbols)) is not None:
            right = operand()
            tree = Operation(symbol, tree, right) if right is not None else None
        return tree

    def _signed(self) -> Expression | None:
        negative = False
        while (sign := self._operator(("+", "-"))) is not None:
            negative ^= sign == "-"
        inner = self._power()
        if inner is None or not negative:
            return inner
        if isinstance(inner, Number):
            return Number(-inner.value, f"-{inner.text}")
        return Operation("×", Number(Fraction(-1), "-1"), inner)

    def _power(self) -> Expression | None:
        base = self._atom()
        if base is None or self._operator(_POWER) is None:
            return base
        exponent = self._signed()
        return Operation("^", base, exponent) if exponent is not None else None

    def _atom(self) -> Expression | None:
        token = self._next("number", "percent", "fraction")
        if token is not None:
            return _number(token)
        if self._depth == _MAX_DEPTH or self._next("bracket", text="(") is None:
            return None
        self._depth += 1
        inner = self._sum()
        self._depth -= 1
        return inner if self._next("bracket", text=")") is not None else None

    def _operator(self, wanted: Collection[Symbol]) -> Symbol | None:
        if self._at == len(self._tokens):
            return None
        token = self._tokens[self._at]
        symbol = self._operators[token.text] if token.kind == "operator" else None
        if symbol not in wanted:
            return None
        self._at += 1
        return symbol

    def _next(self, *kinds: str, text: str | None = None) -> _Token | None:
        """The token at hand if it is of one of the kinds, and has the text; it is consumed then."""
        token = self._tokens[self._at] if self._at < len(self._tokens) else None
        if token is None or token.kind not in kinds or text not in (None, token.text):
            return None
        self._at += 1
        return token


def _number(token: _Token) -> Number:
    text = " ".join(token.text.split())
    match token.kind:
        case "percent":
            return Number(Fraction(text.rstrip("% ")) / 100, text.replace(" ", ""))
        case "fraction":
            return Number(sum((Fraction(part) for part in text.split()), Fraction(0)), text)
        case _:
            return Number(Fraction(text), text.removesuffix("."))


_SIGNS = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "^": "**"})
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_EXACT = re.compile(r"\(exactly (-?\d+/\d+)\)")
_SYNTAX = "write numbers, brackets and + - * / // % ** only"


def calculate(expression: str) -> str:
    """Return the exact value of `expression` as text, or a text that starts with "Error:".

    Whole results are whole numbers, others decimals of at most 12 significant digits, with the exact
    fraction beside one that does not end. At most 300 characters; results and powers are bounded.
    """
    text = _THOUSANDS.sub("", expression.translate(_SIGNS)).strip().rstrip("=").strip()
    if not text:
        return f"Error: there is nothing to calculate; {_SYNTAX}."
    if len(text) > MAX_CHARS:
        return f"Error: the expression is longer than {MAX_CHARS} characters; calculate it in parts."
    tree = parse(text, PROGRAM)
    if tree is None:
        return f"Error: not an arithmetic expression; {_SYNTAX}."
    try:
        value = compute(tree, PROGRAM)
        if value.denominator == 1:
            return str(value.numerator)
        odd = value.denominator
        for prime in (2, 5):
            while odd % prime == 0:
                odd //= prime
        decimal = f"{float(value):.12g}"
        return decimal if odd == 1 or len(str(value)) > 40 else f"{decimal} (exactly {value})"
    except NoValue as problem:
        return f"Error: {problem}."


def parse_result(text: str) -> Fraction | None:
    """Return the value in a text that `calculate` returned, None for an error."""
    exact = _EXACT.search(text)
    return parse_number(exact[1] if exact is not None else text)
