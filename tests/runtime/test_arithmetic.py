"""Arithmetic is read as learners mean it and computed exactly."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ace_graph.memory import (
    LEARNER,
    PROGRAM,
    Expression,
    NoValue,
    Number,
    Symbol,
    as_program,
    calculate,
    compute,
    format_number,
    format_tree,
    parse,
)
from ace_graph.memory.arithmetic import Operation
from tests.plugins.sizes import HEAVY

SYMBOLS: list[Symbol] = ["+", "-", "×", "÷"]


def number(value: Fraction) -> Number:
    return Number(value, str(value))


numbers = st.builds(number, st.fractions(0, 99, max_denominator=12))
trees: st.SearchStrategy[Expression] = st.recursive(
    numbers, lambda inner: st.builds(Operation, st.sampled_from(SYMBOLS), inner, inner), max_leaves=6
)


def value(text: str) -> Fraction | None:
    tree = parse(text)
    return compute(tree) if tree is not None else None


def value_of(tree: Expression) -> Fraction | None:
    try:
        return compute(tree)
    except NoValue:
        return None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2 + 2", Fraction(4)),
        ("10 * (5 + 3)", Fraction(80)),
        ("2 ^ 10", Fraction(1024)),
        ("-5 + 3", Fraction(-2)),
        ("-2 ^ 2", Fraction(-4)),
        ("17 % 5", Fraction(2)),
        ("17 mod 5", Fraction(2)),
        ("1/2 + 1/3", Fraction(5, 6)),
        ("1/2 / 3/4", Fraction(2, 3)),
        ("1/2 ÷ 3/4", Fraction(2, 3)),
        ("8/4/2", Fraction(1)),
        ("12 / 6 / 2", Fraction(1)),
        ("1 1/2 + 2", Fraction(7, 2)),
        ("50% × 80", Fraction(40)),
        ("0.1 + 0.2", Fraction(3, 10)),
        ("2^3^2", Fraction(512)),
        ("3 - (4 - 5)", Fraction(4)),
        ("2 * -3", Fraction(-6)),
    ],
)
def test_values_are_exact(text: str, expected: Fraction) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    "text", ["", "1 +", "5 5", "(1", "1)", "()", "a + b", "1 + (2", "(" * 200, "1+" * 200 + "1"]
)
def test_a_text_that_is_no_expression_gives_none(text: str) -> None:
    assert parse(text) is None


@pytest.mark.parametrize(
    "text", ["1/0", "1 ÷ 0", "5 mod 0", "0 ^ -1", "9^9^9", "2^0.5", "7 ^ 64 * 7 ^ 64 * 7 ^ 64"]
)
def test_an_expression_without_a_value_raises_with_a_reason(text: str) -> None:
    with pytest.raises(NoValue, match=r"[a-z ]{10,}"):
        value(text)


@pytest.mark.parametrize(
    ("exact", "text"),
    [
        (Fraction(3, 4), "0.75"),
        (Fraction(-1, 8), "-0.125"),
        (Fraction(1, 3), "1/3"),
        (Fraction(7), "7"),
        (Fraction(1, 10**10), "0.0000000001"),
        (Fraction(25, 2), "12.5"),
    ],
)
def test_a_decimal_is_shown_only_where_it_is_exact(exact: Fraction, text: str) -> None:
    assert format_number(exact, decimal=True) == text


@settings(max_examples=80 if HEAVY else 30, deadline=None)
@given(trees)
def test_a_formatted_tree_parses_to_the_same_value(tree: Expression) -> None:
    again = parse(format_tree(tree))
    assert again is not None
    assert value_of(again) == value_of(tree)


@settings(max_examples=80 if HEAVY else 30, deadline=None)
@given(trees)
def test_the_calculator_gets_an_expression_of_the_same_value(tree: Expression) -> None:
    expected, text = value_of(tree), calculate(as_program(tree))
    if expected is None:
        assert text.startswith("Error")
    else:
        exact = text.partition("(exactly ")[2].rstrip(")") or text
        assert abs(Fraction(exact) - expected) <= abs(expected) / 10**9


def test_both_sides_are_computed_in_the_notation_that_is_given() -> None:
    one, ten = number(Fraction(1)), number(Fraction(10))
    large = Operation("^", ten, number(Fraction(200)))
    for tree in (
        Operation("-", large, one),
        Operation("-", one, large),
        Operation("+", one, Operation("+", large, one)),
    ):
        with pytest.raises(NoValue):
            compute(tree, LEARNER)
        assert abs(compute(tree, PROGRAM)) > 10**199


@pytest.mark.parametrize(("written", "program"), [("1.25 × 3", "1.25*3"), (".5 + 1/2", ".5+(1/2)")])
def test_the_calculator_gets_a_decimal_as_it_was_written(written: str, program: str) -> None:
    tree = parse(written)
    assert tree is not None
    assert as_program(tree) == program
