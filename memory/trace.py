"""What a trajectory holds beside its outcome: steps, reflections, feedback. All of it bounded on purpose.

Does not: know the record they are kept in (turn.py) or change it (trajectory.py).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from ace_graph.memory.bullet import Moment, Text
from ace_graph.memory.evidence import Verdict

__all__ = [
    "MAX_STEP_CHARS",
    "FeedbackKind",
    "Metadata",
    "Share",
    "Step",
    "StepKind",
    "TurnFeedback",
    "TurnReflection",
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
