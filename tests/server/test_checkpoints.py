"""Which checkpoints of a turn are written, and what a conversation holds when a turn was broken off."""

from __future__ import annotations

from dataclasses import replace

import pytest
from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from ace_graph import ACEContext, build_ace_graph
from ace_graph.agent import ACEInput
from ace_graph.base import ModelError
from ace_graph.graph import ACEGraph
from ace_graph.server import ChatRequest, LiveTurn, TurnWork, reply_of, run_turn
from ace_graph.server.conversations import NO_CHECKPOINT, AcceptedTurn, TurnCheckpointer
from ace_graph.testing import ScriptedModel
from tests.server.test_chat import model

THREAD: RunnableConfig = {"configurable": {"thread_id": "c1"}}
BEGINNING: RunnableConfig = {"configurable": {"thread_id": "c1", NO_CHECKPOINT: True}}


def graph_of(scripted: ScriptedModel, kept: InMemorySaver) -> ACEGraph:
    return build_ace_graph(model=scripted, store="memory://", checkpointer=TurnCheckpointer(kept))


async def ask(graph: ACEGraph, question: str, config: RunnableConfig = THREAD) -> list[AnyMessage]:
    message = HumanMessage(question, id=question)
    context = ACEContext(learner_id="alice")
    out = await graph.ainvoke({"messages": [message]}, config, context=context, durability="sync")
    return out["messages"]


def written(kept: InMemorySaver) -> list[tuple[bool, bool]]:
    """Return whether each checkpoint, the oldest first, has an answer, and something learned."""
    values = [found.checkpoint["channel_values"] for found in kept.list(THREAD)]
    return [(bool(each.get("attempt")), bool(each.get("learning"))) for each in reversed(values)]


async def test_a_turn_writes_its_answer_and_nothing_else() -> None:
    kept = InMemorySaver()
    graph = graph_of(model("5/6", "7/12"), kept)
    await ask(graph, "What is 1/2 + 1/3?")
    assert written(kept) == [(True, False)]
    said = await ask(graph, "What is 1/3 + 1/4?")
    assert written(kept) == [(True, False)] * 2
    assert [message.text for message in said] == ["What is 1/2 + 1/3?", "5/6", "What is 1/3 + 1/4?", "7/12"]


async def test_a_turn_without_an_answer_writes_nothing_and_spoils_nothing() -> None:
    kept = InMemorySaver()
    scripted = model("5/6", "7/12")
    graph = graph_of(scripted, kept)
    await ask(graph, "What is 1/2 + 1/3?")
    before = written(kept)
    with pytest.raises(ModelError):
        await ask(graph_of(ScriptedModel(solver=[ValueError("no")]), kept), "What is 1/4 + 1/5?")
    assert written(kept) == before
    said = await ask(graph, "What is 1/3 + 1/4?")
    assert [message.text for message in said] == ["What is 1/2 + 1/3?", "5/6", "What is 1/3 + 1/4?", "7/12"]


async def test_a_turn_interrupted_after_its_answer_resumes_with_the_same_ids() -> None:
    kept = InMemorySaver()
    graph = graph_of(model("5/6"), kept)
    context = ACEContext(learner_id="alice")
    question: ACEInput = {"messages": [HumanMessage("What is 1/2 + 1/3?")]}
    async for update in graph.astream(question, THREAD, context=context, durability="sync"):
        if "solver" in update:
            break
    (answered,) = [found.checkpoint["channel_values"] for found in kept.list(THREAD)]
    out = await graph.ainvoke(None, THREAD, context=context, durability="sync")
    assert out["messages"][-1].text == "5/6"
    assert out["learning"]["turn_id"] == answered["turn"]["turn_id"]


async def test_the_first_turn_reads_nothing_of_an_earlier_conversation() -> None:
    kept = InMemorySaver()
    await ask(graph_of(model("5/6"), kept), "What is 1/2 + 1/3?")
    said = await ask(graph_of(model("7/12"), kept), "What is 1/3 + 1/4?", BEGINNING)
    assert [message.text for message in said] == ["What is 1/3 + 1/4?", "7/12"]


async def test_a_listener_gets_the_answer_of_a_turn_that_ended_before_recovery() -> None:
    graph = graph_of(model("5/6"), InMemorySaver())
    asked = ChatRequest(message="What is 1/2 + 1/3?").model_dump_json(by_alias=True)
    turn = AcceptedTurn("r1", "c1", "alice", asked, thread_id="r1", known="nothing")
    await run_turn(graph, TurnWork(turn, LiveTurn("r1", "c1", "alice")))
    again = LiveTurn("r1", "c1", "alice")
    output = await run_turn(graph, TurnWork(replace(turn, known="turn"), again))
    again.complete(reply_of(output, "c1"))
    told = [event async for event in again.follow(0, 1.0) if event is not None]
    assert [event.name for event in told] == ["start", "token", "result", "done"]
    assert told[1].data == {"text": "5/6"}
