"""Liveness, readiness and metrics, without a token. The log says why a check failed."""

from __future__ import annotations

import logging
from typing import Literal

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from ace_graph.base.errors import AceError
from ace_graph.server.conversations.cleaning import count_conversations
from ace_graph.server.schemas import Body
from ace_graph.server.services import Services, ServicesDep
from ace_graph.stores import PROBE_LEARNER

logger = logging.getLogger("ace_graph")

routes = APIRouter(tags=["operation"])


class Alive(Body):
    """The process answers."""

    status: Literal["ok"] = "ok"


class Readiness(Body):
    """The result of each check."""

    status: Literal["ready", "unavailable"]
    checks: dict[str, Literal["ok", "failed", "stopping"]]


@routes.get("/healthz")
async def alive() -> Alive:
    """Say that the process runs."""
    return Alive()


@routes.get("/readyz", responses={200: {"model": Readiness}, 503: {"model": Readiness}})
async def ready(services: ServicesDep) -> JSONResponse:
    """Say whether the server can serve requests: whether it can read the memory and the conversations."""
    checks: dict[str, Literal["ok", "failed", "stopping"]] = {
        "memory": "ok" if await _memory_answers(services) else "failed",
        "conversations": "ok" if await _conversations_answer(services) else "failed",
        "server": "stopping" if services.turns.draining else "ok",
    }
    ready_now = set(checks.values()) == {"ok"}
    reply = Readiness(status="ready" if ready_now else "unavailable", checks=checks)
    return JSONResponse(reply.model_dump(), status_code=200 if ready_now else 503)


@routes.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {CONTENT_TYPE_LATEST: {"schema": {"type": "string"}}}}},
)
async def metrics(services: ServicesDep) -> Response:
    """Return the metrics in Prometheus' text format."""
    await _count_waiting(services)
    await _measure(services)
    return Response(services.metrics.render(), media_type=CONTENT_TYPE_LATEST)


async def _memory_answers(services: Services) -> bool:
    try:
        await services.store.load(PROBE_LEARNER)
    except AceError as error:
        logger.warning("[ACE Server] not ready: the memory: %s", error)
        return False
    return True


async def _conversations_answer(services: Services) -> bool:
    try:
        await services.conversations.of(PROBE_LEARNER)
    except AceError as error:
        logger.warning("[ACE Server] not ready: the conversations: %s", error)
        return False
    return True


async def _count_waiting(services: Services) -> None:
    try:
        counts = await services.store.count_pending()
    except AceError as error:
        logger.warning("[ACE Server] pending learning can't be counted: %s", error)
        return
    services.metrics.set_pending(counts.pending, counts.dead)


async def _measure(services: Services) -> None:
    if not services.metrics.measurement_due(services.clock.monotonic()):
        return
    database = services.conversations.database
    try:
        sizes, count = await services.store.sizes(), await count_conversations(database)
        services.metrics.set_stored(sizes, count, await database.size())
    except AceError as error:
        logger.warning("[ACE Server] sizes can't be measured: %s", error)
