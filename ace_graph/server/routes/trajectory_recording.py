"""Recording work of the learner's own programs: begin it, log steps, complete, delete, learn from it.

`GET /api/trajectories` lists what was recorded, among the graph's own turns.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Request
from pydantic import BaseModel, ConfigDict, Field, JsonValue
from pydantic.alias_generators import to_camel

from ace_graph.cleaning.clean_memory import trim_trajectories
from ace_graph.errors import RequestRefused, UsageError
from ace_graph.memory.bullet import Share
from ace_graph.memory.turn import MAX_TASK_CHARS, StepKind, TurnStatus
from ace_graph.server.dependencies import Learner, ServicesDep
from ace_graph.server.errors import error_responses
from ace_graph.server.keyed import IdempotencyKey, KeyedRoute, op_id_of
from ace_graph.server.middleware.access_control import does
from ace_graph.server.routes.trajectories import TrajectoryId
from ace_graph.server.schemas import Text
from ace_graph.trajectories.feedback import queue_reflection
from ace_graph.trajectories.recording import (
    Completion,
    complete_trajectory,
    delete_trajectory,
    log_step,
    start_trajectory,
)

__all__ = ["routes"]

routes = APIRouter(prefix="/api/trajectories", tags=["trajectories"], route_class=KeyedRoute)

Id = Annotated[Text, Field(min_length=1, max_length=256)]
Values = Annotated[dict[Annotated[str, Field(max_length=100)], JsonValue], Field(max_length=50)]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


class StartBody(_Model):
    """The task. An id of your own makes it safe to send this again."""

    task: Annotated[Text, Field(min_length=1, max_length=MAX_TASK_CHARS)]
    agent: Annotated[Text, Field(min_length=1, max_length=256, description="Who does it.")] = "host"
    task_type: Annotated[Text, Field(max_length=256)] | None = None
    parent_id: Annotated[Id, Field(description="The trajectory that this one is a part of.")] | None = None


class StartedReply(_Model):
    """The trajectory's id."""

    trajectory_id: str
    status: TurnStatus = "in_progress"


class StepBody(_Model):
    """What was decided, done or seen. Of the text 1,000 characters are kept."""

    kind: StepKind
    text: Annotated[Text, Field(min_length=1, max_length=MAX_TASK_CHARS)]
    metadata: Values = {}


class StepsReply(_Model):
    """How many steps are stored."""

    trajectory_id: str
    steps: int


class CompleteBody(_Model):
    """How it ended. The bullets that were followed, `cited`, are credited or blamed."""

    status: Literal["success", "failure", "partial"]
    score: Annotated[Share, Field(strict=True)] | None = None
    error: Annotated[Text, Field(max_length=MAX_TASK_CHARS)] | None = None
    answer: Annotated[Text, Field(max_length=MAX_TASK_CHARS)] = ""
    metrics: Values = {}
    cited: Annotated[list[Id], Field(max_length=100)] = []
    learn: Annotated[bool, Field(strict=True, description="Leave work for a worker.")] = True


class CompletedReply(_Model):
    """`pending` is the id of the work that a worker will learn from, null for none."""

    trajectory_id: str
    status: TurnStatus
    pending: str | None


class QueuedReply(_Model):
    """The id of the work that a worker will learn from."""

    trajectory_id: str
    pending: str


class TrimBody(_Model):
    """How old."""

    days: Annotated[
        float, Field(strict=True, ge=0, le=100_000, description="Completed more than so many days ago.")
    ] = 30


class TrimmedReply(_Model):
    """Whose steps were dropped, and whose were kept because nobody has reflected on them."""

    trimmed: list[str]
    unreflected: list[str]


