"""Whether the server lives, whether it can work, and its numbers. No token is needed.

Does not: say why something is missing; the log does.
"""

from __future__ import annotations

import logging
from typing import Literal

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict

from ace_graph.errors import AceError
from ace_graph.memory.stores.base import can_clean
from ace_graph.server.conversations.cleaning import count_conversations
from ace_graph.server.dependencies import Opened, Parts
from ace_graph.server.metrics import CONTENT_TYPE_LATEST
from ace_graph.stores import NOBODY

__all__ = ["routes"]

logger = logging.getLogger("ace_graph")

routes = APIRouter(tags=["operation"])


class Alive(BaseModel):
    """The process answers."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    status: Literal["ok"] = "ok"


class Readiness(BaseModel):
    """What the server needs, and whether it is there."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    status: Literal["ready", "unavailable"]
    checks: dict[str, Literal["ok", "failed", "stopping"]]


@routes.get("/healthz")
async def alive() -> Alive:
    """Say that the process lives."""
    return Alive()


@routes.get("/readyz", responses={200: {"model": Readiness}, 503: {"model": Readiness}})
async def ready(parts: Opened) -> JSONResponse:
    """Say whether requests would be served: the memory and the conversations can be read."""
    checks: dict[str, Literal["ok", "failed", "stopping"]] = {
        "memory": "ok" if await _memory_answers(parts) else "failed",
        "conversations": "ok" if await _conversations_answer(parts) else "failed",
        "server": "stopping" if parts.turns.draining else "ok",
    }
    well = set(checks.values()) == {"ok"}
    told = Readiness(status="ready" if well else "unavailable", checks=checks)
    return JSONResponse(told.model_dump(), status_code=200 if well else 503)


@routes.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {CONTENT_TYPE_LATEST: {"schema": {"type": "string"}}}}},
)
async def metrics(parts: Opened) -> Response:
    """Return the numbers in Prometheus' text format."""
    await _count_waiting(parts)
    await _measure(parts)
    return Response(parts.metrics.text(), media_type=CONTENT_TYPE_LATEST)


async def _memory_answers(parts: Parts) -> bool:
    try:
        await parts.store.load(NOBODY)
    except AceError as error:
        logger.warning("[ACE Server] not ready: the memory: %s", error)
        return False
    return True


async def _conversations_answer(parts: Parts) -> bool:
    try:
        await parts.conversations.of(NOBODY)
    except AceError as error:
        logger.warning("[ACE Server] not ready: the conversations: %s", error)
        return False
    return True


async def _count_waiting(parts: Parts) -> None:
    try:
        counts = await parts.store.count_pending()
    except AceError as error:
        logger.warning("[ACE Server] pending learning can't be counted: %s", error)
        return
    parts.metrics.waiting(counts.pending, counts.dead)


async def _measure(parts: Parts) -> None:
    if not can_clean(parts.store) or not parts.metrics.must_measure(parts.clock.monotonic()):
        return
    database = parts.conversations.database
    try:
        sizes, count = await parts.store.sizes(), await count_conversations(database)
        parts.metrics.stored(sizes, count, await database.size())
    except AceError as error:
        logger.warning("[ACE Server] what is stored can't be measured: %s", error)
