"""The base line: a bare LangGraph graph behind the same FastAPI and uvicorn, with the same model.

Five nodes and the edges of ours, one model call, which is streamed. No token is asked for, nothing is
remembered; with a checkpointer conversations are kept, as LangGraph alone would; with a memory library the
first node searches it and the last one stores into it.

It does not learn, so it does less than ours in every respect.
"""

# LangGraph leaves type arguments of its own signatures open.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Annotated, Literal, TypeAlias, cast
from uuid import uuid4

from fastapi import FastAPI, Header
from fastapi.responses import StreamingResponse
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from pydantic import BaseModel, Field

from benchmarks.server.recall import Recall
from benchmarks.stub import StubModel

__all__ = ["bare_app", "bare_graph"]


class _State(MessagesState):
    found: list[str]
    plan: dict[str, int]
    verdict: str


BareGraph: TypeAlias = CompiledStateGraph[_State, None, _State, _State]


class Asked(BaseModel):
    """The body of a request, with the names of ours."""

    message: str
    conversation: str | None = Field(default=None, alias="conversationId")


def bare_graph(model: StubModel, recall: Recall, saver: BaseCheckpointSaver[str] | None = None) -> BareGraph:
    """Return five nodes that search, ask the model once, and store."""

    async def router(state: _State, config: RunnableConfig) -> dict[str, object]:
        question = state["messages"][-1].text
        return {"found": await recall.find(_learner(config), question), "verdict": "unknown"}

    async def planner(state: _State) -> dict[str, object]:
        return {"plan": {"window_size": 5}}

    async def solver(state: _State) -> dict[str, object]:
        known = [SystemMessage("\n".join(state["found"]))] if state["found"] else []
        parts = [chunk.text async for chunk in model.astream([*known, *state["messages"]])]
        return {"messages": [AIMessage("".join(parts))]}

    async def critic(state: _State) -> dict[str, object]:
        return {"verdict": "unknown"}

    async def learning(state: _State, config: RunnableConfig) -> dict[str, object]:
        await recall.keep(_learner(config), state["messages"][-2].text)
        return {"found": []}

    def after_critic(state: _State) -> Literal["solver", "learning"]:
        return "learning"

    graph = StateGraph(_State)
    for node in (router, planner, solver, critic, learning):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "router")
    graph.add_edge("router", "planner")
    graph.add_edge("planner", "solver")
    graph.add_edge("solver", "critic")
    graph.add_conditional_edges("critic", after_critic, {"solver": "solver", "learning": "learning"})
    graph.add_edge("learning", END)
    return graph.compile(checkpointer=saver)


def _learner(config: RunnableConfig) -> str:
    return str(config.get("configurable", {}).get("learner", "nobody"))


def bare_app(graph: BareGraph) -> FastAPI:
    """Return the application; whoever asks says who they are in `X-Learner`."""
    app = FastAPI()

    @app.post("/api/ai/chat")
    async def chat(asked: Asked, x_learner: Annotated[str, Header()] = "nobody") -> dict[str, str]:
        conversation = asked.conversation or uuid4().hex
        out = await graph.ainvoke(_input(asked), _config(conversation, x_learner))
        messages = cast("list[AnyMessage]", out["messages"])
        return {"answer": messages[-1].text, "conversationId": conversation}

    @app.post("/api/ai/chat/stream")
    async def chat_stream(asked: Asked, x_learner: Annotated[str, Header()] = "nobody") -> StreamingResponse:
        conversation = asked.conversation or uuid4().hex
        lines = _told(graph, asked, _config(conversation, x_learner))
        return StreamingResponse(lines, media_type="text/event-stream")

    assert chat
    assert chat_stream
    return app


async def _told(graph: BareGraph, asked: Asked, config: RunnableConfig) -> AsyncGenerator[bytes]:
    async for event in graph.astream(_input(asked), config, stream_mode="messages"):
        message, _ = cast("tuple[AnyMessage, object]", event)
        # A node's own message comes too, whole, behind its pieces.
        if message.type == "AIMessageChunk" and message.text:
            yield f"event: token\ndata: {json.dumps({'text': message.text})}\n\n".encode()
    yield b"event: done\ndata: {}\n\n"


def _input(asked: Asked) -> _State:
    return _State(messages=[HumanMessage(asked.message)], found=[], plan={}, verdict="")


def _config(conversation: str, learner: str) -> RunnableConfig:
    return {"configurable": {"thread_id": conversation, "learner": learner}}
