"""The record of one turn (the trajectory of document 004): outcome, steps, reflections, feedback.

All texts and lists are bounded; long texts are cut when the record is made. Images are not stored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple, cast
from uuid import NAMESPACE_URL, uuid5

from pydantic import Field, JsonValue, model_validator
from typing_extensions import TypedDict  # pydantic refuses the one of typing before Python 3.12

from ace_graph.base.frozen import Frozen
from ace_graph.memory.bullet import LEFT_OUT, MemoryType, Moment, Polarity, Share, Text
from ace_graph.memory.evidence import Evidence, Verdict

MAX_STEP_CHARS = 1_000
StepKind = Literal["decision", "action", "observation"]
FeedbackKind = Literal["human", "monitoring", "ab_test", "production"]
Metadata = dict[str, JsonValue]
_Line = Annotated[Text, Field(max_length=600)]
_Lines = Annotated[tuple[_Line, ...], Field(max_length=20)]


class Step(Frozen):
    """One decision, action or observation. `times` counts immediate repetitions of it.

    A step with the same `step_id` is logged once.
    """

    kind: StepKind
    text: Annotated[Text, Field(max_length=MAX_STEP_CHARS + 32)]
    metadata: Metadata = Field(default_factory=dict[str, JsonValue])
    at: Moment | None = None
    times: Annotated[int, Field(ge=1)] = 1
    step_id: Text = ""


class ReflectedLesson(Frozen):
    """A lesson of a reflection, with what a bullet needs; it reaches a playbook when it is curated."""

    content: _Line
    polarity: Polarity = "strategy"
    section: Text = ""
    memory_type: MemoryType | None = None
    topic: Text | None = None


class TurnReflection(Frozen):
    """The result of a reflection on the turn `turn_id`; `by` is the model's name.

    `reflection_id` names it, for curation; where none is given it follows from the turn, the moment, the
    author and the insight, so that records of 0.1 have one, too. `lessons` are what it teaches, each of them
    a line of the lists as well; the other lines analyse the run, and no bullet is made of them.
    `trajectory_ids` are the runs that it is about, where that is not the one turn: the newest 64 of
    `frequency`. `fallback`: no model gave a usable reply, and the result follows from the record by rules.
    """

    turn_id: Text
    reflection_id: Annotated[Text, Field(min_length=1)] = ""
    at: Moment
    by: Text = ""
    insight: _Line = ""
    successes: _Lines = ()
    failures: _Lines = ()
    observations: _Lines = ()
    recommendations: _Lines = ()
    confidence: Share | None = None
    lessons: Annotated[tuple[ReflectedLesson, ...], Field(max_length=20), LEFT_OUT] = ()
    trajectory_ids: Annotated[tuple[Text, ...], Field(max_length=64), LEFT_OUT] = ()
    frequency: Annotated[int, Field(ge=1, exclude_if=lambda value: value == 1)] = 1
    fallback: bool = False
    error: _Line | None = None

    @model_validator(mode="before")
    @classmethod
    def _name(cls, data: object) -> object:
        if not isinstance(data, Mapping):
            return data
        fields = cast("Mapping[str, object]", data)
        if fields.get("reflection_id"):
            return fields
        known = (str(fields.get(name, "")) for name in ("turn_id", "at", "by", "insight"))
        return {**fields, "reflection_id": str(uuid5(NAMESPACE_URL, ":".join(("ace-graph", *known))))}

    @property
    def runs(self) -> tuple[str, ...]:
        """The trajectories that it is about."""
        return self.trajectory_ids or (self.turn_id,)


class TurnFeedback(Frozen):
    """Feedback of a person or a system on the turn. `score` is in [0, 1]."""

    kind: FeedbackKind = "human"
    verdict: Verdict
    score: Share
    text: Annotated[Text, Field(max_length=2_000)] = ""
    by: Annotated[Text, Field(max_length=256)] = ""
    at: Moment

    @property
    def evidence(self) -> Evidence:
        """The feedback as evidence: a person is the source `learner`, the other kinds are `evaluator`."""
        return Evidence(
            source="learner" if self.kind == "human" else "evaluator",
            verdict=self.verdict,
            score=self.score,
            text=self.text or f"{self.kind} feedback: {self.verdict}",
            by=self.by or self.kind,
        )


MAX_TASK_CHARS = 2_000
GRAPH_AGENT = "ace_graph"
"""The agent of the graph's own turns."""
Arm = Literal["with", "without"]
"""Whether a turn showed its unproven bullets or withheld them (trust.py)."""
Replay = Literal["kept", "refused"]
"""What came of trying a failed turn's lessons on its question again (reasoning/attempt.py)."""
TurnStatus = Literal["in_progress", "success", "failure", "partial"]
Amount = Annotated[int, Field(ge=0)]
Ids = tuple[Text, ...]


