"""Live updates over HTTP: the versions of a playbook as server-sent events, as they are committed.

A stream ends after ten minutes, when the server stops, and when the playbook can't be read any more. A
client that goes on with `Last-Event-ID`, as a browser does by itself, misses nothing; its token and its
rights are checked again then.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header
from fastapi.responses import StreamingResponse

from ace_graph.base.errors import PlaybookNotFound, RequestRefused, StoreError
from ace_graph.memory.stores.base import StoredVersion
from ace_graph.playbooks.handle import PlaybookHandle
from ace_graph.playbooks.watch import EVERY_SECONDS, versions_after
from ace_graph.server.errors import DescribedRoute, error_responses
from ace_graph.server.middleware import does
from ace_graph.server.routes.conversations import LINE_BREAKS, PING_SECONDS, STREAM_HEADERS
from ace_graph.server.routes.edit import Place, checked_place, declare_playbook_id
from ace_graph.server.services import Learner, Services, ServicesDep

logger = logging.getLogger("ace_graph")
own = APIRouter(
    prefix="/api/playbook", tags=["playbook"], route_class=DescribedRoute, dependencies=[does("change")]
)
named = APIRouter(
    prefix="/api/playbooks/{playbook_id}",
    tags=["playbooks"],
    route_class=DescribedRoute,
    dependencies=[does("change"), Depends(declare_playbook_id), Depends(checked_place)],
)

MAX_STREAMS = 8
"""Streams that a learner may have open on one server."""
_MAX_SECONDS = 600.0
_EXAMPLE = """\
id: 4
event: version
data: {"version": 4, "label": "1.3", "at": "2026-11-27T09:30:00+00:00", "author": "ada", "reason": "merged"}
"""
_EVENT: dict[str, Any] = {  # Any: a JSON schema
    "description": "One event; `data` is a JSON object.",
    "type": "object",
    "properties": {
        "id": {"type": "string", "pattern": "^[0-9]+$"},
        "event": {"enum": ["version", "gone", "error"]},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
    "required": ["event", "data"],
}
_RESPONSES: dict[int | str, dict[str, Any]] = {  # Any: FastAPI's own type
    200: {
        "description": "The present version, or those since `Last-Event-ID`, then each new one. `gone`: it "
        "can't be read any more. `error`: the store can't be reached; connect again later.",
        "content": {"text/event-stream": {"schema": _EVENT, "example": _EXAMPLE}},
    },
    **error_responses(429, 503),
}


@named.get("/changes", responses=_RESPONSES, response_class=StreamingResponse)
@own.get("/changes", responses=_RESPONSES, response_class=StreamingResponse)
async def changes(
    playbook: Place,
    learner: Learner,
    services: ServicesDep,
    last_event_id: Annotated[
        str, Header(max_length=20, description="The version of the last event received.")
    ] = "",
) -> StreamingResponse:
    """Follow a playbook: each version as a server-sent event, as it comes.

    A stream ends after ten minutes; connect again with `Last-Event-ID`.
    """
    if services.turns.draining:
        raise RequestRefused(503, "stopping", "the server is stopping: connect again", retry_after=2)
    if services.watching[learner] >= MAX_STREAMS:
        raise RequestRefused(
            429, "too_many", f"{MAX_STREAMS} streams of changes are open: close one", retry_after=2
        )
    if services.watching.total() >= services.settings.server_turns:
        raise RequestRefused(503, "overloaded", "the server is busy: try again later", retry_after=2)
    told = last_event_id.isascii() and last_event_id.isdecimal()
    seen = int(last_event_id) if told else max(0, (await playbook.version()).n - 1)
    return StreamingResponse(
        _stream(playbook, seen, learner, services), media_type="text/event-stream", headers=STREAM_HEADERS
    )


async def _stream(
    playbook: PlaybookHandle, seen: int, learner: str, services: Services
) -> AsyncGenerator[bytes]:
    services.watching[learner] += 1
    began = quiet_since = services.clock.monotonic()
    try:
        yield b": connected\n\n"
        while not services.turns.draining and services.clock.monotonic() < began + _MAX_SECONDS:
            for version in await versions_after(playbook, seen):
                yield _event("version", _shown(version), version.n)
                seen, quiet_since = version.n, services.clock.monotonic()
            if services.clock.monotonic() >= quiet_since + PING_SECONDS:
                yield b": still here\n\n"
                quiet_since = services.clock.monotonic()
            await services.clock.sleep(EVERY_SECONDS)
    except PlaybookNotFound:
        yield _event("gone", {"code": "not_found"})
    except StoreError:
        logger.exception("[ACE Server] a stream of changes ended")
        yield _event("error", {"code": "unavailable"})
    finally:
        services.watching[learner] -= 1
        if not services.watching[learner]:
            del services.watching[learner]


def _shown(version: StoredVersion) -> dict[str, object]:
    return {
        "version": version.n,
        "label": str(version.label),
        "at": version.at.isoformat(),
        "author": version.author,
        "reason": version.reason,
    }


def _event(name: str, data: dict[str, object], number: int | None = None) -> bytes:
    numbered = "" if number is None else f"id: {number}\n"
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).translate(LINE_BREAKS)
    return f"{numbered}event: {name}\ndata: {text}\n\n".encode("utf-8", "replace")
