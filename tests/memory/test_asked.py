"""The counts of a learner's questions: small for ever, and the same by whatever way they are folded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ace_graph.memory import QuestionTerms, after_questions, asked_terms

_QUESTIONS = st.lists(st.lists(st.sampled_from("abcdefghij"), unique=True, max_size=4), max_size=120)


@given(_QUESTIONS, st.integers(0, 120))
def test_questions_are_folded_at_once_or_in_parts(questions: list[list[str]], at: int) -> None:
    parts = after_questions(after_questions(QuestionTerms(), questions[:at]), questions[at:])
    assert parts == after_questions(QuestionTerms(), questions)


def test_a_question_without_terms_is_not_counted() -> None:
    assert after_questions(QuestionTerms(), [[], ["a"], []]) == QuestionTerms(1, {"a": 1})


def test_rare_terms_are_forgotten_and_frequent_ones_kept() -> None:
    counted = after_questions(QuestionTerms(), (["often", f"once{n}"] for n in range(500)))
    assert counted.questions == 500
    assert counted.counts["often"] == 490
    assert len(counted.counts) <= 51


def test_old_questions_fade() -> None:
    old = after_questions(QuestionTerms(), (["old"] for _ in range(900)))
    counted = after_questions(old, (["new"] for _ in range(3_000)))
    assert counted.questions < 1_000
    assert counted.counts["new"] > 0.9 * counted.questions
    assert counted.counts.get("old", 0) < 0.2 * counted.questions


def test_a_term_says_less_the_more_often_it_is_asked_than_held() -> None:
    counted = QuestionTerms(100, {"boss": 40, "oak": 40, "rare": 1})
    assert counted.specificity("boss", 0.0) == 0.0
    assert counted.specificity("boss", 0.1) == pytest.approx(0.5)
    assert counted.specificity("oak", 0.2) == 1.0
    assert counted.specificity("rare", 0.0) == counted.specificity("unknown", 0.0) == 1.0
    assert QuestionTerms(19, {"boss": 19}).specificity("boss", 0.0) == 1.0


def test_of_a_question_at_most_64_terms_of_its_beginning_are_counted() -> None:
    words = " ".join(f"word{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(400))
    assert len(asked_terms(f"12 3/4 {words}")) == 64
    assert asked_terms(f"{'the ' * 600}fraction") == ()
    assert asked_terms("Why is 3/4 a fraction, and why is 0.5 a fraction?") == ("fraction",)
