"""Changes of a trajectory's record: bounded steps, one outcome, reflections, feedback, scores, deletion."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ace_graph.base import Tracing, TrajectoryClosed
from ace_graph.memory import (
    MAX_STEPS,
    Evidence,
    ScoreRule,
    Step,
    TrajectoryFilter,
    TrajectoryOutcome,
    TurnFeedback,
    TurnRecord,
    TurnReflection,
    bounded_steps,
    completed,
    deleted,
    effective_score,
    sampled,
    with_cost,
    with_feedback,
    with_reflections,
    with_step,
)
from ace_graph.testing.conformance import NOON

DONE = TrajectoryOutcome("success")
HOUR = timedelta(hours=1)


def running(**fields: object) -> TurnRecord:
    given = {"turn_id": "t1", "attempt_id": "a", "task": "x", "mode": "cot", "status": "in_progress"}
    return TurnRecord.model_validate({**given, "started_at": NOON, **fields})


def step(text: str, **fields: object) -> Step:
    return Step.model_validate({"kind": "action", "text": text, "at": NOON, **fields})


def feedback(score: float, hours: float, **fields: object) -> TurnFeedback:
    at = NOON + timedelta(hours=hours)
    return TurnFeedback.model_validate({"verdict": "success", "score": score, "at": at, **fields})


@given(st.integers(0, 320))
def test_the_first_fifty_steps_and_the_newest_are_kept(many: int) -> None:
    steps, left_out = bounded_steps(step(str(number)) for number in range(many))
    assert left_out == max(0, many - 200)
    assert len(steps) == min(many, MAX_STEPS) <= 200
    expected = [*range(min(many, 50)), *range(50 + left_out, many)]
    assert [int(each.text) for each in steps] == expected


def test_a_record_counts_the_steps_that_it_leaves_out() -> None:
    turn = running(steps=[step(str(number)) for number in range(200)], steps_left_out=3)
    for number in range(200, 203):
        turn = with_step(turn, step(str(number)))
    assert (len(turn.steps), turn.steps_left_out) == (200, 6)
    assert [turn.steps[place].text for place in (0, 49, 50, -1)] == ["0", "49", "53", "202"]


def test_a_step_like_the_last_one_is_counted_there() -> None:
    turn = running()
    for each in (step("a", step_id="1"), step("a", step_id="2", times=2), step("b"), step("a")):
        turn = with_step(turn, each)
    assert [(each.text, each.times, each.step_id) for each in turn.steps] == [
        ("a", 3, "2"),
        ("b", 1, ""),
        ("a", 1, ""),
    ]
    for other in (step("a", kind="decision"), step("a", metadata={"tool": "x"})):
        assert with_step(turn, other).steps == (*turn.steps, other)


def test_a_repeated_step_changes_nothing() -> None:
    turn = with_step(with_step(running(), step("a", step_id="1")), step("b", step_id="2"))
    assert with_step(turn, step("c", step_id="1")) is turn
    nameless = with_step(turn, step("c"))
    assert len(with_step(nameless, step("d")).steps) == 4


def test_a_completed_trajectory_takes_no_more() -> None:
    turn = completed(running(), DONE, NOON, Tracing())
    with pytest.raises(TrajectoryClosed, match="t1 was completed: it takes no more steps"):
        with_step(turn, step("a"))
    with pytest.raises(TrajectoryClosed, match="t1 was completed: its first outcome stays"):
        completed(turn, DONE, NOON, Tracing())


def test_an_outcome_is_added_to_what_is_known() -> None:
    known = Evidence(source="learner", verdict="success")
    found = {"metrics": {"a": 1, "b": 1}, "evidence": (known,), "cited": ("x", "y"), "model": "m"}
    turn = running(**found, steps=[step("s")])
    told = Evidence(source="tool", verdict="failure")
    outcome = TrajectoryOutcome(
        "failure", 0.25, "it broke", {"b": 2}, (told,), ("y", "z"), 7, 8, 0.5, answer="answer"
    )
    assert completed(turn, outcome, NOON + timedelta(seconds=2), Tracing()) == turn.model_copy(
        update={
            "status": "failure", "verdict": "failure", "score": 0.25, "error": "it broke",
            "metrics": {"a": 1, "b": 2}, "evidence": (known, told), "cited": ("x", "y", "z"),
            "input_tokens": 7, "output_tokens": 8, "cost": 0.5, "model": "m", "answer": "answer",
            "completed_at": NOON + timedelta(seconds=2), "duration_ms": 2_000.0,
        }
    )  # fmt: skip
    assert completed(turn, TrajectoryOutcome("success", model="other"), NOON, Tracing()).model == "other"


@pytest.mark.parametrize("late", [timedelta(0), HOUR])
def test_a_clock_that_goes_back_gives_no_negative_time(late: timedelta) -> None:
    turn = completed(running(), DONE, NOON - late, Tracing())
    assert (turn.completed_at, turn.duration_ms) == (NOON, 0)


def test_steps_are_kept_for_a_share_of_the_successes_and_for_failures() -> None:
    held: dict[str, object] = {"steps": [step("a")], "steps_left_out": 2, "status": "success"}
    turns = [running(turn_id=f"t{n}", **held) for n in range(200)]
    tracing = Tracing(success_rate=0.25)
    kept = [sampled(turn, tracing) for turn in turns]
    assert 30 <= sum(bool(turn.steps) for turn in kept) <= 70
    assert {(len(turn.steps), turn.steps_left_out, turn.steps_dropped) for turn in kept} == {
        (1, 2, None),
        (0, 0, "sampled"),
    }
    assert kept == [sampled(turn, tracing) for turn in turns], "the same everywhere"
    other = Tracing(success_rate=0.25, seed="other")
    assert [bool(sampled(turn, other).steps) for turn in turns] != [bool(turn.steps) for turn in kept]
    for status in ("failure", "partial"):
        failed = running(status=status, steps=[step("a")])
        assert sampled(failed, Tracing(success_rate=0)) is failed
        assert sampled(failed, Tracing(success_rate=0, always_failures=False)).steps == ()
    none = Tracing(success_rate=0)
    assert [turn for turn in turns if sampled(turn, none).steps] == []
    assert all(sampled(turn, Tracing()) is turn for turn in turns)
    empty = running(status="success")
    assert sampled(empty, none) is empty, "nothing was dropped"


def test_reflections_are_known_by_their_id_and_the_newest_three_stay() -> None:
    def reflection(number: int, insight: str = "") -> TurnReflection:
        return TurnReflection(turn_id="t1", reflection_id=f"r{number}", at=NOON, insight=insight)

    turn = with_reflections(running(), [reflection(number) for number in range(5)])
    assert [each.reflection_id for each in turn.reflections] == ["r2", "r3", "r4"]
    again = with_reflections(turn, [reflection(3, "anew")])
    assert [(each.reflection_id, each.insight) for each in again.reflections] == [
        ("r2", ""),
        ("r4", ""),
        ("r3", "anew"),
    ]


@pytest.mark.parametrize(
    ("known", "agent", "kind", "verdict", "expected"),
    [
        (None, "ace_graph", "human", "failure", ("failure", "failure")),
        (None, "ace_graph", "human", "partial", ("partial", "partial")),
        (("learner", "failure"), "ace_graph", "human", "success", ("success", "success")),
        (("model", "success"), "ace_graph", "human", "failure", ("failure", "failure")),
        (("evaluator", "success"), "ace_graph", "human", "failure", ("success", "success")),
        (("evaluator", "success"), "ace_graph", "production", "failure", ("failure", "failure")),
        (None, "crawler", "human", "failure", ("failure", "success")),
    ],
)
def test_feedback_is_the_verdict_unless_a_stronger_source_judged(
    known: tuple[str, str] | None, agent: str, kind: str, verdict: str, expected: tuple[str, str]
) -> None:
    evidence = [] if known is None else [Evidence.model_validate({"source": known[0], "verdict": known[1]})]
    before = "unknown" if known is None or known[0] == "model" else known[1]
    status = "success" if before == "unknown" else before
    turn = running(agent=agent, evidence=evidence, verdict=before, status=status, completed_at=NOON)
    judged = with_feedback(turn, feedback(0.0, 1, kind=kind, verdict=verdict))
    assert (judged.verdict, judged.status) == expected


def test_a_turn_with_a_problem_that_is_judged_good_stays_partial() -> None:
    turn = running(agent="ace_graph", status="partial", error="no answer in time", completed_at=NOON)
    assert with_feedback(turn, feedback(1.0, 1)).status == "partial"


def test_feedback_counts_once_and_the_newest_twenty_stay() -> None:
    turn = running()
    for number in range(25):
        turn = with_feedback(turn, feedback(0.5, number))
        assert with_feedback(turn, feedback(0.5, number)) is turn
    assert [each.at for each in turn.feedback] == [NOON + number * HOUR for number in range(5, 25)]


@pytest.mark.parametrize(
    ("rule", "score"),
    [("latest", 0.8), ("average", 0.6), ("weighted", (1.0 / 3 + 0.0 / 2 + 0.8) / (1 / 3 + 1 / 2 + 1))],
)
def test_scores_are_combined_by_a_rule(rule: ScoreRule, score: float) -> None:
    turn = running(score=1.0, completed_at=NOON, feedback=[feedback(0.8, 48), feedback(0.0, 24)])
    assert effective_score(turn, NOON + 48 * HOUR, rule) == pytest.approx(score)
    assert effective_score(running(), NOON, rule) is None
    assert effective_score(running(score=0.0), NOON, rule) == 0.0
    assert effective_score(running(feedback=[feedback(0.25, 0)]), NOON, rule) == 0.25


def test_of_scores_of_one_moment_the_last_counts_and_none_weighs_more_than_now() -> None:
    turn = running(feedback=[feedback(0.0, 5), feedback(1.0, 5)])
    assert effective_score(turn, NOON, "latest") == 1.0
    assert effective_score(turn, NOON) == 0.5, "both are from the future"
    assert effective_score(turn, NOON + 100 * HOUR) == 0.5
    unfinished = running(score=1.0, feedback=[feedback(0.0, -1)])
    assert effective_score(unfinished, NOON, "latest") == 1.0, "it counts from its start"


def test_a_deleted_record_keeps_ids_and_times() -> None:
    turn = running(
        conversation_id="c", parent_id="p", answer="y", answer_hash="h", topic="t", task_type="k",
        status="failure", score=0.5, error="e", model="m", calls=1, input_tokens=2, output_tokens=3,
        duration_ms=4, cost=5, metrics={"a": 1}, injected=("i",), cited=("i",), evidence=[
            Evidence(source="tool", verdict="failure")
        ], steps=[step("s")], steps_left_out=1, feedback=[feedback(0.5, 1)], completed_at=NOON + HOUR,
        reflections=[TurnReflection(turn_id="t1", at=NOON)],
    )  # fmt: skip
    left = running(
        answer="", status="failure", score=0.5, model="m", calls=1, input_tokens=2, output_tokens=3,
        duration_ms=4, cost=5, steps_left_out=1, completed_at=NOON + HOUR, task="", deleted=True,
    )  # fmt: skip
    assert deleted(turn) == left


def test_a_filter_selects_by_every_field() -> None:
    turn = running(agent="a", task_type="k", parent_id="p", completed_at=NOON + HOUR, status="success")
    assert TrajectoryFilter().matches(turn)
    fields: dict[str, Any] = {
        "turn_id": "t1",
        "agent": "a",
        "task_type": "k",
        "status": "success",
        "parent_id": "p",
    }  # Any: of several types
    for name, value in fields.items():
        assert replace(TrajectoryFilter(), **{name: value}).matches(turn)
        assert not replace(TrajectoryFilter(), **{name: "failure"}).matches(turn)
    assert TrajectoryFilter(turn_ids=frozenset({"t1", "t2"})).matches(turn)
    assert not TrajectoryFilter(turn_ids=frozenset({"t2"})).matches(turn)
    assert not TrajectoryFilter(turn_ids=frozenset()).matches(turn)
    assert not TrajectoryFilter().matches(deleted(turn))


def test_a_filter_by_time_includes_both_ends() -> None:
    turn = running(completed_at=NOON + HOUR)
    second = timedelta(seconds=1)
    at = NOON + HOUR
    assert TrajectoryFilter(since=at).matches(turn)
    assert TrajectoryFilter(until=at).matches(turn)
    assert TrajectoryFilter(since=at, until=at).matches(turn)
    assert not TrajectoryFilter(since=at + second).matches(turn)
    assert not TrajectoryFilter(until=at - second).matches(turn)
    assert not TrajectoryFilter(since=NOON).matches(running())
    assert not TrajectoryFilter(until=at).matches(running())


@pytest.mark.parametrize(
    ("price", "later", "whole"), [(1.0, 0.5, 1.5), (None, 0.5, None), (1.0, None, None), (0.0, 0.5, 0.5)]
)
def test_what_learning_costs_later_is_added(
    price: float | None, later: float | None, whole: float | None
) -> None:
    turn = running(calls=1, input_tokens=10, output_tokens=5, cost=price)
    known = with_cost(turn, 2, (20, 7), later)
    assert (known.calls, known.input_tokens, known.output_tokens, known.cost) == (3, 30, 12, whole)
    assert with_cost(turn, 0, (0, 0), None) == turn, "nothing was asked of a model"
