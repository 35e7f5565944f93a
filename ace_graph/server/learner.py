"""The rights of a learner over what is stored about them: to have all of it, and to have all of it deleted.

Does not: reach what left the server: its logs, backups, and what a model's provider keeps.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from ace_graph.audit import audit
from ace_graph.learner_document import learner_document
from ace_graph.server.parts import Learner, Opened
from ace_graph.server.replies import documented
from ace_graph.server.request_id import REQUEST_ID
from ace_graph.server.transcript import transcripts

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


@routes.get("/export", responses=documented())
async def export(learner: Learner, parts: Opened) -> ExportReply:
    """Return everything that is stored about the learner."""
    found = learner_document(await parts.store.export(learner))
    conversations = await transcripts(parts.conversations, learner)
    audit("export", learner, request_id=REQUEST_ID.get(), found=found["version"] is not None)
    return ExportReply.model_validate({**found, "conversations": conversations})


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
