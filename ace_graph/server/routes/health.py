"""Liveness, readiness and metrics, without a token. The log says why a check failed."""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from typing import Literal

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from ace_graph.base.errors import AceError
from ace_graph.server.conversations.cleaning import count_conversations
from ace_graph.server.schemas import Body
from ace_graph.server.services import ServicesDep
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
    kept = services.conversations.of(PROBE_LEARNER)
    checks: dict[str, Literal["ok", "failed", "stopping"]] = {
        "memory": "ok" if await _answers("memory", services.store.load(PROBE_LEARNER)) else "failed",
        "conversations": "ok" if await _answers("conversations", kept) else "failed",
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
    store, conversations = services.store, services.conversations.database
    try:
        counts = await store.count_pending()
        services.metrics.set_pending(counts.pending, counts.dead)
    except AceError as error:
        logger.warning("[ACE Server] pending learning can't be counted: %s", error)
    try:
        if services.metrics.measurement_due(services.clock.monotonic()):
            sizes, count = await store.sizes(), await count_conversations(conversations)
            services.metrics.set_stored(sizes, count, await conversations.size())
    except AceError as error:
        logger.warning("[ACE Server] sizes can't be measured: %s", error)
    return Response(services.metrics.render(), media_type=CONTENT_TYPE_LATEST)


async def _answers(what: str, reading: Awaitable[object]) -> bool:
    try:
        await reading
    except AceError as error:
        logger.warning("[ACE Server] not ready: the %s: %s", what, error)
        return False
    return True
