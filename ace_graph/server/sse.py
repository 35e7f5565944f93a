"""Server-sent events: how one is written, described in the API's document, and gone on behind."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, cast

from fastapi.responses import StreamingResponse
from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

PING_SECONDS = 15.0
"""After so long without an event a comment is sent, so that proxies keep the connection."""
PING = b": still here\n\n"
_LINE_BREAKS = str.maketrans({"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})
"""Characters that JSON leaves and SSE allows in a line, but that end a line for Python's `splitlines`."""
_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}

Responses = dict[int | str, dict[str, Any]]  # Any: FastAPI's own type


def encode_event(name: str, data: Mapping[str, object], number: int | None = None) -> bytes:
    """Return one event; a client goes on behind the last one with a number."""
    numbered = "" if number is None else f"id: {number}\n"
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).translate(_LINE_BREAKS)
    return f"{numbered}event: {name}\ndata: {text}\n\n".encode("utf-8", "replace")


def event_number(last_event_id: str) -> int | None:
    """Return the number in a header `Last-Event-ID`, None where it holds none."""
    return int(last_event_id) if last_event_id.isascii() and last_event_id.isdigit() else None


def event_stream(events: AsyncGenerator[bytes]) -> StreamingResponse:
    """Return the response that sends these events as they come."""
    return StreamingResponse(events, media_type="text/event-stream", headers=_HEADERS)


def described_stream(
    description: str,
    events: type[BaseModel],
    example: str,
    *,
    required: Sequence[str] = ("id", "event", "data"),
) -> Responses:
    """Return what the API's document says of a stream of events; `events` has a field for each by its name
    or alias.

    A schema can't say what is inside a text, so `described_events` adds it to the document by itself.
    """
    event = {
        "description": f"One event. `data` is a JSON object, the property of `{events.__name__}` that has "
        "the event's name.",
        "type": "object",
        "properties": {
            "id": {"type": "string", "pattern": "^[0-9]+$"},
            "event": {
                "type": "string",
                "enum": [field.alias or name for name, field in events.model_fields.items()],
            },
            "data": {"type": "string", "contentMediaType": "application/json"},
        },
        "required": list(required),
    }
    content = {"text/event-stream": {"schema": event, "example": example}}
    return {200: {"description": description, "content": content}}


def described_events(*events: type[BaseModel]) -> dict[str, Any]:
    """Return the schemas of what streams send, by their names, for the API's document."""
    models: list[tuple[type[BaseModel], JsonSchemaMode]] = [(model, "serialization") for model in events]
    _, described = models_json_schema(models, ref_template="#/components/schemas/{model}")
    return cast("dict[str, Any]", described["$defs"])
