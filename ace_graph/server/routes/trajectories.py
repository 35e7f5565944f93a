"""The learner's recorded turns. Bullets are given by id; their texts may have changed since."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic.json_schema import SkipJsonSchema

from ace_graph.memory.bullet import Moment
from ace_graph.memory.trajectory import TrajectoryFilter
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

__all__ = ["routes"]

routes = APIRouter(prefix="/api", tags=["trajectories"])


_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.IGNORECASE)


def _check_written(value: object) -> object:
    """Refuse what pydantic would also take for a time, such as a bare number."""
    if not isinstance(value, str) or not _MOMENT.fullmatch(value):
        raise ValueError("must be a time, written as 2026-01-31T12:00:00Z")
    return value


WrittenMoment = Annotated[Moment, BeforeValidator(_check_written)]
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

    def wanted(self) -> TrajectoryFilter:
        """Return the filter that they make."""
        return TrajectoryFilter(**self.model_dump(exclude={"limit", "skip"}))


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


class TrajectoriesReply(BaseModel):
    """The newest first."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    trajectories: tuple[TrajectoryReply, ...]


@routes.get("/trajectories", responses=error_responses())
async def trajectories(
    learner: Learner,
    services: ServicesDep,
    query: Annotated[TrajectoriesQuery, Query()],
) -> TrajectoriesReply:
    """Return the learner's turns and other recorded work, the newest first."""
    found = await services.store.find_turns(learner, query.wanted(), limit=query.limit, skip=query.skip)
    replies = tuple(TrajectoryReply.model_validate(turn.model_dump()) for turn in found)
    return TrajectoriesReply(trajectories=replies)
