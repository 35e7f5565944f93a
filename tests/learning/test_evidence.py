"""Ground truth is compared as a value; the strongest source decides."""

from __future__ import annotations

import pytest

from ace_graph.agent import matches_ground_truth, quotes_truth
from ace_graph.memory import Evidence, numerals, parse_number, verdict_of


@pytest.mark.parametrize(
    ("answer", "truth"),
    [
        ("60", "60"),
        ("So the result is 60.", "60"),
        ("12 * 5 = 60", "60.0"),
        ("It is **5/6**.", "5/6"),
        ("10/12", "5/6"),
        ("1,200 dollars", "1200"),
        ("that makes 50%", "0.5"),
        ("Paris", "paris"),
        ("The capital is Paris.", "Paris"),
        ("a, b, c, d", "A, B, C, D"),
        ("The answer is 11/8.", "1 3/8"),
        ("It makes 1 3/8!", "11/8"),
        ("That is 1 and 3/8", "1.375"),
        ("Also 1⅜", "11/8"),
        ("So -1 1/2", "-3/2"),
        ("minus a half: −½", "-0.5"),
        (".5", "1/2"),
        ("Es sind 0,5", "1/2"),
        (r"$\frac{11}{8}$ or 1\frac{3}{8}$", "1 3/8"),
        ("2e3", "2,000"),
        ("2000", "(2e3)"),
        ("150 %", "1½"),
        ("see step 2: 1/2", "0.5"),
    ],
)
def test_the_true_value_is_recognised(answer: str, truth: str) -> None:
    assert matches_ground_truth(answer, truth)


@pytest.mark.parametrize(
    ("answer", "truth"),
    [
        ("60 or 50", "60"),
        ("61", "60"),
        ("160", "60"),
        ("not Paris but Rome", "Paris"),
        ("", "60"),
        ("five", "5"),
        ("anything", ""),
        ("1/0", "5"),
        ("comparis", "Paris"),
        ("1 3/8", "3/8"),
        ("2 11/8", "19/8"),
        ("11/2", "1½"),
        ("on 1/2/2026", "1/2"),
        ("1/0", "0"),
        ("version 1.2.3", "3"),
        ("room x5", "5"),
        ("from 3-5", "-5"),
        ("1,2,3", "123"),
        ("0,5", "5"),
    ],
)
def test_another_value_is_not(answer: str, truth: str) -> None:
    assert not matches_ground_truth(answer, truth)


@pytest.mark.parametrize(
    ("answer", "truth", "met"),
    [
        ("So it is 1 3/8.", "1 3/8", True),
        ("So it is 1 and 3/8", "1 3/8", True),
        ("So it is 1⅜", "1 3/8", True),
        ("So it is 11/8", "1 3/8", False),
        ("10/12", "5/6", False),
        ("0.50", "0.5", False),
        ("1,200", "1200", True),
        ("50%", "50 %", True),
        ("0.5", "50 %", False),
        ("-1/2", "1/2", False),
        ("The capital is Paris", "Paris", True),
    ],
)
def test_a_task_may_ask_for_the_form_of_the_truth(answer: str, truth: str, met: bool) -> None:
    assert matches_ground_truth(answer, truth, "same") == met


def test_a_huge_exponent_is_no_number() -> None:
    assert not numerals("1e9999999")
    assert parse_number("9" * 61) is None


def test_the_strongest_source_decides_and_a_model_never_does() -> None:
    learner = Evidence(source="learner", verdict="failure")
    truth = Evidence(source="ground_truth", verdict="success")
    opinion = Evidence(source="model", verdict="success")
    assert verdict_of([learner, truth]) == "success"
    assert verdict_of([learner, opinion]) == "failure"
    assert verdict_of([opinion]) == "unknown"
    assert verdict_of([]) == "unknown"


@pytest.mark.parametrize(
    ("text", "truth", "quoted"),
    [
        ("it should be 5/6", "5/6", True),
        ("it is 10/12, in other words", "5/6", True),
        ("you said 50%", "0.5", True),
        ("no, 1 3/8", "11/8", True),
        ("in New-York city", "New York", False),
        ("in new   york, then", "New York", True),
        ("The capital is PARIS!", "Paris", True),
        ("Parisians know", "Paris", False),
        ("160 is too much", "60", False),
        ("check the tens", "60", False),
        ("anything", "", False),
        ("", "60", False),
    ],
)
def test_a_text_that_holds_the_true_value_is_recognised(text: str, truth: str, quoted: bool) -> None:
    assert quotes_truth(text, truth) == quoted


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("答案是56。", True),
        ("答えは56です。", True),
        ("答案是5万6", False),
        ("正解は5億です", False),
        ("第56章", True),
    ],
)
def test_a_number_in_a_script_without_spaces_is_read(answer: str, *, right: bool) -> None:
    assert matches_ground_truth(answer, "56") is right
    assert not matches_ground_truth(answer, "5")
