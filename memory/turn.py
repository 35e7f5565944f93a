"""The record of one turn, as it travels in the turn's commit (the trajectory of document 004).

What a trajectory holds beside its outcome: steps, reflections, feedback. All of it bounded on purpose.

Does not: hold bytes of images or unbounded text; what is long is cut when the record is made.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from ace_graph.memory.bullet import Moment, Text
from ace_graph.memory.evidence import Evidence, Verdict

__all__ = [
    "GRAPH_AGENT",
    "MAX_STEP_CHARS",
    "MAX_TASK_CHARS",
    "Arm",
    "FeedbackKind",
    "Metadata",
    "RecentTurn",
    "Share",
    "Step",
    "StepKind",
    "TurnFeedback",
    "TurnRecord",
    "TurnReflection",
    "TurnStatus",
    "answer_hash",
]


MAX_STEP_CHARS = 1_000

StepKind = Literal["decision", "action", "observation"]
FeedbackKind = Literal["human", "monitoring", "ab_test", "production"]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
"""A number in [0, 1]; NaN is none."""
Metadata = dict[str, JsonValue]
_Line = Annotated[Text, Field(max_length=600)]
_Lines = Annotated[tuple[_Line, ...], Field(max_length=20)]


class Step(BaseModel):
    """One decision, action or observation. `times` counts the same step coming again right after itself.

    `step_id` makes logging it twice harmless.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: StepKind
    text: Annotated[Text, Field(max_length=MAX_STEP_CHARS + 32)]
    metadata: Metadata = Field(default_factory=dict[str, JsonValue])
    at: Moment | None = None
    times: Annotated[int, Field(ge=1)] = 1
    step_id: Text = ""


class TurnReflection(BaseModel):
    """What a reflection found. `turn_id` is the turn it is about, `by` the model's name.

    With `fallback` no model gave a usable reply, and what is said follows from the record by rules.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    turn_id: Text
    at: Moment
    by: Text = ""
    insight: _Line = ""
    successes: _Lines = ()
    failures: _Lines = ()
    observations: _Lines = ()
    recommendations: _Lines = ()
    confidence: Share | None = None
    fallback: bool = False
    error: _Line | None = None


class TurnFeedback(BaseModel):
    """What somebody, or some system, said of the turn afterwards. `score` is in [0, 1]."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: FeedbackKind = "human"
    verdict: Verdict
    score: Share
    text: Annotated[Text, Field(max_length=2_000)] = ""
    by: Annotated[Text, Field(max_length=256)] = ""
    at: Moment


MAX_TASK_CHARS = 2_000
GRAPH_AGENT = "ace_graph"
"""The agent of the graph's own turns."""

Arm = Literal["with", "without"]
"""Whether a turn showed its unproven bullets or withheld them (memory.trust)."""

TurnStatus = Literal["in_progress", "success", "failure", "partial"]
Amount = Annotated[int, Field(ge=0)]
Ids = tuple[Text, ...]


def answer_hash(answer: str) -> str:
    """Return the hash by which a later message is matched to the turn that gave this answer."""
    return hashlib.sha256(" ".join(answer.split()).encode("utf-8", "replace")).hexdigest()[:16]


class RecentTurn(BaseModel):
    """What the access part keeps of a turn, for feedback that comes later."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    turn_id: Text
    answer_hash: Text
    injected: Ids = ()
    cited: Ids = ()
    verdict: Verdict = "unknown"
    arm: Arm | None = None


class TurnRecord(BaseModel):
    """Who asked what, when, in which mode, what it cost and how it went: a trajectory (document 004).

    `task` and `answer` are cut at 2,000 characters; `duration_ms` is wall time; `score` is in [0, 1];
    `cost` is in the currency of the prices that it follows from, or the caller's. `status` says how the run
    ended, `verdict` what the evidence says about the answer. `agent` did it: the graph, or one of the host's.
    Steps beyond the bound are counted in `steps_left_out`; `steps_dropped` says why there are none
    any more. One that was deleted is listed nowhere and says nothing; it stays as the mark of its commit.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    turn_id: Text
    attempt_id: Text
    conversation_id: Text | None = None
    parent_id: Text | None = None
    task: Annotated[Text, Field(max_length=MAX_TASK_CHARS + 32)]
    answer: Annotated[Text, Field(max_length=MAX_TASK_CHARS + 32)] = ""
    answer_hash: Text = ""
    mode: Text
    topic: Text | None = None
    agent: Annotated[Text, Field(min_length=1, max_length=256)] = GRAPH_AGENT
    task_type: Annotated[Text, Field(max_length=256)] | None = None
    status: TurnStatus
    verdict: Verdict = "unknown"
    score: Share | None = None
    error: Text | None = None
    model: Text | None = None
    calls: Amount = 0
    input_tokens: Amount = 0
    output_tokens: Amount = 0
    duration_ms: Annotated[float, Field(ge=0)] = 0
    cost: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    metrics: Metadata = Field(default_factory=dict[str, JsonValue])
    injected: Ids = ()
    cited: Ids = ()
    arm: Arm | None = None
    evidence: tuple[Evidence, ...] = ()
    steps: tuple[Step, ...] = ()
    steps_left_out: Amount = 0
    steps_dropped: Literal["sampled", "retention"] | None = None
    reflections: tuple[TurnReflection, ...] = ()
    feedback: tuple[TurnFeedback, ...] = ()
    deleted: bool = False
    started_at: Moment
    completed_at: Moment | None = None

    def recent(self) -> RecentTurn:
        """Return the part of the record that the learner's access part keeps."""
        return RecentTurn(
            turn_id=self.turn_id,
            answer_hash=self.answer_hash,
            injected=self.injected,
            cited=self.cited,
            verdict=self.verdict,
            arm=self.arm,
        )
