"""The tool calls of a turn: which of a later attempt are run, and the forms in which others read them.

An attempt after the first one is shown the calls and results of those before it. A tool that it calls again
runs only if it is marked as idempotent (`metadata={"idempotent": True}`). For any other tool, a call with the
same arguments gets the earlier result, and one with other arguments is refused. A tool that was not called
before runs. The conversation, the reflector and the execution patterns each read the calls in a form of their
own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.tools import BaseTool

from ace_graph.prompts import preview
from ace_graph.state import ToolCallJSON

__all__ = ["IDEMPOTENT", "Divided", "divide", "message_dicts", "tool_calls_of", "trace_lines"]


MAX_ARGUMENT_CHARS = 500


def message_dicts(
    trace: Sequence[BaseMessage], answer: str, answer_id: str, attempt_id: str
) -> list[dict[str, object]]:
    """Return the turn's messages for the conversation: tool calls with their results, then the answer.

    They are plain dicts: LangGraph streams message objects that a node returns, but only the final
    answer's text may be streamed, and an answer that is held back not at all.
    """
    messages = [_dict(message, f"trace-{attempt_id}-{n}") for n, message in enumerate(trace)]
    return [*messages, {"role": "assistant", "content": answer, "id": answer_id}]


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
    return [f"{message.type}: {_message_text(message)}" for message in trace]


def _message_text(message: BaseMessage) -> str:
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


IDEMPOTENT = "idempotent"
"""The key of a tool's metadata that allows a second call in one turn's later attempt."""

_REFUSED = "Not called again: this tool runs once a turn. What it did before stands above."


@dataclass(frozen=True)
class Divided:
    """The calls of one reply: `run` holds those to run, None for none; the others have their results."""

    run: AIMessage | None
    reused: tuple[ToolMessage, ...] = ()
    refused: tuple[ToolMessage, ...] = ()


def divide(message: AIMessage, tools: Iterable[BaseTool], done: Sequence[BaseMessage]) -> Divided:
    """Divide the tool calls of `message`, given the tool messages of the attempts before."""
    if not done:
        return Divided(message)
    again = {tool.name for tool in tools if (tool.metadata or {}).get(IDEMPOTENT) is True}
    results = _results(done)
    called = {name for name, _ in results}
    run, reused, refused = list[ToolCall](), list[ToolMessage](), list[ToolMessage]()
    for call in message.tool_calls:
        known = results.get(_key(call))
        if call["name"] in again or call["name"] not in called:
            run.append(call)
        elif known is not None:
            reused.append(known.model_copy(update={"tool_call_id": call["id"] or "", "id": None}))
        else:
            refused.append(
                ToolMessage(_REFUSED, name=call["name"], tool_call_id=call["id"] or "", status="error")
            )
    left = message.model_copy(update={"tool_calls": run}) if run else None
    return Divided(left, tuple(reused), tuple(refused))


def _results(done: Sequence[BaseMessage]) -> dict[tuple[str, str], ToolMessage]:
    """The earlier results by name and arguments; the later one where a call was made twice."""
    by_id = {message.tool_call_id: message for message in done if isinstance(message, ToolMessage)}
    return {
        _key(call): by_id[call["id"] or ""]
        for message in done
        if isinstance(message, AIMessage)
        for call in message.tool_calls
        if call["id"] in by_id
    }


def _key(call: ToolCall) -> tuple[str, str]:
    return call["name"], json.dumps(call["args"], sort_keys=True, default=str)
