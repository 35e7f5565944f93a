"""The calculator: exact arithmetic on what a model writes, bounded in size and time.

Values are fractions, so 0.1 + 0.2 is 0.3. The tool never raises: whatever is wrong comes back as a text
that starts with "Error:", from which a model can see what to write instead.
"""

from __future__ import annotations

import re
from fractions import Fraction

from langchain_core.tools import BaseTool, StructuredTool

from ace_graph.memory.arithmetic import MAX_CHARS, PROGRAM, NoValue, compute, parse
from ace_graph.memory.numbers import parse_number

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


calculator: BaseTool = StructuredTool.from_function(
    calculate,
    name="calculator",
    description=(
        "Calculate an arithmetic expression exactly, such as 12*5 or (1/2 + 1/3) * 6. "
        "Knows numbers, brackets and + - * / // % **."
    ),
    handle_validation_error='Error: call the calculator with one text, such as {"expression": "12*5"}.',
    metadata={"idempotent": True},
)
"""The tool of that name, for LangChain."""