@routes.post(
    "", status_code=201, responses=error_responses(404, 408, 409, 413), dependencies=[does("record")]
)
async def start(
    body: StartBody,
    learner: Learner,
    services: ServicesDep,
    request: Request,
    idempotency_key: IdempotencyKey = None,
) -> StartedReply:
    """Begin a trajectory."""
    await services.turns.check_daily_tokens(learner)  # of what it will be learned from with
    with _explained():
        made = await start_trajectory(
            services.store,
            learner,
            body.task,
            agent=body.agent,
            task_type=body.task_type,
            parent_id=body.parent_id,
            trajectory_id=await op_id_of(request, idempotency_key, learner),
            clock=services.clock.now,
        )
    return StartedReply(trajectory_id=made)


@routes.post("/trim", responses=error_responses(408, 409, 413), dependencies=[does("record")])
async def trim(body: TrimBody, learner: Learner, services: ServicesDep) -> TrimmedReply:
    """Drop old steps of what was reflected on. Outcomes and evidence stay."""
    done = await trim_trajectories(services.store, learner, services.clock.now(), body.days)
    return TrimmedReply(trimmed=list(done.trimmed), unreflected=list(done.unreflected))


@routes.api_route("/reflect", methods=["GET", "DELETE"], include_in_schema=False)
@routes.api_route("/trim", methods=["GET", "DELETE"], include_in_schema=False)
async def no_trajectory() -> None:
    """Keep these names apart from ids."""
    raise HTTPException(405)


@routes.delete(
    "/{trajectory_id}", status_code=204, responses=error_responses(404, 409), dependencies=[does("record")]
)
async def delete(trajectory_id: TrajectoryId, learner: Learner, services: ServicesDep) -> None:
    """Delete what a trajectory says. Its parts, and what was learned from it, stay."""
    await delete_trajectory(services.store, learner, trajectory_id)


@routes.post(
    "/{trajectory_id}/steps", responses=error_responses(404, 408, 409, 413), dependencies=[does("record")]
)
async def log(
    trajectory_id: TrajectoryId,
    body: StepBody,
    learner: Learner,
    services: ServicesDep,
    request: Request,
    idempotency_key: IdempotencyKey = None,
) -> StepsReply:
    """Add a step."""
    with _explained():
        turn = await log_step(
            services.store,
            learner,
            trajectory_id,
            body.kind,
            body.text,
            body.metadata,
            step_id=await op_id_of(request, idempotency_key, learner),
            clock=services.clock.now,
        )
    return StepsReply(trajectory_id=trajectory_id, steps=len(turn.steps))


@routes.post(
    "/{trajectory_id}/complete", responses=error_responses(404, 408, 409, 413), dependencies=[does("record")]
)
async def complete(
    trajectory_id: TrajectoryId, body: CompleteBody, learner: Learner, services: ServicesDep
) -> CompletedReply:
    """End a trajectory. Its first outcome stays; a second one is 409."""
    completion = Completion(
        score=body.score,
        error=body.error,
        answer=body.answer,
        metrics=body.metrics,
        cited=tuple(body.cited),
        learns=body.learn,
    )
    with _explained():
        pending = await complete_trajectory(
            services.store,
            learner,
            trajectory_id,
            body.status,
            completion,
            tracing=services.settings.tracing,
            clock=services.clock.now,
        )
    return CompletedReply(trajectory_id=trajectory_id, status=body.status, pending=pending)


@routes.post(
    "/{trajectory_id}/reflect",
    status_code=202,
    responses=error_responses(404, 409),
    dependencies=[does("record")],
)
async def reflect(trajectory_id: TrajectoryId, learner: Learner, services: ServicesDep) -> QueuedReply:
    """Leave a worker the work of learning from a trajectory once more; a dead letter is tried again."""
    await services.turns.check_daily_tokens(learner)
    with _explained():
        pending = await queue_reflection(learner, trajectory_id, services.store, services.clock.now())
    return QueuedReply(trajectory_id=trajectory_id, pending=pending)


@contextmanager
def _explained() -> Generator[None]:
    """Answer what can't be recorded with the reason."""
    try:
        yield
    except UsageError as error:
        raise RequestRefused(409, "refused", f"this can't be done: {error}"[:300]) from error
