"""The learner's own turns, as they were recorded.

Does not: show what bullets said at the time; their ids are there.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from ace_graph.memory.turn import TurnRecord
from ace_graph.server.parts import Learner, Opened
from ace_graph.server.replies import documented

__all__ = ["routes"]

routes = APIRouter(prefix="/api", tags=["trajectories"])


class TrajectoriesQuery(BaseModel):
    """Which turns."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    limit: Annotated[int, Field(ge=1, le=500, description="At most so many.")] = 50


class TrajectoriesReply(BaseModel):
    """The newest first."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    trajectories: tuple[TurnRecord, ...]


@routes.get("/trajectories", responses=documented())
async def trajectories(
    learner: Learner,
    parts: Opened,
    query: Annotated[TrajectoriesQuery, Query()],
) -> TrajectoriesReply:
    """Return the learner's last turns."""
    return TrajectoriesReply(trajectories=await parts.store.turns(learner, query.limit))
