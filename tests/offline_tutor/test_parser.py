"""Problems are found in sentences, and sentences without one hold none."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ace_graph.agent.offline_tutor import find_problem, solve
from ace_graph.memory import NoValue
from tests.plugins.sizes import HEAVY


def answered(text: str) -> str | None:
    problem = find_problem(text)
    if problem is None:
        return None
    try:
        return solve(problem).answer
    except NoValue:
        return "refused"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is 2+2?", "4"),
        ("please calculate 12*5", "60"),
        ("what is 12 times 5", "60"),
        ("twenty-five times four", "100"),
        ("I keep messing up 1/2 + 1/3. Can you draw it? the denominator so big", "5/6"),
        ("add 1/2 and 1/3", "5/6"),
        ("add the fractions 1/2, 1/3 and 1/4", "13/12"),
        ("the sum of 10 and 5", "15"),
        ("What is three quarters plus one half?", "5/4"),
        ("half of 10", "5"),
        ("What is two thirds of 12?", "8"),
        ("50% of 80", "40"),
        ("what's 15 percent of 60?", "9"),
        ("subtract 1/4 from 3/4", "1/2"),
        ("the difference between 10 and 4", "6"),
        ("multiply 2/3 by 3/5", "2/5"),
        ("divide 1/2 by 3/4", "2/3"),
        ("what is 3 less than 10", "7"),
        ("what is 3 more than 10", "13"),
        ("5 squared", "25"),
        ("2 to the power of 10", "1024"),
        ("1½ + ¼", "7/4"),
        ("2 and a half plus 1", "7/2"),
        ("3 × (4 + 5) − 2 =", "25"),
        ("1,000 + 2,500", "3500"),
        ("5. 3 + 4", "7"),
        ("10 / 4", "2.5"),
        ("10 / 3", "10/3"),
        ("what is 1/0", "refused"),
        ("which is bigger, 2/3 or 3/4?", "3/4"),
        ("Which one is smaller: 2/3 or 3/4?", "2/3"),
        ("Is 2/3 bigger than 3/4?", "3/4"),
        ("compare 0.5 and 1/2", "equal"),
        ("simplify 6/8", "3/4"),
        ("Reduce 10/4 to lowest terms", "5/2"),
        ("What is 6/8?", "3/4"),
        ("3/4 as a decimal", "0.75"),
        ("1/3 as a decimal", "refused"),
        ("convert 0.25 to a fraction", "1/4"),
        ("what percent is 1/4", "25%"),
        ("what is 7/4 as a mixed number", "1 3/4"),
        ("What is the least common multiple of 4 and 6?", "12"),
        ("common denominator of 1/4 and 1/6", "12"),
        ("greatest common divisor of 12, 18 and 24", "6"),
    ],
)
def test_a_problem_in_words_is_solved_exactly(question: str, answer: str) -> None:
    assert answered(question) == answer


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Hello",
        "steps to bake a cake",
        "and/or",
        "See pages 3-5 please.",
        "My exam is on 2026-05-01 at 10:30",
        "the date is 1/2/2026",
        "call me at 555-1234",
        "open 24/7",
        "chapter 3",
        "Tom has 3 apples and buys 4 more.",
        "what is 5 more than 3 * 2",
        "divide 10 by 4 and add 1",
    ],
)
def test_a_text_without_a_clear_problem_has_none(text: str) -> None:
    assert answered(text) is None


@settings(max_examples=150 if HEAVY else 40, deadline=None)
@given(st.text(alphabet="0123456789 +-*/%^().,½²xofandhalfis?\n", max_size=60))
def test_no_text_raises(text: str) -> None:
    answered(text)


@pytest.mark.parametrize(
    "text", ["1+" * 20_000, "9" * 80_000, "(" * 80_000, "1/2 or " * 10_000, "½" * 50_000]
)
def test_a_huge_text_raises_nothing(text: str) -> None:
    answered(text)
