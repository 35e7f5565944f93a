"""Which tool calls of a later attempt are made: what a tool did once, it does not do again.

An attempt after the first one is shown the calls and results of those before it. A tool that it calls again
runs only when it is marked as idempotent (`metadata={"idempotent": True}`). The same call of any other tool
gets the result that is there; another call of it is refused. A tool that was not called before runs.

Does not: call tools (react.py does).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.tools import BaseTool

__all__ = ["IDEMPOTENT", "Divided", "divide"]

IDEMPOTENT = "idempotent"
"""The key of a tool's metadata that allows a second call in one turn's later attempt."""

_REFUSED = "Not called again: this tool runs once a turn. What it did before stands above."


@dataclass(frozen=True)
class Divided:
    """The calls of one reply: `run` holds those to make, None for none; the others have their results."""

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
    """The results that are there, by name and arguments; of the same call twice the later one."""
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
