"""The tool messages of a turn in the three forms that others need: conversation, reflector, patterns.

Does not: call tools (react.py does).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from ace_graph.prompts import preview
from ace_graph.state import ToolCallJSON

__all__ = ["message_dicts", "tool_calls_of", "trace_lines"]

MAX_ARGUMENT_CHARS = 500


def message_dicts(
    trace: Sequence[BaseMessage], answer: str, answer_id: str, attempt_id: str
) -> list[dict[str, object]]:
    """Return the turn's messages for the conversation: tool calls with their results, then the answer.

    They are plain dicts: LangGraph streams message objects that a node returns, but only the final
    answer's text may be streamed, and an answer that is held back not at all.
    """
    told = [_dict(message, f"trace-{attempt_id}-{n}") for n, message in enumerate(trace)]
    return [*told, {"role": "assistant", "content": answer, "id": answer_id}]


def _dict(message: BaseMessage, message_id: str) -> dict[str, object]:
    if isinstance(message, ToolMessage):
        return {
            "role": "tool",
            "content": message.text,
            "id": message_id,
            "name": message.name,
            "tool_call_id": message.tool_call_id,
            "status": message.status,
        }
    return {
        "role": "assistant",
        "content": "",
        "id": message_id,
        "tool_calls": message.tool_calls if isinstance(message, AIMessage) else [],
        "additional_kwargs": message.additional_kwargs,
    }


def trace_lines(trace: Sequence[BaseMessage]) -> list[str]:
    """Return the trace as the reflector reads it, a line per message."""
    return [f"{message.type}: {_told(message)}" for message in trace]


def _told(message: BaseMessage) -> str:
    if isinstance(message, AIMessage) and message.tool_calls:
        return ", ".join(f"{call['name']}({call['args']})" for call in message.tool_calls)
    return message.text


def tool_calls_of(trace: Sequence[BaseMessage]) -> list[ToolCallJSON]:
    """Return the tool calls in order, each with its error where it failed."""
    failed = {
        message.tool_call_id: preview(message.text, MAX_ARGUMENT_CHARS)
        for message in trace
        if isinstance(message, ToolMessage) and message.status == "error"
    }
    return [
        {"name": call["name"], "args": _bounded(call["args"]), "error": failed.get(call["id"] or "")}
        for message in trace
        if isinstance(message, AIMessage)
        for call in message.tool_calls
    ]


def _bounded(args: Mapping[str, object]) -> dict[str, object]:
    """The arguments as plain JSON, long texts cut: they are checkpointed."""
    plain: dict[str, object] = json.loads(json.dumps(args, default=str))
    return {
        name: value[:MAX_ARGUMENT_CHARS] if isinstance(value, str) else value for name, value in plain.items()
    }
