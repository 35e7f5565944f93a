"""Reads a model's reply: joins its chunks, tells whether it is complete, and finds the JSON in it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import cast

from langchain_core.messages import AIMessage, AIMessageChunk
from pydantic import JsonValue

__all__ = ["CUT", "FILTERED", "find_json_object", "finish_problem", "joined"]

CUT = "the reply was cut at the model's token limit"
FILTERED = "the provider's safety filter stopped the reply"

_CUT = frozenset({"MAX_TOKENS", "LENGTH", "MODEL_LENGTH", "MODEL_CONTEXT_WINDOW_EXCEEDED"})
_BLOCKED = frozenset(
    {
        "BLOCKLIST",
        "CONTENT_FILTER",
        "CONTENT_FILTERED",
        "GUARDRAIL_INTERVENED",
        "IMAGE_SAFETY",
        "LANGUAGE",
        "PROHIBITED_CONTENT",
        "RECITATION",
        "REFUSAL",
        "SAFETY",
        "SPII",
    }
)
_FINE = frozenset(
    {
        "",
        "COMPLETE",
        "END_TURN",
        "EOS",
        "FINISH_REASON_UNSPECIFIED",
        "FUNCTION_CALL",
        "STOP",
        "STOP_SEQUENCE",
        "TOOL_CALLS",
        "TOOL_USE",
    }
)
_REASON_KEYS = ("finish_reason", "stop_reason", "done_reason")
_MOST_BROKEN = 1_000
_FENCE = re.compile(r"```[\w-]*")
_OBJECT = re.compile(r"\{\s*+[\"}]")
_BRACE = re.compile(r"[{}]")


def joined(chunks: Sequence[AIMessageChunk]) -> AIMessageChunk | None:
    """Return the sum of a reply's chunks, None for none; added one by one they would be copied each time."""
    return chunks[0] + list(chunks[1:]) if chunks else None


def finish_problem(message: AIMessage) -> str | None:
    """Return why `message` is no complete reply, or None when it is one.

    Recognised are a reply cut at the token limit, one that a safety filter stopped (often without any
    text, and without an exception), any other ending that is not the model's own, and an empty reply.
    """
    reason = _finish_reason(message)
    if reason in _CUT:
        return CUT
    blocked = reason if reason in _BLOCKED else _block_reason(message)
    if blocked:
        return f"{FILTERED} ({blocked})"
    if reason not in _FINE:
        return f"the reply ended before it was complete ({reason})"
    if not message.text.strip() and not message.tool_calls:
        return "the reply was empty"
    return None


def find_json_object(text: str) -> dict[str, JsonValue] | None:
    """Return the first complete JSON object in `text`, or None.

    Fences and prose around it are skipped. An object that is broken or cut is never searched for a
    complete one inside it, so half a reply can't pass for a whole one. At most 1,000 broken ones are passed.
    """
    text = _without_fences(text) if "```" in text else text
    decoder, broken = json.JSONDecoder(), 0
    start = text.find("{")
    while start != -1 and broken < _MOST_BROKEN:
        read_to = start
        if _OBJECT.match(text, start):  # else it is prose, or a set
            try:
                value: dict[str, JsonValue] = decoder.raw_decode(text, start)[0]
            except json.JSONDecodeError as error:
                read_to, broken = error.pos, broken + 1
            except (ValueError, RecursionError):  # a number, or a nesting, beyond what is read
                return None
            else:
                return value
        end = _closing_brace(text, start)
        if end is None:
            return None
        start = text.find("{", max(end, read_to))  # what was read as JSON once is not read again
    return None


def _without_fences(text: str) -> str:
    return "\n".join("" if _FENCE.fullmatch(line.strip()) else line for line in text.split("\n"))


def _closing_brace(text: str, start: int) -> int | None:
    depth = 0
    for found in _BRACE.finditer(text, start):
        depth += 1 if found.group() == "{" else -1
        if depth == 0:
            return found.end()
    return None


def _finish_reason(message: AIMessage) -> str:
    metadata = message.response_metadata
    reason = next((str(metadata[key]) for key in _REASON_KEYS if metadata.get(key)), "").upper()
    reason = reason.rpartition(".")[2]
    # Merged stream chunks repeat the reason without a separator: STOPSTOP.
    half, odd = divmod(len(reason), 2)
    return reason[:half] if reason and not odd and reason[:half] == reason[half:] else reason


def _block_reason(message: AIMessage) -> str | None:
    feedback: object = message.response_metadata.get("prompt_feedback")
    if not isinstance(feedback, dict):
        return None
    reason = cast("dict[str, object]", feedback).get("block_reason")
    return str(getattr(reason, "name", reason)) if reason else None
