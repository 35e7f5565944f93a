"""Which sentences of a learner's message give words for searches."""

from __future__ import annotations

import pytest

from ace_graph.learning import FinishedTurn
from ace_graph.learning.statements import SensitiveFacts, from_turn, source_text
from ace_graph.memory.delta import Add, Touch

PIZZA = "How do I split a pizza among six friends?"


@pytest.mark.parametrize(
    "told",
    [
        "I have diabetes.",
        "My sister has diabetes.",
        "Ich habe Diabetes.",
        "J'ai le diabète.",
        "Forget that I have diabetes.",
        "As I have diabetes, may I eat it?",
    ],
)
def test_sensitive_sentences_and_requests_to_forget_give_no_words(told: str) -> None:
    assert source_text(f"{told} {PIZZA}", "ask") == PIZZA


def test_a_sensitive_fact_that_is_kept_gives_words() -> None:
    message = f"Remember that I have diabetes. {PIZZA}"
    assert "diabetes" in source_text(message, "ask")


def test_a_question_about_nobody_gives_words() -> None:
    assert "diabetes" in source_text("What does insulin do in diabetes?", "ask")


@pytest.mark.parametrize(("setting", "kept"), [("keep", True), ("ask", False), ("drop", False)])
def test_the_setting_decides_on_sensitive_sentences(setting: SensitiveFacts, kept: bool) -> None:
    assert ("diabetes" in source_text(f"I have diabetes. {PIZZA}", setting)) is kept


@pytest.mark.parametrize(
    "wish", ["Don't remember this.", "This is off the record.", "Please don’t save any of this."]
)
def test_a_message_that_is_not_to_be_kept_gives_none(wish: str) -> None:
    assert source_text(f"{wish} {PIZZA}", "keep") == ""


def test_withheld_passages_give_no_words() -> None:
    assert source_text(f"I have POTS and play chess. {PIZZA}", "ask", ["I have POTS"]) == PIZZA


def test_what_is_added_names_the_turn_and_has_the_text() -> None:
    turn = FinishedTurn("t1", PIZZA, "5/6", (), (), None, conversation_id="c1")
    touch, add = from_turn((Touch(bullet_ids=("b",)), Add(content="Draw a bar")), turn, "ask")
    assert touch == Touch(bullet_ids=("b",))
    assert add == Add(content="Draw a bar", source_text=PIZZA, turn_id="t1", conversation_id="c1")


def test_nothing_is_read_for_operations_that_add_nothing() -> None:
    turn = FinishedTurn("t1", PIZZA, "5/6", (), (), None)
    assert from_turn((Touch(bullet_ids=("b",)),), turn, "ask") == (Touch(bullet_ids=("b",)),)
