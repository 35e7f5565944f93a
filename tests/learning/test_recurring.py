"""Patterns across trajectories: what counts as one, how often it is counted, and what stays apart."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ace_graph.base import clean_line
from ace_graph.learning import extract_patterns
from ace_graph.memory import TurnReflection

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
FIRST = "Check the rate limit before you call the API"
AGAIN = "Check the rate limits before you call the API."


def _reflection(
    run: str, minutes: int = 0, *, analysis: tuple[str, ...] = (), **lessons: tuple[str, ...]
) -> TurnReflection:
    """A reflection with `lessons` by their polarity, and `analysis` in all its other lines."""
    taught = [{"content": text, "polarity": kind} for kind, texts in lessons.items() for text in texts]
    lines = dict.fromkeys(("successes", "failures", "observations", "recommendations"), analysis)
    return TurnReflection.model_validate(
        {"turn_id": run, "at": NOON + timedelta(minutes=minutes), "by": "m", "lessons": taught, **lines}
    )


def test_two_wordings_in_three_of_five_runs_are_one_pattern() -> None:
    said = [FIRST, AGAIN, FIRST, "Cache the schema in a file", "Log every response body"]
    reflections = [_reflection(f"t{n}", n, strategy=(text,)) for n, text in enumerate(said)]
    found = extract_patterns(reflections)
    assert found[0].text == FIRST
    assert found[0].trajectory_ids == ("t0", "t1", "t2")
    assert [each.frequency for each in found] == [3, 1, 1]


def test_the_runs_of_a_pattern_come_in_the_order_of_time() -> None:
    reflections = [_reflection(run, n, strategy=(FIRST,)) for n, run in enumerate(("c", "a", "b", "a"))]
    (found,) = extract_patterns(reflections)
    assert found.trajectory_ids == ("c", "a", "b")


def test_several_reflections_on_one_run_count_once() -> None:
    found = extract_patterns([_reflection("t", n, strategy=(text,)) for n, text in enumerate([FIRST, AGAIN])])
    assert [(each.frequency, each.trajectory_ids) for each in found] == [(1, ("t",))]


def test_a_line_that_is_like_two_others_is_in_one_pattern() -> None:
    said = [FIRST, AGAIN, FIRST + "!"]
    found = extract_patterns([_reflection(f"t{n}", n, strategy=(text,)) for n, text in enumerate(said)])
    assert sum(each.frequency for each in found) == 3


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Always retry after a timeout", "Never retry after a timeout"),
        ("Wait 30 seconds after a 429", "Wait 60 seconds after a 429"),
        ("Wait 30 seconds after a timeout", "Wait 30 minutes after a timeout"),
        ("Sort the rows before you join them", "Sort the rows after you join them"),
    ],
)
def test_lines_that_contradict_each_other_stay_apart(one: str, other: str) -> None:
    reflections = [_reflection("a", strategy=(one,)), _reflection("b", 1, strategy=(other,))]
    close = {one: (1.0, 0.0), other: (1.0, 0.0)}
    assert [each.frequency for each in extract_patterns(reflections, vectors=close)] == [1, 1]


def test_polarity_never_mixes() -> None:
    reflections = [_reflection("a", strategy=(FIRST,)), _reflection("b", 1, anti_pattern=(FIRST,))]
    close = {FIRST: (1.0, 0.0)}
    found = extract_patterns(reflections, vectors=close)
    assert [(each.polarity, each.frequency) for each in found] == [("strategy", 1), ("anti_pattern", 1)]


@pytest.mark.parametrize(("vector", "patterns"), [((1.0, 0.1), 1), ((0.0, 1.0), 2)])
def test_close_vectors_join_other_words(vector: tuple[float, ...], patterns: int) -> None:
    other = "Before calling, have a look at the quota"
    reflections = [_reflection("a", strategy=(FIRST,)), _reflection("b", 1, strategy=(other,))]
    assert len(extract_patterns(reflections)) == 2
    found = extract_patterns(reflections, vectors={FIRST: (1.0, 0.0), other: vector})
    assert len(found) == patterns


def test_more_runs_give_more_confidence() -> None:
    reflections = [_reflection(f"t{n}", n, strategy=(FIRST,)) for n in range(9)]
    confidences = [extract_patterns(reflections[:n])[0].confidence for n in (1, 2, 9)]
    assert confidences == sorted(confidences)
    assert confidences[0] == pytest.approx(2 / 3)


_TEXTS = st.sampled_from(
    [FIRST, AGAIN, "Never check the rate limit", "Cache the schema", "Cache the schemas"]
)


@given(st.lists(st.tuples(st.sampled_from("abcd"), _TEXTS), max_size=8), st.randoms())
def test_the_order_of_reflections_makes_no_difference(said: list[tuple[str, str]], random: Random) -> None:
    reflections = [_reflection(run, n, observation=(text,)) for n, (run, text) in enumerate(said)]
    moved = random.sample(reflections, len(reflections))
    assert extract_patterns(moved) == extract_patterns(reflections)
    for pattern in extract_patterns(reflections):
        assert pattern.frequency == len(set(pattern.trajectory_ids))


_ANY_TEXT = st.one_of(_TEXTS, st.text(max_size=30))


@given(st.lists(st.tuples(st.lists(_ANY_TEXT, max_size=3), st.lists(_ANY_TEXT, max_size=3)), max_size=6))
def test_only_lessons_become_patterns(said: list[tuple[list[str], list[str]]]) -> None:
    reflections = [
        _reflection(f"t{n}", n, analysis=tuple(analysis), strategy=tuple(filter(None, lessons)))
        for n, (lessons, analysis) in enumerate(said)
    ]
    taught = {clean_line(lesson.content) for each in reflections for lesson in each.lessons}
    assert {pattern.text for pattern in extract_patterns(reflections)} <= taught
