"""The calculator gives exact values, and a text for everything else."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ace_graph.agent.tools.calculator import calculator
from ace_graph.memory import MAX_CHARS, calculate
from tests.plugins.sizes import HEAVY


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2 + 2", "4"),
        ("10 * (5 + 3)", "80"),
        ("2 ** 10", "1024"),
        ("-5 + 3", "-2"),
        ("17 % 5", "2"),
        ("7 // 2", "3"),
        ("12*5", "60"),
        ("0.1 + 0.2", "0.3"),
        ("1/2 + 1/3", "0.833333333333 (exactly 5/6)"),
        ("1e3 + 1", "1001"),
        ("2 ** -3", "0.125"),
        ("16 ** 0.5", "4"),
        ("2 ** 0.5", "1.41421356237"),
        ("3 × 4 ÷ 6", "2"),
        ("2^10", "1024"),
        ("1,000 * 2", "2000"),
        ("3 + 4 =", "7"),
        ("--5", "5"),
    ],
)
def test_a_value_is_exact(expression: str, value: str) -> None:
    assert calculate(expression) == value


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "   ",
        "__import__('os')",
        "'a'*5",
        "9**9**9",
        "9**9**9**9",
        "1/0",
        "1 // 0",
        "1 % 0",
        "0 ** -1",
        "(-8) ** 0.5",
        "1e400",
        "10 ** 400.5",
        "2 ** 5000",
        "1.5 ** 100000",
        "10 ** 300 * 10 ** 300",
        "True + 1",
        "1j",
        "x",
        "1 2",
        "1 + ",
        "5(3)",
        "[1]",
        "(1, 2)",
        "1 if 2 else 3",
        "1if 2else 3",
        "lambda: 1",
        "().__class__",
        "1 < 2",
        "5 @ 3",
        "(" * 250,
        "٣+٤",
        "\ud800",
        "\x00",
        "1" * (MAX_CHARS + 1),
    ],
)
def test_an_expression_without_a_value_gives_an_error_text(expression: str) -> None:
    text = calculate(expression)
    assert text.startswith("Error: ")
    assert len(text) > 20


@settings(max_examples=200 if HEAVY else 40, deadline=None)
@given(st.text(alphabet="0123456789+-*/%().eE ×÷^,_='x\n", max_size=40))
def test_no_text_raises(expression: str) -> None:
    assert calculate(expression)


@settings(max_examples=100 if HEAVY else 40, deadline=None)
@given(st.integers(-999, 999), st.sampled_from(["+", "-", "*"]), st.integers(-999, 999))
def test_whole_numbers_are_calculated_as_python_does(left: int, sign: str, right: int) -> None:
    expected = {"+": left + right, "-": left - right, "*": left * right}[sign]
    assert calculate(f"{left} {sign} ({right})") == str(expected)


@settings(max_examples=100 if HEAVY else 40, deadline=None)
@given(st.fractions(-50, 50, max_denominator=30))
def test_a_fraction_keeps_its_exact_value(value: Fraction) -> None:
    text = calculate(f"({value.numerator}) / {value.denominator}")
    exact = text.partition("(exactly ")[2].rstrip(")") or text
    assert Fraction(exact) == value


def test_the_tool_has_its_name_and_takes_one_text() -> None:
    assert calculator.name == "calculator"
    assert list(calculator.args) == ["expression"]
    assert calculator.invoke({"expression": "12*5"}) == "60"


@pytest.mark.parametrize("arguments", [{}, {"expression": None}, {"expression": ["1"]}, {"sum": "1+1"}])
def test_wrong_arguments_give_an_error_text(arguments: dict[str, object]) -> None:
    assert calculator.invoke(arguments).startswith("Error: ")


async def test_the_tool_answers_asynchronously() -> None:
    assert await calculator.ainvoke({"expression": "1/0"}) == "Error: division by zero has no result."
