"""Replay's two decisions: whether an answer with lessons is better, and which lessons stay."""

from __future__ import annotations

import pytest

from ace_graph.learning.reflection import Lesson
from ace_graph.learning.replay import helped, refused
from ace_graph.memory.evidence import Verdict


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
def test_lessons_help_where_the_answer_gets_better(
    before: Verdict, after: Verdict, expected: bool | None
) -> None:
    assert helped(before, after) is expected


def test_only_lessons_that_were_tried_go_each_with_a_reason() -> None:
    tried, untried = Lesson(content="Add the tops and the bottoms"), Lesson(content="The answer is 5/6")
    stay, why = refused([tried, untried], ["Add the tops and the bottoms"])
    assert stay == (untried,)
    assert why == ("replay: the answer with it is no better: Add the tops and the bottoms",)
