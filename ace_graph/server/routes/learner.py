"""Export and deletion of everything that is stored about a learner.

Logs, backups and what a model's provider keeps are out of reach.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Annotated

from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field, JsonValue
from starlette.types import Receive, Scope, Send

from ace_graph.server.dependencies import Learner, ServicesDep
from ace_graph.server.errors import error_responses
from ace_graph.server.middleware.request_id import REQUEST_ID
from ace_graph.server.routes.learner_export import export_chunks
from ace_graph.telemetry import audit

__all__ = ["routes"]

routes = APIRouter(prefix="/api/learner", tags=["learner"])


class ExportReply(BaseModel):
    """Everything stored: playbook, access part, history, turns with what waits, and conversations."""

    model_config = ConfigDict(frozen=True, extra="allow")

    learner_id: str
    version: int | None
    playbook: dict[str, JsonValue]
    conversations: list[dict[str, JsonValue]]


class ForgetReply(BaseModel):
    """Whether anything was stored, and how many conversations were among it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    forgotten: bool
    conversations: Annotated[int, Field(ge=0)]


@routes.get(
    "/export",
    response_class=StreamingResponse,
    responses={
        **error_responses(409),
        200: {"model": ExportReply, "description": "One JSON document, streamed while it is read."},
    },
)
async def export(learner: Learner, services: ServicesDep) -> StreamingResponse:
    """Return everything that is stored about the learner. One export of a learner at a time."""
    services.exports.acquire(learner)
    try:
        found = await services.store.export(learner)
    except BaseException:
        services.exports.release(learner)
        raise
    audit("export", learner, request_id=REQUEST_ID.get(), found=not found.snapshot.absent)
    return _ClosingResponse(
        export_chunks(found, services.conversations), lambda: services.exports.release(learner)
    )


@routes.delete("", responses=error_responses())
async def forget(learner: Learner, services: ServicesDep) -> ForgetReply:
    """Delete everything that is stored about the learner, for good. Turns under way are ended."""
    await services.turns.stop_learner(learner)
    conversations = await services.conversations.forget(learner)
    was_there = await services.store.forget(learner)
    services.snapshots.drop(learner)
    found = was_there or conversations > 0
    audit("forget", learner, request_id=REQUEST_ID.get(), found=found)
    return ForgetReply(forgotten=found, conversations=conversations)


class _ClosingResponse(StreamingResponse):
    """A streaming response that closes its source and calls `ended`, however it ends."""

    def __init__(self, pieces: AsyncGenerator[bytes], ended: Callable[[], None]) -> None:
        super().__init__(pieces, media_type="application/json")
        self._pieces = pieces
        self._ended = ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the pieces."""
        try:
            async with aclosing(self._pieces):
                await super().__call__(scope, receive, send)
        finally:
            self._ended()
