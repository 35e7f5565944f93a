"""The rules by which a message judges the answer before it, as a table."""

from __future__ import annotations

import pytest

from ace_graph.learning import read_feedback

ANSWER = "1/2 + 1/3 = 2/5."


@pytest.mark.parametrize(
    ("message", "correction"),
    [
        ("that's wrong, it is 5/6", "5/6"),
        ("That is wrong. It is 5/6.", "5/6"),
        ("Hmm, that's not right", None),
        ("Well, no, that's not right", None),
        ("No, it's 5/6!", "5/6"),
        ("no - the answer is 5/6", "5/6"),
        ("Wrong.", None),
        ("Wrong, the correct answer is 5/6", "5/6"),
        ("it should be 5/6", "5/6"),
        ("Actually the correct result is 5/6.", "5/6"),
        ("You made a mistake: it should be 5/6", "5/6"),
        ("you got that wrong", None),
        ("This doesn't work", None),
        ("that didn't help", None),
        ("Your answer is incorrect. The right answer is 5/6.", "5/6"),
        ("That's not what I asked.", None),
        ("that is still wrong, it's actually 5/6", "5/6"),
    ],
)
def test_a_correction_is_a_failure_with_the_value_given(message: str, correction: str | None) -> None:
    feedback = read_feedback(message, ANSWER)
    assert feedback is not None
    assert feedback.verdict == "failure"
    assert feedback.correction == correction


@pytest.mark.parametrize(
    "message",
    [
        "thanks, that worked",
        "Thank you so much! That worked.",
        "that's right",
        "Correct!",
        "Exactly.",
        "Great, this helped",
        "yes, that is correct",
        "I get it now!",
        "Perfect, that's exactly what I needed",
    ],
)
def test_approval_is_a_success(message: str) -> None:
    feedback = read_feedback(message, ANSWER)
    assert feedback is not None
    assert feedback.verdict == "success"


@pytest.mark.parametrize(
    "message", ["you already told me that", "You just said that.", "I already know that"]
)
def test_a_repetition_is_partial(message: str) -> None:
    feedback = read_feedback(message, ANSWER)
    assert feedback is not None
    assert feedback.verdict == "partial"


@pytest.mark.parametrize(
    "message",
    [
        "Is that wrong?",
        "that's wrong?",
        "Why is it wrong to add the denominators?",
        'My teacher said "that is wrong".',
        "> that's wrong",
        "My brother says that is wrong",
        "What is 1/4 + 1/3?",
        "thanks",
        "ok thanks",
        "no",
        "No thanks.",
        "I went the wrong way home",
        "Is it correct to say so?",
        "Right-angled triangles are next",
        "Correct my essay please",
        "it is raining",
        "Tell me a story. Make it long. That's wrong.",
        "",
    ],
)
def test_questions_quotations_stories_and_thanks_judge_nothing(message: str) -> None:
    assert read_feedback(message, ANSWER) is None


def test_a_no_that_answers_a_question_is_no_feedback() -> None:
    asked = "The result is 5/6. Would you like another one?"
    assert read_feedback("No, it's late", asked) is None
    assert read_feedback("no, it's 5/6", "What do you think 1/2 + 1/3 is?") is None
    wrong = read_feedback("that's wrong, it is 7", asked)
    assert wrong is not None
    assert wrong.verdict == "failure"


def test_without_an_earlier_answer_there_is_nothing_to_judge() -> None:
    assert read_feedback("that's wrong", "") is None
