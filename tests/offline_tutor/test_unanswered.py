"""Questions of one message that an answer leaves open are named."""

from __future__ import annotations

import pytest

from ace_graph.agent.offline_tutor import unanswered


@pytest.mark.parametrize(
    ("message", "named"),
    [
        ("What is 1/2 + 1/3? And who was Napoleon?", ['"And who was Napoleon?"']),
        ("What is 2+2? What is 3*3? How are you?", ['"What is 3*3?"', '"How are you?"']),
        ("What is 2+2 and 3*3?", ['"3*3"']),
        ("What is 1 3/8 + 1/2 and what is the capital of France?", ['"what is the capital of France?"']),
        ("2+3 and who is the president", ['"who is the president"']),
        ("Who is the president, and what is 2+3", ['"Who is the president"']),
        ("What is 1/2 + 1/3? Also, write me a poem.", ['"write me a poem"']),
        ("What is 1/2 + 1/3, tell me a joke", ['"tell me a joke"']),
        ("What is 7 x 8 and 6 x 9 and why is the sky blue", ['"6 x 9"', '"why is the sky blue"']),
        ("What is 2+2 and 3*3*4?", ['"What is 2+2"']),
        ("Calculate 2+2. Calculate 3*3.", ['"Calculate 3*3"']),
        ("2+2; 3*3; how are you", ['"3*3"', '"how are you"']),
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
        "What is 1/2 + 1/3? I like pizza. Explain it step by step, please.",
        "What is 1/2 + 1/3, and can you explain?",
        "Which is bigger, 2/3 or 3/4, and how do you know?",
        "What is 2+2 and why?",
        "Hello! My name is Mia, what is 2+2? Thank you!",
        "When I add 1/2 and 1/3, what is the result?",
        "What is 1/2 + 1/4? Give me the answer as a decimal.",
        "1. 3 + 4",
        "What is 1/2 + 1/3 and why is that so?",
        "Who was Napoleon? Where was he born?",
        "",
    ],
)
def test_a_single_question_leaves_nothing_unanswered(message: str) -> None:
    assert unanswered(message) is None
