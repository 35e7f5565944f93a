"""Questions of one message that an answer leaves open are named."""

from __future__ import annotations

import pytest

from ace_graph.offline_tutor.parser import unanswered


@pytest.mark.parametrize(
    ("message", "named"),
    [
        ("What is 1/2 + 1/3? And who was Napoleon?", ['"And who was Napoleon?"']),
        ("What is 2+2? What is 3*3? How are you?", ['"What is 3*3?"', '"How are you?"']),
        ("What is 2+2 and 3*3?", ['"3*3"']),
        ("What is 2+2? Who? Where? When exactly? Why not?", ["and 1 more"]),
    ],
)
def test_unanswered_questions_are_named(message: str, named: list[str]) -> None:
    said = unanswered(message) or ""
    assert said.startswith("I have not answered")
    assert [part for part in named if part not in said] == []


@pytest.mark.parametrize(
    "message",
    [
        "What is 2+2?",
        "What is 1.5 + 2? Can you draw it?",
        "What is the LCM of 4 and 6?",
        "What is 1/2 + 1/3 and why is that so?",
        "Who was Napoleon? Where was he born?",
        "",
    ],
)
def test_a_single_question_leaves_nothing_unanswered(message: str) -> None:
    assert unanswered(message) is None
