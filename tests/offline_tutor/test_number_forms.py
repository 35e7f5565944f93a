"""How a result is written: recognised, wished for, and used where it holds the value exactly."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from ace_graph.agent.offline_tutor import OfflineTutor, find_restatement, format_as, requested_form
from ace_graph.agent.offline_tutor.teaching import teaching
from ace_graph.base.prompts import data_block
from ace_graph.memory import Form

HALF_MORE = Fraction(3, 2)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("it should be 1 1/2.", "mixed"),
        ("the answer is 1.5, you know", "decimal"),
        ("150% is right", "percent"),
        ("no: 3/2!", "fraction"),
        ("6/4", "fraction"),
        ("it is 1 1/3", None),
        ("it is 13/2", None),
        ("31 1/2", None),
        ("3/2/2026", None),
        ("a half more", None),
    ],
)
def test_the_form_of_a_written_value_is_recognized(text: str, form: Form | None) -> None:
    found = find_restatement(text, HALF_MORE)
    assert (found.form if found else None) == form


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("I prefer mixed numbers", "mixed"),
        ("Give me the result as a decimal.", "decimal"),
        ("wants percentages", "percent"),
        ("Show it as an improper fraction", "fraction"),
        ("Never give it as a decimal", None),
        ("I prefer fraction bars", None),
        ("Rewrite both fractions with their smallest common denominator", None),
        ("I keep making mistakes in fractions", None),
        *((advice, form) for form, advice in teaching().forms.items()),
    ],
)
def test_a_requested_form_is_recognized(text: str, form: Form | None) -> None:
    assert requested_form(text) == form


@given(st.fractions(-50, 50, max_denominator=60), st.sampled_from(list(teaching().forms)))
def test_a_form_never_changes_the_value(value: Fraction, form: Form) -> None:
    told = format_as(value, form)
    if told is not None:
        found = find_restatement(told.removeprefix("-"), abs(value))
        assert found is not None, "what is written is that value"


def ask(*texts: str, playbook: str = "") -> str:
    given = [AIMessage(text) if n % 2 else HumanMessage(text) for n, text in enumerate(texts)]
    return OfflineTutor().invoke([SystemMessage(data_block("playbook", playbook)), *given]).text


def test_the_playbook_decides_the_form_of_a_result() -> None:
    item = f"## Relevant Strategies\n1. [str-1] [+0/-0] {teaching().forms['mixed']}"
    assert ask("What is 7/8 + 1/2?").endswith("The answer is 11/8.")
    assert ask("What is 7/8 + 1/2?", playbook=item).endswith("The answer is 1 3/8.")
    assert ask("What is 1/8 + 1/2?", playbook=item).endswith("The answer is 5/8.")
    assert ask("What is 7/4 as a decimal?", playbook=item).endswith("The answer is 1.75.")


def test_a_corrected_form_is_accepted_and_a_corrected_value_is_not() -> None:
    question = "What is 7/8 + 1/2?"
    right = ask(question, "The answer is 11/8.", "that's wrong, it is 1.375")
    assert "You are right" in right
    assert right.endswith("The answer is 1.375.")
    wrong = ask(question, "The answer is 11/8.", "that's wrong, it is 8/10")
    assert "You are right" not in wrong
    assert wrong.endswith("The answer is 11/8.")


@pytest.mark.parametrize("praise", ["That's right.", "thanks, that worked!", "Yes, this is correct"])
def test_praise_is_not_a_question_about_the_problem(praise: str) -> None:
    assert ask("What is 7/8 + 1/2?", "11/8", praise).startswith(("Good.", "You are welcome."))


def test_lessons_of_a_retry_are_followed_like_the_playbook() -> None:
    system = SystemMessage(data_block("lessons", f"- {teaching().forms['mixed']}"))
    assert OfflineTutor().invoke([system, HumanMessage("What is 7/8 + 1/2?")]).text.endswith(" 1 3/8.")
