"""Ground truth is compared as a value; the strongest source decides."""

from __future__ import annotations

import pytest

from ace_graph.learning.evidence import matches_ground_truth, quotes_truth
from ace_graph.memory.evidence import Evidence, verdict_of


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
    ],
)
def test_another_value_is_not(answer: str, truth: str) -> None:
    assert not matches_ground_truth(answer, truth)


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
