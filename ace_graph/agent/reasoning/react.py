"""Reason and act: the model calls tools until it answers, in at most `max_turns` replies.

There is always an answer: in the last turn the model gets no tools, and if it still gives none, a sentence
says so. A tool that fails or does not exist becomes a message to the model.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolNode

from ace_graph.agent.models import ChatRunnable
from ace_graph.agent.reasoning.prompt import Solution, SolverPrompt, solution_of
from ace_graph.agent.reasoning.streaming import ModelSession
from ace_graph.agent.state import Plan
from ace_graph.agent.tools.memory_tools import PLAYBOOK_TOOLS
from ace_graph.base.prompts import preview
from ace_graph.memory.evidence import Evidence
from ace_graph.memory.window import truncate_tool_results

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
    """Divide the tool calls of `message`, given the tool messages of the attempts before, which it was shown.

    A tool that is called again runs only if it is idempotent; of any other one a call with the same arguments
    gets the earlier result, and one with other arguments is refused.
    """
    if not done:
        return Divided(message)
    again = {tool.name for tool in tools if (tool.metadata or {}).get(IDEMPOTENT) is True}
    # The earlier results by name and arguments; the later one where a call was made twice
    by_id = {message.tool_call_id: message for message in done if isinstance(message, ToolMessage)}
    results = {
        _key(call): by_id[call["id"] or ""]
        for message in done
        if isinstance(message, AIMessage)
        for call in message.tool_calls
        if call["id"] in by_id
    }
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


def _key(call: ToolCall) -> tuple[str, str]:
    return call["name"], json.dumps(call["args"], sort_keys=True, default=str)


_LAST_WORD = "This is your last reply: give the answer now, with what you have."


async def react(prompt: SolverPrompt, plan: Plan, session: ModelSession) -> Solution:
    """Answer with tools; the trace holds every tool call with its result."""
    by_name = await session.run.resources.tools_by_name()
    tools = [by_name[name] for name in plan.get("tool_names", []) if name in by_name]
    max_turns = plan.get("max_turns", 8)
    instructions = session.run.resources.prompts.render("react", max_turns=str(max_turns))
    bound: ChatRunnable = session.model
    try:
        bound = session.model.bind_tools(tools) if tools else bound
    except NotImplementedError:
        session.log_thought("react", "the model takes no tools, so it answers without")
    trace: list[BaseMessage] = []
    evidence: list[Evidence] = []
    consulted: list[str] = []
    for _ in range(max_turns - 1):
        reply = await session.stream_answer([*prompt.messages(instructions), *trace], bound, may_call=True)
        if not reply.message.tool_calls or (reply.parsed.answer and session.streamed):
            break
        divided = divide(reply.message, tools, prompt.done)
        results = [*divided.reused, *(await _call_tools(session, tools, divided.run) if divided.run else ())]
        trace += [reply.message, *results, *divided.refused]
        evidence += tool_evidence(tools, results)
        consulted += _consulted(results)
    else:
        reply = await session.stream_answer([*prompt.messages(f"{instructions}\n\n{_LAST_WORD}"), *trace])
    solution = solution_of(reply, session, trace=tuple(trace))
    return replace(solution, tool_evidence=tuple(evidence), consulted=tuple(dict.fromkeys(consulted)))


async def _call_tools(
    session: ModelSession, tools: Sequence[BaseTool], message: AIMessage
) -> list[BaseMessage]:
    for call in message.tool_calls:
        session.log_thought(f"react calls {preview(call['name'], 64)}", str(call["args"]))
    # The runtime is handed over so that a tool finds the context also where the caller gave none.

    def error_text(error: Exception) -> str:
        return f"Error: {type(error).__name__}: {preview(error, 500)}"

    node = ToolNode(tools, handle_tool_errors=error_text)
    out = await node.ainvoke({"messages": [message], "memory": session.memory}, runtime=session.run.runtime)
    results: list[BaseMessage] = out["messages"]
    for result in results:
        session.log_thought("react result", result.text)
    return truncate_tool_results(results)


def tool_evidence(tools: Sequence[BaseTool], results: Sequence[BaseMessage]) -> list[Evidence]:
    """Return the judgements of tools that are marked as checks (`metadata={"evidence": True}`).

    A check that failed is a failure; any other tool's result, good or bad, means nothing.
    """
    checks = {tool.name for tool in tools if (tool.metadata or {}).get("evidence") is True}
    return [
        Evidence(
            source="tool",
            verdict="failure" if result.status == "error" else "success",
            text=preview(result.text, 500),
            by=result.name,
        )
        for result in results
        if isinstance(result, ToolMessage) and result.name in checks
    ]


def _consulted(results: Sequence[BaseMessage]) -> list[str]:
    shown = [
        cast("object", result.artifact)
        for result in results
        if isinstance(result, ToolMessage) and result.name in PLAYBOOK_TOOLS
    ]
    return [str(name) for names in shown if isinstance(names, list) for name in cast("list[object]", names)]
