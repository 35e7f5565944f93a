"""A chat model that answers at once and always the same, and the bare graph that is the base line.

The bare graph has five nodes and the same edges and makes the same two model calls a turn, one streamed and
one for a structured reply. What a turn of the real graph takes longer is our own work.
"""

# LangGraph leaves type arguments of its own signatures open.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import json
from contextvars import ContextVar
from typing import Literal, TypeAlias

from langchain_core.messages import AIMessage, SystemMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph

from ace_graph.agent.context import ACEContext
from ace_graph.agent.models.local import LocalModel, ModelCall
from ace_graph.learning.reflection import Reflection

__all__ = ["LESSON", "BareGraph", "StubModel", "bare_graph"]

LESSON: ContextVar[str | None] = ContextVar("LESSON", default=None)
"""What the reflector finds in the turns that are started in this context."""

ANSWER = "<final>Write both fractions over the common denominator and add the numerators: 5/6.</final>"
_USAGE = UsageMetadata(input_tokens=1_000, output_tokens=20, total_tokens=1_020)


class StubModel(LocalModel):
    """Gives one constant answer, and as a reflector the lesson that the turn's caller put into LESSON."""

    def reply(self, call: ModelCall) -> AIMessage:
        """Return the constant answer, or to a schema a reflection."""
        if call.schema is None:
            return AIMessage(ANSWER, usage_metadata=_USAGE)
        lesson = LESSON.get()
        lessons = [] if lesson is None else [{"content": lesson, "section": "strategies"}]
        return AIMessage(json.dumps({"key_insight": "", "lessons": lessons}), usage_metadata=_USAGE)

    @property
    def _llm_type(self) -> str:
        return "stub"


class _State(MessagesState):
    plan: dict[str, int]
    verdict: str


BareGraph: TypeAlias = CompiledStateGraph[_State, ACEContext, _State, _State]
_QUIET: RunnableConfig = {"tags": ["nostream"]}


def bare_graph(model: StubModel) -> BareGraph:
    """Return five nodes that do nothing but call the model twice."""
    reflecting = model.with_structured_output(Reflection, include_raw=True)

    async def router(state: _State) -> dict[str, object]:
        return {"verdict": "unknown"}

    async def planner(state: _State) -> dict[str, object]:
        return {"plan": {"window_size": 5}}

    async def solver(state: _State) -> dict[str, object]:
        parts = [chunk.text async for chunk in model.astream(state["messages"], _QUIET)]
        return {"messages": [AIMessage("".join(parts))]}

    async def critic(state: _State) -> dict[str, object]:
        return {"verdict": "unknown"}

    async def learning(state: _State) -> dict[str, object]:
        await reflecting.ainvoke([SystemMessage("Reflect on the turn."), *state["messages"]], _QUIET)
        return {"plan": {}}

    def after_critic(state: _State) -> Literal["solver", "learning"]:
        return "learning"

    graph = StateGraph(_State, context_schema=ACEContext)
    for node in (router, planner, solver, critic, learning):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "router")
    graph.add_edge("router", "planner")
    graph.add_edge("planner", "solver")
    graph.add_edge("solver", "critic")
    graph.add_conditional_edges("critic", after_critic, {"solver": "solver", "learning": "learning"})
    graph.add_edge("learning", END)
    return graph.compile()
