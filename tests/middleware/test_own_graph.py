"""`recall` and `learn` as nodes of a StateGraph that is not ours: checkpoints, interrupts, subgraphs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any, NotRequired

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph, add_messages
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from ace_graph import ACEContext
from ace_graph.agent import Learning, Resources
from ace_graph.hosts import Recall, build_memory, learn, recall
from ace_graph.memory.stores.sql import SQLiteStore

Graph = Any  # a compiled graph names its four own types
Saver = BaseCheckpointSaver[Any]  # Any: the saver's own versions


class State(TypedDict):
    """The state of a graph that knows nothing of ours but what was recalled."""

    messages: Annotated[list[AnyMessage], add_messages]
    recalled: NotRequired[Recall]
    learning: NotRequired[Learning]


Update = dict[str, object]


def _context(learner: str) -> ACEContext:
    return ACEContext(learner_id=learner, reflect_when="never")


def _graph(memory: Resources, saver: Saver | None, *, learner: str = "ada", asks: bool = False) -> Graph:
    async def remember(state: State) -> Update:
        return {"recalled": await recall(memory, state["messages"], _context(learner))}

    def answer(state: State) -> Update:
        assert "recalled" in state
        said = interrupt("May I?") if asks else "In grams." if "grams" in state["recalled"].text else "Hm."
        return {"messages": [AIMessage(said)]}

    async def note(state: State) -> Update:
        assert "recalled" in state
        return {"learning": await learn(memory, state["recalled"], state["messages"][-1].text)}

    graph = StateGraph(State)
    graph.add_node("remember", remember).add_node("answer", answer).add_node("note", note)
    graph.add_edge(START, "remember").add_edge("remember", "answer").add_edge("answer", "note")
    return graph.add_edge("note", END).compile(saver)


def _asked(text: str) -> State:
    return {"messages": [HumanMessage(text)]}


@pytest.fixture(params=["any types", "declared types only"])
def checked_types(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which types a checkpoint may hold. LangGraph reads LANGGRAPH_STRICT_MSGPACK when it is imported."""
    strict = request.param == "declared types only"
    monkeypatch.setattr("langgraph.checkpoint.serde._msgpack.STRICT_MSGPACK_ENABLED", strict)
    monkeypatch.setattr("langgraph._internal._serde.STRICT_MSGPACK_ENABLED", strict)


@pytest.fixture(params=["in memory", "in a file"])
async def saver(request: pytest.FixtureRequest, checked_types: None, tmp_path: Path) -> AsyncIterator[Saver]:
    if request.param == "in memory":
        yield InMemorySaver()
        return
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "checkpoints.db")) as kept:
        yield kept


async def test_a_checkpointer_keeps_what_was_recalled(saver: Saver) -> None:
    graph = _graph(build_memory("memory://"), saver)
    thread = {"configurable": {"thread_id": "1"}}
    told = await graph.ainvoke(_asked("Remember that I weigh flour in grams."), thread)
    assert len(told["learning"]["added"]) == 1
    out = await graph.ainvoke(_asked("How do I weigh flour?"), thread)
    assert out["messages"][-1].text == "In grams."
    kept = (await graph.aget_state(thread)).values["recalled"]
    assert isinstance(kept, Recall)
    assert kept == out["recalled"]


async def test_an_interrupted_run_learns_in_another_process(saver: Saver) -> None:
    store = SQLiteStore()
    thread = {"configurable": {"thread_id": "1"}}
    await _graph(build_memory(store), saver, asks=True).ainvoke(
        _asked("Remember that I like trains."), thread
    )
    assert await store.turns("ada") == ()
    another = _graph(build_memory(store), saver, asks=True)
    out = await another.ainvoke(Command(resume="Noted."), thread)
    assert (len(out["learning"]["added"]), out["learning"]["error"]) == (1, None)
    (turn,) = await store.turns("ada")
    assert turn.answer == "Noted."


async def test_a_subgraph_and_two_agents_of_one_learner_share_the_memory() -> None:
    store = SQLiteStore()
    memory = build_memory(store)
    inner = _graph(memory, None)

    async def other(state: State) -> Update:
        recalled = await recall(memory, "How do I weigh flour?", _context("ada"))
        learning = await learn(memory, recalled, "In grams.")
        return {"messages": [AIMessage(recalled.text)], "learning": learning}

    graph: Graph = StateGraph(State)
    graph.add_node("first", inner).add_node("second", other)
    graph.add_edge(START, "first").add_edge("first", "second").add_edge("second", END)
    thread = {"configurable": {"thread_id": "1"}}
    compiled = graph.compile(InMemorySaver())
    out = await compiled.ainvoke(_asked("Remember that I weigh flour in grams."), thread)
    assert "I weigh flour in grams" in out["messages"][-1].text
    assert [turn.answer for turn in await store.turns("ada")] == ["In grams.", "In grams."]


async def test_two_learners_in_one_graph_stay_apart(saver: Saver) -> None:
    memory = build_memory("memory://")
    for name in ("ada", "ben"):
        thread = {"configurable": {"thread_id": name}}
        await _graph(memory, saver, learner=name).ainvoke(_asked(f"Remember that {name} is me."), thread)
    recalled = await recall(memory, "Who is me?", _context("ada"))
    assert "ada is me" in recalled.text
    assert "ben" not in recalled.text