def answer_hash(answer: str) -> str:
    """Return the hash by which a later message is matched to the turn with this answer."""
    return hashlib.sha256(" ".join(answer.split()).encode("utf-8", "replace")).hexdigest()[:16]


class RecentTurn(Frozen):
    """The part of a turn that the access part keeps, for later feedback.

    `analyzed`: a reflector has read it, and it is counted as such. `followed`: a bullet got a vote for it, so
    its outcome says something about what it was shown. `replay`: so does that of its lessons.
    """

    turn_id: Text
    answer_hash: Text
    injected: Ids = ()
    cited: Ids = ()
    verdict: Verdict = "unknown"
    arm: Arm | None = None
    analyzed: Annotated[bool, LEFT_OUT] = False
    followed: Annotated[bool, LEFT_OUT] = False
    replay: Annotated[Replay | None, LEFT_OUT] = None


class PlaybookRead(NamedTuple):
    """A named playbook that a turn read beside the memory: its id, and the label of the version."""

    playbook_id: Text
    label: Text


class LearnedInto(TypedDict):
    """Where the lessons of a turn went that were meant for a named playbook, as plain JSON.

    `playbook` is its name as the run gave it. `how`: they were written into it, proposed to it, or are in the
    learner's own memory. `count` is how many it knows by this turn, new or again; `kept` is how many are in
    the own memory, and `why` says why. `bullet_ids` are the playbook's bullets that say them, `proposal_id`
    is that of the proposal.
    """

    playbook: Text
    how: Literal["written", "proposed", "own memory"]
    count: int
    kept: int
    why: Text | None
    bullet_ids: list[Text]
    proposal_id: Text | None


class TurnRecord(Frozen):
    """One turn: task, mode, answer, cost and result; a trajectory in the sense of document 004.

    `task` and `answer` are cut at 2,000 characters; `duration_ms` is wall time; `score` is in [0, 1];
    `cost` is in the currency of the configured prices, or the caller's. `status` is how the run ended,
    `verdict` follows from the evidence about the answer. `agent` is the graph, or an agent of the host.
    `playbooks` are the named ones that the answer was given with, whether or not a bullet of them was shown;
    `learned_into` says what became of lessons that were meant for one.
    `steps_left_out` counts steps beyond the limit; `steps_dropped` says why there are none any more.
    `unattributed`: it is not sure who said what in it, so what it teaches goes to quarantine for a review.
    A deleted record is in no list and has no content; it remains as the key of its commit.
    """

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
    replay: Annotated[Replay | None, LEFT_OUT] = None
    playbooks: Annotated[tuple[PlaybookRead, ...], LEFT_OUT] = ()
    learned_into: Annotated[LearnedInto | None, LEFT_OUT] = None
    evidence: tuple[Evidence, ...] = ()
    steps: tuple[Step, ...] = ()
    steps_left_out: Amount = 0
    steps_dropped: Literal["sampled", "retention"] | None = None
    reflections: tuple[TurnReflection, ...] = ()
    feedback: tuple[TurnFeedback, ...] = ()
    unattributed: Annotated[bool, LEFT_OUT] = False
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
            replay=self.replay,
        )
