"""What an answer was worth, said by its learner: a vote on the bullets that it used.

Does not: look for feedback in messages; the graph does that by itself.
"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from ace_graph.memory.evidence import Verdict
from ace_graph.server.dependencies import Learner, ServicesDep
from ace_graph.server.errors import error_responses
from ace_graph.server.routes.commit_change import ChangeReply, change_reply
from ace_graph.server.schemas import Text
from ace_graph.trajectories.feedback import give_feedback

__all__ = ["routes"]

routes = APIRouter(prefix="/api", tags=["feedback"])


class FeedbackRequest(BaseModel):
    """A verdict on one turn; the same learner's later word on it replaces the earlier."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)

    turn_id: Annotated[str, Field(min_length=1, max_length=128, description="The `turnId` of an answer.")]
    verdict: Literal["good", "bad"]
    text: Annotated[Text, Field(max_length=2_000, description="Why, in the learner's words.")] = ""


@routes.post("/feedback", responses=error_responses(404, 408, 409, 413))
async def feedback(said: FeedbackRequest, learner: Learner, services: ServicesDep) -> ChangeReply:
    """Credit or blame the bullets that an answer used. Each source counts once a turn.

    An answer that turns out to be worth something else than was thought is learned from again.
    """
    verdict: Verdict = "success" if said.verdict == "good" else "failure"
    given = await give_feedback(
        services.store, learner, said.turn_id, verdict, said.text, by="learner", clock=services.clock.now
    )
    return change_reply(given.commit)
