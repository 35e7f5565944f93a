"""The rights of a learner over what is stored about them: to have all of it, and to have all of it deleted.

Does not: reach what left the server: its logs, backups, and what a model's provider keeps.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Annotated

from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field, JsonValue
from starlette.types import Receive, Scope, Send

from ace_graph.server.dependencies import Learner, Opened
from ace_graph.server.errors import documented
from ace_graph.server.middleware.request_id import REQUEST_ID
from ace_graph.server.routes.learner_export import export_pieces
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
        **documented(409),
        200: {"model": ExportReply, "description": "One JSON document, written while it is read."},
    },
)
async def export(learner: Learner, parts: Opened) -> StreamingResponse:
    """Return everything that is stored about the learner. One export of a learner at a time."""
    parts.exports.take(learner)
    try:
        found = await parts.store.export(learner)
    except BaseException:
        parts.exports.free(learner)
        raise
    audit("export", learner, request_id=REQUEST_ID.get(), found=not found.snapshot.absent)
    return _Streamed(export_pieces(found, parts.conversations), lambda: parts.exports.free(learner))


@routes.delete("", responses=documented())
async def forget(learner: Learner, parts: Opened) -> ForgetReply:
    """Delete everything that is stored about the learner, for good. Turns under way are ended."""
    await parts.turns.stop_learner(learner)
    conversations = await parts.conversations.forget(learner)
    was_there = await parts.store.forget(learner)
    parts.snapshots.drop(learner)
    found = was_there or conversations > 0
    audit("forget", learner, request_id=REQUEST_ID.get(), found=found)
    return ForgetReply(forgotten=found, conversations=conversations)


class _Streamed(StreamingResponse):
    """A response that closes what it is read from, and says so, however it ends."""

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
