"""Replay: whether an answer with lessons is better than the one before."""

from __future__ import annotations

import pytest

from ace_graph.agent.reasoning import helped
from ace_graph.memory import Evidence, Verdict


def judged(verdict: Verdict, score: float | None = None) -> Evidence:
    return Evidence(source="evaluator", verdict=verdict, score=score)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("failure", "success", True),
        ("failure", "partial", True),
        ("partial", "success", True),
        ("partial", "partial", False),
        ("partial", "failure", False),
        ("failure", "failure", False),
        ("failure", "unknown", None),
    ],
)
def test_lessons_help_where_the_verdict_gets_better(
    before: Verdict, after: Verdict, expected: bool | None
) -> None:
    assert helped([judged(before)], [judged(after)]) is expected


def test_of_two_answers_with_one_verdict_the_higher_score_is_better() -> None:
    assert helped([judged("partial", 0.2)], [judged("partial", 0.4)]) is True
    assert helped([judged("partial", 0.4)], [judged("partial", 0.4)]) is False
    assert helped([judged("partial", 0.9)], [judged("failure", 1.0)]) is False
    assert helped([judged("failure", 0.0)], []) is None
