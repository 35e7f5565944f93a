"""A turn as server-sent events: `start`, `mode`, `bullets`, `token`s, `result`, `done`; or `error`.

The turn goes on when the client hangs up.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, get_args

from fastapi.responses import StreamingResponse

from ace_graph.server.turns.event_log import Event, EventName, LiveTurn

__all__ = ["SSE_RESPONSES", "sse_response"]

PING_SECONDS = 15.0
_LINE_BREAKS = str.maketrans({"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})
"""Characters that JSON leaves and SSE allows in a line, but that end a line for Python's `splitlines`."""
_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}

_EXAMPLE = """\
id: 1
event: start
data: {"streamId": "5f0c", "conversationId": "5f0c"}

id: 2
event: mode
data: {"mode": "cot"}

id: 3
event: token
data: {"text": "5/6"}

id: 4
event: result
data: {"answer": "5/6", "mode": "cot", "conversationId": "5f0c", "turnId": "9a1e", "metadata": {}}

id: 5
event: done
data: {}
"""

_EVENT: dict[str, Any] = {  # Any: a JSON schema
    "description": "One event; `data` is a JSON object.",
    "type": "object",
    "properties": {
        "id": {"type": "string", "pattern": "^[0-9]+$"},
        "event": {"enum": list(get_args(EventName))},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
    "required": ["id", "event", "data"],
}

SSE_RESPONSES: dict[int | str, dict[str, Any]] = {  # Any: FastAPI's own type
    200: {
        "description": "The turn as it happens. The answer is the text of all `token` events. `done` comes "
        "when what was learned is stored. `error` comes instead of `result` and `done`, with the `status` "
        "that the route without a stream would answer with.",
        "content": {"text/event-stream": {"schema": _EVENT, "example": _EXAMPLE}},
    }
}


def sse_response(turn: LiveTurn, after: int = 0) -> StreamingResponse:
    """Return a response that streams a turn's events after number `after`."""
    return StreamingResponse(_stream(turn, after), media_type="text/event-stream", headers=_HEADERS)


async def _stream(turn: LiveTurn, after: int) -> AsyncGenerator[bytes]:
    async with aclosing(turn.follow(after, PING_SECONDS)) as events:
        async for event in events:
            yield b": still here\n\n" if event is None else _encode(event)


def _encode(event: Event) -> bytes:
    data = json.dumps(event.data, ensure_ascii=False, separators=(",", ":")).translate(_LINE_BREAKS)
    return f"id: {event.number}\nevent: {event.name}\ndata: {data}\n\n".encode("utf-8", "replace")
