"""Recorded work: the learner's turns and what programs of theirs do; begun, logged, judged, learned from.

Bullets are given by id; their texts may have changed since. Feedback in messages is found by the graph.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BeforeValidator, Field, JsonValue

from ace_graph.learning.batch_reflection import MAX_RUNS, MIN_TRAJECTORIES, batch_reflect
from ace_graph.learning.cleaning import trim_trajectories
from ace_graph.learning.trajectories import (
    Completion,
    ListedTrajectory,
    Standing,
    complete_trajectory,
    delete_trajectory,
    list_trajectories,
    listed_trajectory,
    log_step,
    start_trajectory,
)
from ace_graph.learning.trajectory_feedback import give_feedback, queue_reflection
from ace_graph.memory.bullet import Moment, Polarity, Share
from ace_graph.memory.commit import PendingState
from ace_graph.memory.evidence import Verdict
from ace_graph.memory.trajectory import TrajectoryFilter, effective_score
from ace_graph.memory.turn import (
    MAX_TASK_CHARS,
    ReflectedLesson,
    Step,
    StepKind,
    TurnFeedback,
    TurnRecord,
    TurnReflection,
    TurnStatus,
)
from ace_graph.server.errors import error_responses, refusing_usage_errors
from ace_graph.server.keyed import KeyedRoute, OpId
from ace_graph.server.middleware import does
from ace_graph.server.routes.edit import Absent, ChangeReply, change_reply
from ace_graph.server.schemas import (
    CAMEL_CASE,
    UNLESS_NULL,
    Body,
    LearnedIntoReply,
    RequestBody,
    Text,
    WholeNumber,
)
from ace_graph.server.services import Learner, ServicesDep

routes = APIRouter(prefix="/api/trajectories", tags=["trajectories"], route_class=KeyedRoute)
judging = APIRouter(prefix="/api", tags=["feedback"], route_class=KeyedRoute)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.IGNORECASE)


def _check_written(value: object) -> object:
    """Refuse what pydantic would also take for a time, such as a bare number."""
    if not isinstance(value, str) or not _MOMENT.fullmatch(value):
        raise ValueError("must be a time, written as 2026-01-31T12:00:00Z")
    return value


WrittenMoment = Annotated[Moment, BeforeValidator(_check_written)]
TrajectoryId = Annotated[str, Path(min_length=1, max_length=256, description="A `turnId`.")]


class TrajectoriesQuery(RequestBody):
    """Which turns."""

    limit: Annotated[int, Field(ge=1, le=500, description="At most so many.")] = 50
    skip: Annotated[int, Field(ge=0, le=1_000_000, description="Leave out the newest so many.")] = 0
    agent: Annotated[Text, Field(max_length=256, description="Who did it.")] | Absent = None
    task_type: Annotated[Text, Field(max_length=256)] | Absent = None
    status: TurnStatus | Absent = None
    since: Annotated[WrittenMoment, Field(description="Completed then or later.")] | Absent = None
    until: Annotated[WrittenMoment, Field(description="Completed then or earlier.")] | Absent = None
    failed: Annotated[
        Literal["true", "false"],
        Field(description="Only what failed, or could not be learned from; `status` has no effect."),
    ] = "false"
    learning: (
        Annotated[PendingState, Field(description="Only what waits to be learned from, or could not be.")]
        | Absent
    ) = None


class StepReply(Step):
    """A step of a turn."""

    model_config = CAMEL_CASE


class LessonReply(ReflectedLesson):
    """A lesson of a reflection."""

    model_config = CAMEL_CASE


class ReflectionReply(TurnReflection):
    """What a reflection found. Its id is what a playbook is curated by."""

    model_config = CAMEL_CASE

    lessons: tuple[LessonReply, ...] = ()  # pyright: ignore[reportIncompatibleVariableOverride]  # frozen


class FeedbackReply(TurnFeedback):
    """What was said of a turn."""

    model_config = CAMEL_CASE


_LearnedInto = Annotated[LearnedIntoReply | None, UNLESS_NULL]


class TrajectoryReply(TurnRecord):
    """A turn, with field names in camel case."""

    model_config = CAMEL_CASE

    steps: tuple[StepReply, ...] = ()  # pyright: ignore[reportIncompatibleVariableOverride]  # frozen
    reflections: tuple[ReflectionReply, ...] = ()  # pyright: ignore[reportIncompatibleVariableOverride]  # frozen
    feedback: tuple[FeedbackReply, ...] = ()  # pyright: ignore[reportIncompatibleVariableOverride]  # frozen
    learned_into: _LearnedInto = None  # type: ignore[assignment]  # pyright: ignore[reportIncompatibleVariableOverride]  # the same fields


class ListedTrajectoryReply(TrajectoryReply):
    """A turn with its effective score, in [0, 1], and how learning from it stands: null where none is left.

    What is `dead` has failed too often, for the reason in `learningError`, and waits to be tried again.
    """

    effective_score: float | None
    learning: Standing | None
    learning_error: str | None
    pending_id: str | None


class TrajectoriesReply(Body):
    """The newest first."""

    trajectories: tuple[ListedTrajectoryReply, ...]


@routes.api_route("/reflect", methods=["GET", "DELETE"], include_in_schema=False)
@routes.api_route("/trim", methods=["GET", "DELETE"], include_in_schema=False)
async def no_trajectory() -> None:
    """Keep these names apart from ids."""
    raise HTTPException(405)


@routes.get("")
async def trajectories(
    learner: Learner, services: ServicesDep, query: Annotated[TrajectoriesQuery, Query()]
) -> TrajectoriesReply:
    """Return the learner's turns and other recorded work, the newest first."""
    found = await list_trajectories(
        services.store,
        learner,
        TrajectoryFilter(**query.model_dump(exclude={"limit", "skip", "failed", "learning"})),
        failed=query.failed == "true",
        learning=query.learning,
        limit=query.limit,
        skip=query.skip,
    )
    now = services.clock.now()
    return TrajectoriesReply(trajectories=tuple(_listed(turn, now) for turn in found))


