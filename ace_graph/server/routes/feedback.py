"""The learner's feedback on an answer: a vote on the bullets that it used.

Feedback in messages is found by the graph itself.
"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from ace_graph.memory.evidence import Verdict
from ace_graph.server.dependencies import Learner, ServicesDep
from ace_graph.server.errors import error_responses
from ace_graph.server.keyed import IdempotencyKey, KeyedRoute, op_id_of
from ace_graph.server.middleware.access_control import does
from ace_graph.server.routes.change_reply import ChangeReply, change_reply
from ace_graph.server.schemas import Text
from ace_graph.trajectories.feedback import give_feedback

__all__ = ["routes"]

routes = APIRouter(prefix="/api", tags=["feedback"], route_class=KeyedRoute)


class FeedbackRequest(BaseModel):
    """A verdict on one turn. A later one of the same learner replaces it."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)

    turn_id: Annotated[str, Field(min_length=1, max_length=128, description="The `turnId` of an answer.")]
    verdict: Literal["good", "bad"]
    text: Annotated[Text, Field(max_length=2_000, description="Why, in the learner's words.")] = ""


@routes.post("/feedback", responses=error_responses(404, 408, 409, 413), dependencies=[does("judge")])
async def feedback(
    body: FeedbackRequest,
    learner: Learner,
    services: ServicesDep,
    request: Request,
    idempotency_key: IdempotencyKey = None,
) -> ChangeReply:
    """Credit or blame the bullets that an answer used. Each source counts once a turn.

    If the verdict differs from what was known before, the turn is learned from again.
    """
    verdict: Verdict = "success" if body.verdict == "good" else "failure"
    given = await give_feedback(
        services.store,
        learner,
        body.turn_id,
        verdict,
        body.text,
        by="learner",
        clock=services.clock.now,
        op_id=await op_id_of(request, idempotency_key, learner),
    )
    return change_reply(given.commit.version, given.commit.report)
