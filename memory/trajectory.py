"""Changes of a trajectory's record: steps, completion, reflections, feedback, deletion.

All of them are pure functions; a store applies them under the learner's lock (`memory.commit.Amend`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import JsonValue

from ace_graph.base.errors import TrajectoryClosed
from ace_graph.base.retention import Tracing
from ace_graph.memory.evidence import EVIDENCE_SOURCES, Evidence, Verdict, strongest, verdict_of
from ace_graph.memory.turn import GRAPH_AGENT, Step, TurnFeedback, TurnRecord, TurnReflection, TurnStatus

MAX_STEPS = 200
_FIRST_STEPS = 50
_REFLECTIONS_KEPT = 3
_FEEDBACK_KEPT = 20
_DAY = 86_400.0

ScoreRule = Literal["latest", "average", "weighted"]


@dataclass(frozen=True)
class TrajectoryFilter:
    """A filter of trajectories; None matches any value, `turn_ids` any of these ids.

    `since` and `until` filter by the time of completion, and exclude trajectories in progress.
    """

    turn_id: str | None = None
    turn_ids: frozenset[str] | None = None
    agent: str | None = None
    task_type: str | None = None
    status: TurnStatus | None = None
    parent_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def matches(self, turn: TurnRecord) -> bool:
        """Whether the filter matches the turn."""
        fields = ("turn_id", "agent", "task_type", "status", "parent_id")
        same = all(getattr(self, name) in (None, getattr(turn, name)) for name in fields)
        named = self.turn_ids is None or turn.turn_id in self.turn_ids
        return same and named and not turn.deleted and self._in_time(turn)

    def _in_time(self, turn: TurnRecord) -> bool:
        if self.since is None and self.until is None:
            return True
        at = turn.completed_at
        return at is not None and (self.since or at) <= at and at <= (self.until or at)


@dataclass(frozen=True)
class TrajectoryOutcome:
    """How a trajectory ended. Without a `duration_ms` it took the time since its start."""

    status: TurnStatus
    score: float | None = None
    error: str | None = None
    metrics: Mapping[str, JsonValue] | None = None
    evidence: Sequence[Evidence] = ()
    cited: Sequence[str] = ()
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    duration_ms: float | None = None
    model: str | None = None
    answer: str = ""


def with_step(turn: TurnRecord, step: Step) -> TurnRecord:
    """Return the record with one more step; a repeated step id changes nothing.

    A step with the content of the last one is counted there. Beyond 200 steps the oldest after the first 50
    are left out. Raises TrajectoryClosed.
    """
    if turn.status != "in_progress":
        raise TrajectoryClosed(f"the trajectory {turn.turn_id} was completed: it takes no more steps")
    if any(known.step_id == step.step_id for known in turn.steps if step.step_id):
        return turn
    steps, over = _bounded(_appended(turn.steps, step))
    return turn.model_copy(update={"steps": steps, "steps_left_out": turn.steps_left_out + over})


def _appended(steps: tuple[Step, ...], step: Step) -> tuple[Step, ...]:
    last = steps[-1] if steps else None
    if last is None or (last.kind, last.text, last.metadata) != (step.kind, step.text, step.metadata):
        return (*steps, step)
    again = last.model_copy(update={"times": last.times + step.times, "step_id": step.step_id})
    return (*steps[:-1], again)


def bounded_steps(steps: Iterable[Step]) -> tuple[tuple[Step, ...], int]:
    """Return the steps that a record keeps, and how many are left out."""
    kept: tuple[Step, ...] = ()
    for step in steps:
        kept = _appended(kept, step)
    return _bounded(kept)


def _bounded(steps: tuple[Step, ...]) -> tuple[tuple[Step, ...], int]:
    over = max(0, len(steps) - MAX_STEPS)
    return ((*steps[:_FIRST_STEPS], *steps[_FIRST_STEPS + over :]) if over else steps), over


def completed(turn: TurnRecord, outcome: TrajectoryOutcome, now: datetime, tracing: Tracing) -> TurnRecord:
    """Return the record with its outcome. Raises TrajectoryClosed if it has one already."""
    if turn.status != "in_progress":
        raise TrajectoryClosed(f"the trajectory {turn.turn_id} was completed: its first outcome stays")
    measured = max(0.0, (now - turn.started_at).total_seconds() * 1000)
    update: dict[str, object] = {
        "status": outcome.status,
        "verdict": verdict_of((*turn.evidence, *outcome.evidence)),
        "score": outcome.score,
        "error": outcome.error,
        "metrics": {**turn.metrics, **(outcome.metrics or {})},
        "evidence": (*turn.evidence, *outcome.evidence),
        "cited": tuple(dict.fromkeys((*turn.cited, *outcome.cited))),
        "input_tokens": outcome.input_tokens,
        "output_tokens": outcome.output_tokens,
        "cost": outcome.cost,
        "model": outcome.model or turn.model,
        "answer": outcome.answer,
        "completed_at": max(now, turn.started_at),
        "duration_ms": measured if outcome.duration_ms is None else outcome.duration_ms,
    }
    return sampled(TurnRecord.model_validate({**dict(turn), **update}), tracing)


def sampled(turn: TurnRecord, tracing: Tracing) -> TurnRecord:
    """Return the record, without its steps where they are not in the sample."""
    if not turn.steps or tracing.keeps(turn.turn_id, turn.status):
        return turn
    return without_steps(turn, "sampled")


def without_steps(turn: TurnRecord, why: Literal["sampled", "retention"]) -> TurnRecord:
    """Return the record without its steps; outcome, evidence and reflections stay."""
    return turn.model_copy(update={"steps": (), "steps_left_out": 0, "steps_dropped": why})


def deleted(turn: TurnRecord) -> TurnRecord:
    """Return the record of a deleted trajectory: ids and times without any content."""
    gone: dict[str, object] = {"task": "", "answer": "", "answer_hash": "", "error": None, "topic": None}
    gone |= {"steps": (), "evidence": (), "reflections": (), "feedback": (), "metrics": {}, "injected": ()}
    gone |= {"cited": (), "task_type": None, "conversation_id": None, "parent_id": None, "learned_into": None}
    gone |= {"deleted": True}
    return turn.model_copy(update=gone)


def with_reflections(turn: TurnRecord, reflections: Sequence[TurnReflection]) -> TurnRecord:
    """Return the record with these reflections, each once by its id; the newest three are kept."""
    names = {each.reflection_id for each in reflections}
    kept = (*(each for each in turn.reflections if each.reflection_id not in names), *reflections)
    return turn.model_copy(update={"reflections": kept[-_REFLECTIONS_KEPT:]})


def with_cost(turn: TurnRecord, calls: int, tokens: tuple[int, int], cost: float | None) -> TurnRecord:
    """Return the record with what learning from the turn cost later: calls, tokens in and out, and the price.

    Without a price of both parts the price of the whole is unknown.
    """
    if not calls:
        return turn
    both = turn.cost is not None and cost is not None
    return turn.model_copy(
        update={
            "calls": turn.calls + calls,
            "input_tokens": turn.input_tokens + tokens[0],
            "output_tokens": turn.output_tokens + tokens[1],
            "cost": (turn.cost or 0) + (cost or 0) if both else None,
        }
    )


def with_feedback(turn: TurnRecord, feedback: TurnFeedback) -> TurnRecord:
    """Return the record with one more piece of feedback; the newest 20 are kept.

    Its verdict is the feedback's, unless a stronger source judged the answer; the status of a turn of the
    graph follows the verdict.
    """
    if feedback in turn.feedback:
        return turn
    kept = (*turn.feedback, feedback)[-_FEEDBACK_KEPT:]
    verdict = _verdict_after(turn, kept)
    return turn.model_copy(update={"feedback": kept, "verdict": verdict, "status": _status(turn, verdict)})


def _verdict_after(turn: TurnRecord, feedback: Iterable[TurnFeedback]) -> Verdict:
    said, known = strongest(each.evidence for each in feedback), strongest(turn.evidence)
    rank = EVIDENCE_SOURCES.index
    if said is None or (known is not None and rank(known.source) < rank(said.source)):
        return turn.verdict
    return said.verdict


def _status(turn: TurnRecord, verdict: Verdict) -> TurnStatus:
    if turn.agent != GRAPH_AGENT or verdict == "unknown" or verdict == turn.verdict:
        return turn.status
    return "partial" if verdict == "success" and turn.error is not None else verdict


def effective_score(turn: TurnRecord, now: datetime, rule: ScoreRule = "weighted") -> float | None:
    """Return the combined score of the trajectory and the feedback on it, in [0, 1].

    `weighted`: each score has the weight 1/(1 + its age in days). None without a score and feedback.
    """
    own = [] if turn.score is None else [(turn.score, turn.completed_at or turn.started_at)]
    scores = [*own, *((each.score, each.at) for each in turn.feedback)]
    if not scores:
        return None
    if rule == "latest":
        return max(reversed(scores), key=lambda pair: pair[1])[0]
    weights = [1.0 if rule == "average" else _weight(at, now) for _, at in scores]
    return sum(w * score for w, (score, _) in zip(weights, scores, strict=True)) / sum(weights)


def _weight(at: datetime, now: datetime) -> float:
    return 1.0 / (1.0 + max(0.0, (now - at).total_seconds()) / _DAY)
