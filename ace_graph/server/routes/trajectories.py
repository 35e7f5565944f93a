"""The learner's recorded turns. Bullets are given by id; their texts may have changed since."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic.json_schema import SkipJsonSchema

from ace_graph.memory.bullet import Moment
from ace_graph.memory.pending import PendingState
from ace_graph.memory.trajectory import TrajectoryFilter, effective_score
from ace_graph.memory.turn import (
    ReflectedLesson,
    Step,
    TurnFeedback,
    TurnRecord,
    TurnReflection,
    TurnStatus,
)
from ace_graph.server.dependencies import Learner, ServicesDep
from ace_graph.server.errors import error_responses
from ace_graph.server.schemas import Text
from ace_graph.trajectories.listing import ListedTrajectory, Standing, list_trajectories, listed_trajectory

__all__ = ["TrajectoryId", "routes"]

routes = APIRouter(prefix="/api", tags=["trajectories"])


_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.IGNORECASE)


def _check_written(value: object) -> object:
    """Refuse what pydantic would also take for a time, such as a bare number."""
    if not isinstance(value, str) or not _MOMENT.fullmatch(value):
        raise ValueError("must be a time, written as 2026-01-31T12:00:00Z")
    return value


WrittenMoment = Annotated[Moment, BeforeValidator(_check_written)]
TrajectoryId = Annotated[str, Path(min_length=1, max_length=256, description="A `turnId`.")]
Absent = SkipJsonSchema[None]
"""For optional query parameters, which are absent and never null."""


class TrajectoriesQuery(BaseModel):
    """Which turns."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)

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

    def wanted(self) -> TrajectoryFilter:
        """Return the filter that they make."""
        return TrajectoryFilter(**self.model_dump(exclude={"limit", "skip", "failed", "learning"}))


_CAMEL = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


class StepReply(Step):
    """A step of a turn."""

    model_config = _CAMEL


class LessonReply(ReflectedLesson):
    """A lesson of a reflection."""

    model_config = _CAMEL


class ReflectionReply(TurnReflection):
    """What a reflection found. Its id is what a playbook is curated by."""

    model_config = _CAMEL

    lessons: tuple[LessonReply, ...] = ()  # pyright: ignore[reportIncompatibleVariableOverride]  # frozen


class FeedbackReply(TurnFeedback):
    """What was said of a turn."""

    model_config = _CAMEL


class TrajectoryReply(TurnRecord):
    """A turn, with field names in camel case."""

    model_config = _CAMEL

    steps: tuple[StepReply, ...] = ()  # pyright: ignore[reportIncompatibleVariableOverride]  # frozen
    reflections: tuple[ReflectionReply, ...] = ()  # pyright: ignore[reportIncompatibleVariableOverride]  # frozen
    feedback: tuple[FeedbackReply, ...] = ()  # pyright: ignore[reportIncompatibleVariableOverride]  # frozen


class ListedReply(TrajectoryReply):
    """A turn with its effective score, in [0, 1], and how learning from it stands: null where none is left.

    What is `dead` has failed too often, for the reason in `learningError`, and waits to be tried again.
    """

    effective_score: float | None
    learning: Standing | None
    learning_error: str | None
    pending_id: str | None


class TrajectoriesReply(BaseModel):
    """The newest first."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    trajectories: tuple[ListedReply, ...]


@routes.get("/trajectories", responses=error_responses())
async def trajectories(
    learner: Learner,
    services: ServicesDep,
    query: Annotated[TrajectoriesQuery, Query()],
) -> TrajectoriesReply:
    """Return the learner's turns and other recorded work, the newest first."""
    found = await list_trajectories(
        services.store,
        learner,
        query.wanted(),
        failed=query.failed == "true",
        learning=query.learning,
        limit=query.limit,
        skip=query.skip,
    )
    now = services.clock.now()
    return TrajectoriesReply(trajectories=tuple(listed_reply(each, now) for each in found))


@routes.get("/trajectories/{trajectory_id}", responses=error_responses(404))
async def trajectory(trajectory_id: TrajectoryId, learner: Learner, services: ServicesDep) -> ListedReply:
    """Return one turn or other recorded work."""
    found = await listed_trajectory(services.store, learner, trajectory_id)
    return listed_reply(found, services.clock.now())


def listed_reply(found: ListedTrajectory, now: datetime) -> ListedReply:
    """Return a trajectory as clients see it."""
    return ListedReply.model_validate(
        {
            **found.turn.model_dump(),
            "effective_score": effective_score(found.turn, now),
            "learning": found.standing,
            "learning_error": found.item.error if found.item else None,
            "pending_id": found.item.pending_id if found.item else None,
        }
    )
