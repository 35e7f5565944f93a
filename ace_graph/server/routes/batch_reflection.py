"""What a learner's recorded turns have in common, over HTTP; curating takes the ids of what is found."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from ace_graph.learning.batch_reflection import (
    MAX_RUNS,
    MIN_TRAJECTORIES,
    BatchReflection,
    FoundPattern,
    NotEnough,
    batch_reflect,
)
from ace_graph.memory.bullet import Polarity
from ace_graph.server.dependencies import Learner, ServicesDep
from ace_graph.server.errors import error_responses
from ace_graph.server.keyed import KeyedRoute
from ace_graph.server.middleware.access_control import does
from ace_graph.server.routes.trajectories import WrittenMoment
from ace_graph.server.schemas import Text, WholeNumber

__all__ = ["routes"]

routes = APIRouter(prefix="/api/trajectories", tags=["trajectories"], route_class=KeyedRoute)


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


class ReflectBody(_Body):
    """Which turns to look at, and how many there must be. Without a filter all completed ones."""

    agent: Annotated[Text, Field(min_length=1, max_length=256)] | None = None
    task_type: Annotated[Text, Field(min_length=1, max_length=256)] | None = None
    since: Annotated[WrittenMoment, Field(description="Completed then or later.")] | None = None
    min_trajectories: Annotated[WholeNumber, Field(ge=2, le=MAX_RUNS)] = MIN_TRAJECTORIES


class PatternReply(_Body):
    """What `frequency` turns show. `memoryId` is the reflection that a playbook is curated by."""

    memory_id: str
    text: str
    polarity: Polarity
    frequency: int
    confidence: float
    trajectory_ids: list[str]


class ReflectReply(_Body):
    """What `found` turns have in common, the most frequent first; with less than `needed` of them nothing.

    `trajectoryId` is the trajectory under which it is stored, `unreflected` are turns that nobody has
    reflected on, `leftOut` counts rarer patterns.
    """

    found: int
    needed: int
    trajectory_id: str | None = None
    patterns: list[PatternReply] = []
    unreflected: list[str] = []
    left_out: int = 0


@routes.post("/reflect", responses=error_responses(408, 409, 413), dependencies=[does("record")])
async def reflect(body: ReflectBody, learner: Learner, services: ServicesDep) -> ReflectReply:
    """Find what the recorded turns have in common, by the reflections on them. No model is called."""
    found = await batch_reflect(
        services.store,
        learner,
        agent=body.agent,
        since=body.since,
        task_type=body.task_type,
        min_trajectories=body.min_trajectories,
        clock=services.clock.now,
    )
    return _reply(found, body.min_trajectories)


def _reply(found: BatchReflection | NotEnough, needed: int) -> ReflectReply:
    if found.status == "not_enough":
        return ReflectReply(found=found.found, needed=needed)
    return ReflectReply(
        found=found.found,
        needed=needed,
        trajectory_id=found.trajectory_id,
        patterns=[_pattern(each) for each in found.patterns],
        unreflected=list(found.unreflected),
        left_out=found.left_out,
    )


def _pattern(found: FoundPattern) -> PatternReply:
    pattern = found.pattern
    return PatternReply(
        memory_id=found.memory_id,
        text=pattern.text,
        polarity=pattern.polarity,
        frequency=pattern.frequency,
        confidence=pattern.confidence,
        trajectory_ids=list(pattern.trajectory_ids),
    )
