"""Reason and act: the model calls tools until it answers, in at most `max_turns` replies.

There is always an answer: in the last turn the model gets no tools, and if it still gives none, a sentence
says so. A tool that fails or does not exist becomes a message to the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolNode

from ace_graph.memory.evidence import Evidence
from ace_graph.memory.window import truncate_tool_results
from ace_graph.models import ChatRunnable
from ace_graph.prompts import preview
from ace_graph.reasoning.solution import Solution, SolverPrompt, solution_of
from ace_graph.reasoning.streaming import ModelSession
from ace_graph.reasoning.tool_calls import divide
from ace_graph.state import Plan
from ace_graph.tools.playbook_tools import PLAYBOOK_TOOLS

__all__ = ["react", "tool_evidence"]

_LAST_WORD = "This is your last reply: give the answer now, with what you have."


async def react(prompt: SolverPrompt, plan: Plan, session: ModelSession) -> Solution:
    """Answer with tools; the trace holds every tool call with its result."""
    by_name = await session.run.resources.tools_by_name()
    tools = [by_name[name] for name in plan.get("tool_names", []) if name in by_name]
    max_turns = plan.get("max_turns", 8)
    instructions = session.run.resources.prompts.render("react", max_turns=str(max_turns))
    bound = _bound(session, tools)
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


def _bound(session: ModelSession, tools: Sequence[BaseTool]) -> ChatRunnable:
    if not tools:
        return session.model
    try:
        return session.model.bind_tools(tools)
    except NotImplementedError:
        session.log_thought("react", "the model takes no tools, so it answers without")
        return session.model


async def _call_tools(
    session: ModelSession, tools: Sequence[BaseTool], message: AIMessage
) -> list[BaseMessage]:
    for call in message.tool_calls:
        session.log_thought(f"react calls {preview(call['name'], 64)}", str(call["args"]))
    # The runtime is handed over so that a tool finds the context also where the caller gave none.
    node = ToolNode(tools, handle_tool_errors=_error_text)
    out = await node.ainvoke({"messages": [message], "memory": session.memory}, runtime=session.run.runtime)
    results: list[BaseMessage] = out["messages"]
    for result in results:
        session.log_thought("react result", result.text)
    return truncate_tool_results(results)


def _error_text(error: Exception) -> str:
    return f"Error: {type(error).__name__}: {preview(error, 500)}"


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
    """Return the attached playbooks that our tools say they have shown."""
    shown = [
        cast("object", result.artifact)
        for result in results
        if isinstance(result, ToolMessage) and result.name in PLAYBOOK_TOOLS
    ]
    return [str(name) for names in shown if isinstance(names, list) for name in cast("list[object]", names)]
