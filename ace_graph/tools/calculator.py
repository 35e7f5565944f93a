"""The calculator: exact arithmetic on what a model writes, bounded in size and time.

The expression is checked letter by letter, then read as a syntax tree of which only numbers, brackets and
+ - * / // % ** are accepted; nothing is ever executed. Values are fractions, so 0.1 + 0.2 is 0.3.

Does not: raise. Whatever is wrong comes back as a text that starts with "Error:".
"""

from __future__ import annotations

import ast
import math
import re
from fractions import Fraction

from langchain_core.tools import BaseTool, StructuredTool

__all__ = ["calculate", "calculator"]

MAX_CHARS = 300
_MAX_BITS = 1024
_MAX_EXPONENT = 1000
_SIGNS = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "^": "**"})
_WRITTEN = re.compile(r"(?:[\d.+\-*/%()\s]|(?<=[\d.])[eE](?=[+\-\d]))*", re.ASCII)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_FORM = "write numbers, brackets and + - * / // % ** only"


class _Refused(Exception):
    """The expression has no value here; the text says why."""


def calculate(expression: str) -> str:
    """Return the exact value of `expression` as text, or a text that starts with "Error:".

    Whole results are whole numbers, others decimals of at most 12 significant digits, with the exact
    fraction beside one that does not end. At most 300 characters; results and powers are bounded.
    """
    text = _THOUSANDS.sub("", expression.translate(_SIGNS)).strip().rstrip("=").strip()
    if not text:
        return f"Error: there is nothing to calculate; {_FORM}."
    if len(text) > MAX_CHARS:
        return f"Error: the expression is longer than {MAX_CHARS} characters; calculate it in parts."
    if not _WRITTEN.fullmatch(text):
        return f"Error: this is no arithmetic; {_FORM}."
    try:
        tree = ast.parse(text, mode="eval")
        return _shown(_value(tree.body))
    except _Refused as problem:
        return f"Error: {problem}"
    except (SyntaxError, ValueError):
        return f"Error: this is no arithmetic expression; {_FORM}."
    except (RecursionError, MemoryError):
        return "Error: the expression is nested too deeply; calculate it in parts."


def _value(node: ast.expr) -> Fraction:
    match node:
        case ast.Constant(value=int() | float() as number) if math.isfinite(number):
            return _bounded(Fraction(str(number)))
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.BinOp(left=left, op=operator, right=right):
            return _bounded(_applied(operator, _value(left), _value(right)))
        case _:
            raise _Refused(f"this is no arithmetic; {_FORM}.")


def _applied(operator: ast.operator, left: Fraction, right: Fraction) -> Fraction:
    if isinstance(operator, ast.Div | ast.FloorDiv | ast.Mod) and right == 0:
        raise _Refused("division by zero has no result.")
    match operator:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.Div():
            return left / right
        case ast.FloorDiv():
            return Fraction(left // right)
        case ast.Mod():
            return left % right
        case ast.Pow():
            return _power(left, right)
        case _:
            raise _Refused(f"this operator is not known; {_FORM}.")


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if base == 0 and exponent < 0:
        raise _Refused("division by zero has no result.")
    if exponent.denominator != 1:
        return _root(base, exponent)
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if abs(exponent) > _MAX_EXPONENT or (bits > 1 and bits * abs(exponent) > 2 * _MAX_BITS):
        raise _Refused("the power is too big.")
    return base ** int(exponent)


def _root(base: Fraction, exponent: Fraction) -> Fraction:
    """A power such as 2 ** 0.5, to the precision of a float."""
    if base < 0:
        raise _Refused("a negative number has no such power among the real numbers.")
    try:
        return Fraction(str(float(base) ** float(exponent)))
    except (OverflowError, ValueError):
        raise _Refused("the power is too big.") from None


def _bounded(value: Fraction) -> Fraction:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > _MAX_BITS:
        raise _Refused("the result is too big.")
    return value


def _shown(value: Fraction) -> str:
    if value.denominator == 1:
        return str(value.numerator)
    exact = value.denominator
    for prime in (2, 5):
        while exact % prime == 0:
            exact //= prime
    decimal = f"{float(value):.12g}"
    return decimal if exact == 1 or len(str(value)) > 40 else f"{decimal} (exactly {value})"


def _wrong_arguments(_: object) -> str:
    return 'Error: call the calculator with one text, such as {"expression": "12*5"}.'


calculator: BaseTool = StructuredTool.from_function(
    calculate,
    name="calculator",
    description=(
        "Calculate an arithmetic expression exactly, such as 12*5 or (1/2 + 1/3) * 6. "
        "Knows numbers, brackets and + - * / // % **."
    ),
    handle_validation_error=_wrong_arguments,
    metadata={"idempotent": True},
)
"""The tool of that name, for LangChain."""
