"""A wish for another form of the answer is no judgement of it; what gives another value is."""

from __future__ import annotations

import pytest

from ace_graph.learning import read_feedback
from ace_graph.memory.languages import form_wished

ANSWER = "The answer is 3/4."


@pytest.mark.parametrize(
    ("message", "form"),
    [
        ("no it should be in decimals", "decimal"),
        ("No, it should be in decimals please.", "decimal"),
        ("no! the answer should be a decimal", "decimal"),
        ("it should be a decimal number, not a fraction", "decimal"),
        ("no, it should have been written as a percentage", "percent"),
        ("That’s wrong, it should be in percent", "percent"),
        ("nope, it must be a mixed number", "mixed"),
        ("but the result should be in lowest terms", "fraction"),
        ("no, it should be in metres", "other"),
        ("no, it should be in German", "other"),
        ("the answer should be in words", "other"),
        ("nein, es sollte eine Dezimalzahl sein", "decimal"),
        ("Nein, das soll in Prozent sein.", "percent"),
        ("Das ist falsch, es muss als Bruch sein", "fraction"),
        ("nein, es sollte als gemischte Zahl geschrieben werden", "mixed"),
        ("Es sollte in Metern sein", "other"),
        ("non, ça devrait être en décimales", "decimal"),
        ("no, debería ser en decimales", "decimal"),
        ("nee, het moet in procenten", "percent"),
        ("нет, ответ должен быть в процентах", "percent"),
        ("不，应该用小数", "decimal"),
        ("いいえ、答えは小数で", "decimal"),
    ],
)
def test_a_wish_for_a_form_is_no_failure(message: str, form: str) -> None:
    assert read_feedback(message, ANSWER) is None
    assert form_wished(message.partition("! ")[2] or message) == form


@pytest.mark.parametrize(
    "message",
    [
        "no it should be 0.8",
        "no, it should be in decimals: 0.8",
        "That's wrong.",
        "no, it should be Rome",
        "it should be a third",
        "that's wrong, it should be larger",
        "nein, es sollte 0,8 sein",
        "Das ist falsch.",
    ],
)
def test_another_value_is_a_failure(message: str) -> None:
    feedback = read_feedback(message, ANSWER)
    assert feedback is not None
    assert feedback.verdict == "failure"


@pytest.mark.parametrize(
    "text", ["I keep making mistakes in fractions", "In 1/2 the top is one", "I like decimals"]
)
def test_what_only_speaks_of_a_form_wishes_for_none(text: str) -> None:
    assert form_wished(text) is None


def test_a_lesson_that_names_a_form_in_passing_is_no_wish_for_it() -> None:
    assert form_wished("In fraction addition, give a result above one as a mixed number.") is None
    assert form_wished("no, in fractions please") == "fraction"