@routes.get("/{trajectory_id}")
async def trajectory(
    trajectory_id: TrajectoryId, learner: Learner, services: ServicesDep
) -> ListedTrajectoryReply:
    """Return one turn or other recorded work."""
    found = await listed_trajectory(services.store, learner, trajectory_id)
    return _listed(found, services.clock.now())


def _listed(found: ListedTrajectory, now: datetime) -> ListedTrajectoryReply:
    return ListedTrajectoryReply.model_validate(
        {
            **found.turn.model_dump(),
            "effective_score": effective_score(found.turn, now),
            "learning": found.standing,
            "learning_error": found.item.error if found.item else None,
            "pending_id": found.item.pending_id if found.item else None,
        }
    )


Id = Annotated[Text, Field(min_length=1, max_length=256)]
Values = Annotated[dict[Annotated[str, Field(max_length=100)], JsonValue], Field(max_length=50)]


class StartBody(RequestBody):
    """The task. An id of your own makes it safe to send this again."""

    task: Annotated[Text, Field(min_length=1, max_length=MAX_TASK_CHARS)]
    agent: Annotated[Text, Field(min_length=1, max_length=256, description="Who does it.")] = "host"
    task_type: Annotated[Text, Field(max_length=256)] | None = None
    parent_id: Annotated[Id, Field(description="The trajectory that this one is a part of.")] | None = None


class StartedReply(Body):
    """The trajectory's id."""

    trajectory_id: str
    status: TurnStatus = "in_progress"


class StepBody(RequestBody):
    """What was decided, done or seen. Of the text 1,000 characters are kept."""

    kind: StepKind
    text: Annotated[Text, Field(min_length=1, max_length=MAX_TASK_CHARS)]
    metadata: Values = Field({})


class StepsReply(Body):
    """How many steps are stored."""

    trajectory_id: str
    steps: int


