"""The routes of a conversation: send a message, stream the answer, resume a stream."""

from __future__ import annotations

from typing import Annotated
from uuid import uuid4

from fastapi import APIRouter, Header, Path
from fastapi.responses import StreamingResponse

from ace_graph.errors import RequestRefused
from ace_graph.server.dependencies import ClaimedTeams, Learner, ServicesDep
from ace_graph.server.errors import error_responses
from ace_graph.server.middleware.access_control import does
from ace_graph.server.routes.sse import SSE_RESPONSES, sse_response
from ace_graph.server.schemas import ChatReply, ChatRequest

__all__ = ["routes"]

routes = APIRouter(prefix="/api/ai", tags=["chat"], dependencies=[does("converse")])

_ERRORS = error_responses(404, 408, 409, 413, 501, 502, 504)


@routes.post("/chat", responses=_ERRORS, response_model_exclude_none=True)
async def chat(
    request: ChatRequest, learner: Learner, teams: ClaimedTeams, services: ServicesDep
) -> ChatReply:
    """Answer a message.

    One turn at a time in a conversation: a second one is 409. When the client hangs up the turn goes on.
    """
    turn = await services.turns.begin(request, learner, uuid4().hex, teams)
    return await turn.outcome()


@routes.post("/chat/stream", responses={**SSE_RESPONSES, **_ERRORS}, response_class=StreamingResponse)
async def chat_stream(
    request: ChatRequest, learner: Learner, teams: ClaimedTeams, services: ServicesDep
) -> StreamingResponse:
    """Answer a message as server-sent events.

    When the client hangs up the turn goes on; `GET /api/ai/chat/stream/{streamId}` resumes the stream.
    """
    return sse_response(await services.turns.begin(request, learner, uuid4().hex, teams))


@routes.get(
    "/chat/stream/{stream_id}",
    responses={**SSE_RESPONSES, **error_responses(404)},
    response_class=StreamingResponse,
)
async def chat_stream_again(
    stream_id: Annotated[str, Path(max_length=64, description="The `streamId` of the `start` event.")],
    learner: Learner,
    services: ServicesDep,
    last_event_id: Annotated[
        str, Header(max_length=20, description="The id of the last event received.")
    ] = "0",
) -> StreamingResponse:
    """Resume a stream, from the event after `Last-Event-ID`.

    For turns under way, and for the last ones that ended, on the server that has them; for turns that were
    given up, on every server.
    """
    turn = services.turns.find(stream_id, learner) or await services.turns.given_up(stream_id, learner)
    if turn is None:
        raise RequestRefused(404, "not_found", "no such turn is under way or has just ended")
    return sse_response(
        turn, int(last_event_id) if last_event_id.isascii() and last_event_id.isdigit() else 0
    )
