"""The pure part: sampling, scores, retention."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import ValidationError

from ace_graph.base import Tracing
from ace_graph.memory import (
    Evidence,
    Step,
    TurnFeedback,
    TurnRecord,
    TurnReflection,
    TurnStatus,
    deleted,
    effective_score,
    sampled,
    with_feedback,
    with_reflections,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def turn(number: int = 1, status: TurnStatus = "success", **fields: object) -> TurnRecord:
    given = {
        "turn_id": f"t{number}",
        "attempt_id": "a",
        "task": "x",
        "mode": "cot",
        "status": status,
        "steps": (Step(kind="action", text="x"),),
        "started_at": NOON,
        "completed_at": NOON,
        **fields,
    }
    return TurnRecord.model_validate(given)


def traces(tracing: Tracing, status: TurnStatus, many: int) -> int:
    return sum(bool(sampled(turn(n, status), tracing).steps) for n in range(many))


def test_all_failures_and_a_tenth_of_the_successes() -> None:
    tracing = Tracing(0.1, seed="fixed")
    assert traces(tracing, "failure", 50) == 50
    assert 70 <= traces(tracing, "success", 1_000) <= 130


@pytest.mark.parametrize(("rate", "kept"), [(0.0, 0), (1.0, 200)])
def test_the_limits_of_the_sample(rate: float, kept: int) -> None:
    assert traces(Tracing(rate), "success", 200) == kept


def test_failures_are_sampled_too_where_that_is_wanted() -> None:
    assert traces(Tracing(0.0, always_failures=False), "failure", 50) == 0
    assert 20 <= traces(Tracing(0.5, always_failures=False), "failure", 80) <= 60


def test_the_same_trajectory_is_in_the_sample_wherever_it_is_drawn() -> None:
    drawn = [bool(sampled(turn(n), Tracing(0.5)).steps) for n in range(50)]
    assert drawn == [bool(sampled(turn(n), Tracing(0.5)).steps) for n in range(50)]
    assert drawn != [bool(sampled(turn(n), Tracing(0.5, seed="other")).steps) for n in range(50)]


@pytest.mark.parametrize("score", [float("nan"), 1.2, -0.1, float("inf")])
def test_no_record_holds_a_score_out_of_bounds(score: float) -> None:
    with pytest.raises(ValidationError):
        turn(score=score)


def said(score: float, days: float = 0) -> TurnFeedback:
    return TurnFeedback(verdict="success", score=score, at=NOON + timedelta(days=days))


def test_the_effective_score_weighs_by_age() -> None:
    judged = with_feedback(turn(score=1.0), said(0.0, days=3))
    now = NOON + timedelta(days=3)
    assert effective_score(judged, now, "latest") == 0.0
    assert effective_score(judged, now, "average") == 0.5
    assert effective_score(judged, now) == pytest.approx(0.25 / 1.25)
    assert effective_score(turn(), now) is None


def test_of_scores_at_one_moment_the_one_given_last_is_the_latest() -> None:
    judged = with_feedback(with_feedback(turn(score=1.0), said(0.2)), said(0.6))
    assert effective_score(judged, NOON, "latest") == 0.6
    assert effective_score(judged, NOON, "average") == pytest.approx(0.6)
    assert effective_score(judged, NOON - timedelta(days=9)) == pytest.approx(0.6), "none weighs more than 1"


def test_the_newest_twenty_pieces_of_feedback_are_kept_each_once() -> None:
    judged = turn()
    for n in (*range(23), 22):
        judged = with_feedback(judged, said(n / 100))
    assert [round(each.score * 100) for each in judged.feedback] == list(range(3, 23))


def test_the_newest_three_reflections_are_kept_each_once() -> None:
    looks = [TurnReflection(turn_id="t1", at=NOON, insight=f"insight {n}") for n in range(5)]
    reflected = with_reflections(with_reflections(turn(), looks[:3]), looks[1:4])
    assert [each.insight for each in reflected.reflections] == ["insight 1", "insight 2", "insight 3"]
    assert with_reflections(reflected, looks[4:]).reflections == tuple(looks[2:])


def test_a_deleted_record_keeps_ids_times_and_cost_alone() -> None:
    evidence = Evidence(source="tool", verdict="failure", text="secret")
    feedback = TurnFeedback(at=NOON, verdict="success", score=1, text="secret")
    content: dict[str, object] = {
        "task": "secret",
        "answer": "secret",
        "answer_hash": "h",
        "error": "secret",
        "topic": "secret",
        "steps": (Step(kind="action", text="secret"),),
        "evidence": (evidence,),
        "reflections": (TurnReflection(turn_id="t1", at=NOON, by="rules"),),
        "feedback": (feedback,),
        "metrics": {"secret": 1},
        "injected": ("fra-00001",),
        "cited": ("fra-00001",),
        "task_type": "secret",
        "conversation_id": "c",
        "parent_id": "p",
    }
    full = turn(calls=2, input_tokens=5, cost=0.5).model_dump() | content
    gone = deleted(TurnRecord.model_validate(full))
    assert gone == turn(calls=2, input_tokens=5, cost=0.5, task="", steps=(), deleted=True)


def test_a_reflection_has_an_id_that_it_keeps() -> None:
    stored = {"turn_id": "t1", "at": NOON.isoformat(), "insight": "Pages begin with 1"}
    old = TurnReflection.model_validate_json(json.dumps(stored))
    again = TurnReflection.model_validate_json(old.model_dump_json())
    assert old.reflection_id == TurnReflection.model_validate_json(json.dumps(stored)).reflection_id
    assert again == old
    other = TurnReflection.model_validate_json(json.dumps({**stored, "turn_id": "t2"}))
    assert other.reflection_id != old.reflection_id


def test_a_reflection_with_the_id_of_another_replaces_it() -> None:
    first = TurnReflection(turn_id="t1", at=NOON, reflection_id="r", insight="one")
    kept = with_reflections(with_reflections(turn(), [first]), [first.model_copy(update={"insight": "two"})])
    assert [each.insight for each in kept.reflections] == ["two"]


def test_a_record_outside_of_the_sample_says_why_it_has_no_steps() -> None:
    assert sampled(turn(), Tracing(success_rate=0)).steps_dropped == "sampled"