_Tokens = Annotated[WholeNumber, Field(ge=0, le=2_147_483_647)]
_Amount = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]


class CompleteBody(RequestBody):
    """How it ended. The bullets that were followed, `cited`, are credited or blamed.

    Of `metrics` three stand for fields that are not given: `tokens`, `cost_usd` and `duration_ms`.
    """

    status: Literal["success", "failure", "partial"]
    score: Annotated[Share, Field(strict=True)] | None = None
    error: Annotated[Text, Field(max_length=MAX_TASK_CHARS)] | None = None
    answer: Annotated[Text, Field(max_length=MAX_TASK_CHARS)] = ""
    metrics: Values = Field({})
    input_tokens: Annotated[_Tokens, Field(description="Tokens that the model read.")] = 0
    output_tokens: Annotated[_Tokens, Field(description="Tokens that the model wrote.")] = 0
    cost: Annotated[_Amount, Field(description="In a currency of yours.")] | None = None
    duration_ms: Annotated[_Amount, Field(description="Else the time since the start.")] | None = None
    model: Annotated[Text, Field(max_length=256)] | None = None
    cited: Annotated[tuple[Id, ...], Field(max_length=100)] = ()
    learn: Annotated[bool, Field(strict=True, description="Leave work for a worker.")] = True


class CompletedReply(Body):
    """`pending` is the id of the work that a worker will learn from, null for none."""

    trajectory_id: str
    status: TurnStatus
    pending: str | None


class QueuedReply(Body):
    """The id of the work that a worker will learn from."""

    trajectory_id: str
    pending: str


class TrimBody(RequestBody):
    """How old."""

    days: Annotated[
        float, Field(strict=True, ge=0, le=100_000, description="Completed more than so many days ago.")
    ] = 30


class TrimmedReply(Body):
    """Whose steps were dropped, and whose were kept because nobody has reflected on them."""

    trimmed: list[str]
    unreflected: list[str]


@routes.post("", status_code=201, responses=error_responses(404), dependencies=[does("record")])
async def start(body: StartBody, learner: Learner, services: ServicesDep, op_id: OpId) -> StartedReply:
    """Begin a trajectory."""
    await services.turns.check_daily_tokens(learner)  # of what it will be learned from with
    with refusing_usage_errors():
        made = await start_trajectory(
            *(services.store, learner), **body.model_dump(), trajectory_id=op_id, clock=services.clock.now
        )
    return StartedReply(trajectory_id=made)


@routes.post("/trim", dependencies=[does("record")])
async def trim(body: TrimBody, learner: Learner, services: ServicesDep) -> TrimmedReply:
    """Drop old steps of what was reflected on. Outcomes and evidence stay."""
    done = await trim_trajectories(services.store, learner, services.clock.now(), body.days)
    return TrimmedReply.of(done)


@routes.delete("/{trajectory_id}", status_code=204, dependencies=[does("record")])
async def delete(trajectory_id: TrajectoryId, learner: Learner, services: ServicesDep) -> None:
    """Delete what a trajectory says. Its parts, and what was learned from it, stay."""
    await delete_trajectory(services.store, learner, trajectory_id)


@routes.post("/{trajectory_id}/steps", dependencies=[does("record")])
async def log(
    trajectory_id: TrajectoryId, body: StepBody, learner: Learner, services: ServicesDep, op_id: OpId
) -> StepsReply:
    """Add a step."""
    with refusing_usage_errors():
        turn = await log_step(
            *(services.store, learner, trajectory_id, body.kind, body.text, body.metadata),
            step_id=op_id,
            clock=services.clock.now,
        )
    return StepsReply(trajectory_id=trajectory_id, steps=len(turn.steps))


