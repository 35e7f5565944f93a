"""Answers are scored as the tasks' source says, and nothing in an answer is executed."""

from __future__ import annotations

import pytest

from ace_graph.base import UsageError
from ace_graph.training import TASKS, Outcome, Sample, score_finer, score_formula, score_qa, task_named

TAGS = "Revenues,Goodwill,SharePrice,InterestExpense"


@pytest.mark.parametrize(
    ("answer", "target", "right"),
    [
        ("2.0", "2.0", True),
        ("2", "2.0", True),
        ("2.00", "2.0", True),
        (" 2.0\n", "2.0", True),
        ("1,234,567.5", "1234567.50", True),
        ("1234.5", "1,234.5", True),
        ("-0.5", "-0.50", True),
        ("2e3", "2000", True),
        ("2.01", "2.0", False),
        ("$2.0", "2.0", False),
        ("2.0 %", "2.0", False),
        ("The ratio is 2.0", "2.0", False),
        ("", "2.0", False),
        ("nan", "nan", False),
        ("1/2", "0.5", False),
        ("N/A", "N/A", True),
        ("n/a", "N/A", False),
        ("__import__('os').getpid()", "1", False),
    ],
)
def test_a_formulas_answer_is_one_number(answer: str, target: str, right: bool) -> None:
    assert score_formula(Sample("1", "q", target), answer).right == right


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        (TAGS, 4),
        (" revenues , GOODWILL,shareprice,interestexpense ", 4),
        ("Revenues,Goodwill", 2),
        (f"{TAGS},Extra", 4),
        ("Goodwill,Revenues,SharePrice,InterestExpense", 2),
        (",,,", 0),
        ("", 0),
        ("Revenues Goodwill SharePrice InterestExpense", 0),
    ],
)
def test_labels_count_by_their_place(answer: str, right: int) -> None:
    sample = Sample("1", "q", TAGS, units=4)
    assert score_finer(sample, answer).right == right
    assert TASKS["finer"].units(TAGS) == 4


def test_the_reflector_is_told_which_labels_are_wrong() -> None:
    scored = score_finer(Sample("1", "q", TAGS, units=4), "Revenues,X,SharePrice")
    assert scored == Outcome(2, "of 4 labels these are wrong, by place: 2, 4")


@pytest.mark.parametrize(
    ("answer", "target", "right"),
    [
        ("So it is 5/6.", "10/12", 1),
        ("Paris", "paris", 1),
        ("The capital is Paris.", "Paris", 1),
        ("Lyon", "Paris", 0),
    ],
)
def test_plain_questions_are_compared_in_words_and_numbers(answer: str, target: str, right: int) -> None:
    assert score_qa(Sample("1", "q", target), answer).right == right


def test_equal_values_are_right_in_any_form_unless_the_row_asks_for_one() -> None:
    assert score_qa(Sample("1", "q", "1 3/8"), "It is 11/8").right == 1
    asked = Sample("1", "q", "1 3/8", form="same")
    assert score_qa(asked, "It is 1 3/8").right == 1
    refused = score_qa(asked, "It is 11/8")
    assert refused.right == 0
    assert "the value is right" in refused.feedback
    assert "1 3/8" not in refused.feedback
    assert "the value is right" not in score_qa(asked, "It is 12/8").feedback


def test_an_unknown_task_names_those_there_are() -> None:
    with pytest.raises(UsageError, match="formula, finer or qa"):
        task_named("appworld")