@routes.post("/{trajectory_id}/complete", dependencies=[does("record")])
async def complete(
    trajectory_id: TrajectoryId, body: CompleteBody, learner: Learner, services: ServicesDep
) -> CompletedReply:
    """End a trajectory. Its first outcome stays; a second one is 409."""
    completion = Completion(**body.model_dump(exclude={"status", "learn"}), learns=body.learn)
    with refusing_usage_errors():
        pending = await complete_trajectory(
            *(services.store, learner, trajectory_id, body.status, completion),
            tracing=services.settings.tracing,
            clock=services.clock.now,
        )
    return CompletedReply(trajectory_id=trajectory_id, status=body.status, pending=pending)


@routes.post("/{trajectory_id}/reflect", status_code=202, dependencies=[does("record")])
async def reflect(trajectory_id: TrajectoryId, learner: Learner, services: ServicesDep) -> QueuedReply:
    """Leave a worker the work of learning from a trajectory once more; a dead letter is tried again."""
    await services.turns.check_daily_tokens(learner)
    with refusing_usage_errors():
        pending = await queue_reflection(learner, trajectory_id, services.store, services.clock.now())
    return QueuedReply(trajectory_id=trajectory_id, pending=pending)


class ReflectBody(RequestBody):
    """Which turns to look at, and how many there must be. Without a filter all completed ones."""

    agent: Annotated[Text, Field(min_length=1, max_length=256)] | None = None
    task_type: Annotated[Text, Field(min_length=1, max_length=256)] | None = None
    since: Annotated[WrittenMoment, Field(description="Completed then or later.")] | None = None
    min_trajectories: Annotated[WholeNumber, Field(ge=2, le=MAX_RUNS)] = MIN_TRAJECTORIES


class PatternReply(Body):
    """What `frequency` turns show. `memoryId` is the reflection that a playbook is curated by."""

    memory_id: str
    text: str
    polarity: Polarity
    frequency: int
    confidence: float
    trajectory_ids: list[str]


class ReflectReply(Body):
    """What `found` turns have in common, the most frequent first; with less than `needed` of them nothing.

    `trajectoryId` is the trajectory under which it is stored, `unreflected` are turns that nobody has
    reflected on, `leftOut` counts rarer patterns.
    """

    found: int
    needed: int
    trajectory_id: str | None = None
    patterns: tuple[PatternReply, ...] = ()
    unreflected: tuple[str, ...] = ()
    left_out: int = 0


@routes.post("/reflect", name="reflect", dependencies=[does("record")])
async def reflect_on_many(body: ReflectBody, learner: Learner, services: ServicesDep) -> ReflectReply:
    """Find what the recorded turns have in common, by the reflections on them. No model is called."""
    found = await batch_reflect(
        *(services.store, learner),
        **body.model_dump(),
        embeddings=services.resources.embeddings,
        clock=services.clock.now,
    )
    if found.status == "not_enough":
        return ReflectReply(found=found.found, needed=body.min_trajectories)
    patterns = [PatternReply.of(one.pattern, memory_id=one.memory_id) for one in found.patterns]
    return ReflectReply.of(found, needed=body.min_trajectories, patterns=patterns)


class FeedbackRequest(RequestBody):
    """A verdict on one turn. A later one of the same learner replaces it."""

    turn_id: Annotated[str, Field(min_length=1, max_length=128, description="The `turnId` of an answer.")]
    verdict: Literal["good", "bad"]
    text: Annotated[Text, Field(max_length=2_000, description="Why, in the learner's words.")] = ""


@judging.post("/feedback", responses=error_responses(404), dependencies=[does("judge")])
async def feedback(
    body: FeedbackRequest, learner: Learner, services: ServicesDep, op_id: OpId
) -> ChangeReply:
    """Credit or blame the bullets that an answer used. Each source counts once a turn.

    If the verdict differs from what was known before, the turn is learned from again.
    """
    verdict: Verdict = "success" if body.verdict == "good" else "failure"
    given = await give_feedback(
        *(services.store, learner, body.turn_id, verdict, body.text),
        by="learner",
        clock=services.clock.now,
        op_id=op_id,
    )
    return change_reply(given.commit)
