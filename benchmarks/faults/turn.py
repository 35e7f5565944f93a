"""The turn that faults are put into: it loads, calls a tool, streams, is judged, reflects, and commits.

It states a fact about the learner, earns a vote for the bullet it cites and teaches one lesson, so that
whatever is lost or doubled is seen.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import cast

from langchain_core.messages import AIMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from pydantic import PrivateAttr

from ace_graph.agent.context import ACEContext
from ace_graph.agent.models.local import LocalModel, ModelCall
from ace_graph.agent.state import ACEInput, ACEOutput
from ace_graph.base.errors import StoreUnavailable
from ace_graph.base.settings import Settings
from ace_graph.graph import ACEGraph, build_ace_graph
from ace_graph.memory.commit import Commit, Pending
from ace_graph.memory.delta.operations import Add, Delta
from ace_graph.memory.evidence import Evidence
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.store import Store
from ace_graph.memory.turn import TurnRecord
from benchmarks.faults.fault import Fault, Point
from benchmarks.faults.store_proxy import StoreProxy

__all__ = [
    "ADVICE",
    "LESSON",
    "QUESTION",
    "STATEMENT",
    "FaultyModel",
    "FaultyStore",
    "graph_with",
    "look_up_with",
    "run",
    "seed",
]

ADVICE = "Fractions are added over a common denominator."
LESSON = "Sketch both fractions on one number line before adding."
STATEMENT = "Learner says: I like maps"
QUESTION = "Remember that I like maps. Look up how fractions are added over a common denominator."
NOW = datetime(2026, 1, 1, tzinfo=UTC)
_ADVICE_ID = "mat-00001"
_AFTER: dict[str, Point] = {
    "router": "after router",
    "planner": "after planner",
    "solver": "after solver",
    "critic": "after critic",
    "ace_learning": "after ace_learning",
}


class FaultyStore(StoreProxy):
    """A store whose load and commit may be struck. An error of a load is one of the store's own kind."""

    def __init__(self, inner: Store, fault: Fault) -> None:
        super().__init__(inner)
        self._fault = fault

    async def load(self, learner_id: str, known: Snapshot | None = None) -> Snapshot:
        _strike_store(self._fault, "load")
        return await super().load(learner_id, known)

    async def commit(
        self,
        learner_id: str,
        delta: Delta,
        base: Snapshot,
        record: TurnRecord | None = None,
        pending: Pending | None = None,
    ) -> Commit:
        _strike_store(self._fault, "before commit")
        done = await super().commit(learner_id, delta, base, record, pending)
        _strike_store(self._fault, "after commit")
        return done


def faulty(store: Store, fault: Fault) -> Store:
    """Return the store with a fault: a proxy hands all else on."""
    return cast("Store", FaultyStore(store, fault))


def _strike_store(fault: Fault, point: Point) -> None:
    try:
        fault.strike(point)
    except RuntimeError as error:
        raise StoreUnavailable(str(error)) from error


class FaultyModel(LocalModel):
    """Calls the tool, answers, teaches the lesson; may be struck in a call, in a stream, and reflecting."""

    _fault: Fault = PrivateAttr()

    @classmethod
    def with_fault(cls, fault: Fault) -> FaultyModel:
        model = cls()
        model._fault = fault
        return model

    @property
    def _llm_type(self) -> str:
        return "faulty"

    def reply(self, call: ModelCall) -> AIMessage:
        if call.role == "reflector":
            self._fault.strike("reflector")
            return AIMessage(json.dumps({"lessons": [{"content": LESSON}], "key_insight": "Sketch first."}))
        if call.tools and not isinstance(call.messages[-1], ToolMessage):
            self._fault.strike("model call")
            wanted = ToolCall(name="look_up", args={}, id="1", type="tool_call")
            return AIMessage(content="", tool_calls=[wanted])
        return AIMessage(f"<final>Over a common denominator.</final><used>{_ADVICE_ID}</used>")

    def pieces(self, text: str) -> list[str]:
        return cast("list[str]", _Struck(super().pieces(text), self._fault))


class _Struck:
    """Pieces of a stream, struck after the first one."""

    def __init__(self, pieces: list[str], fault: Fault) -> None:
        self._pieces, self._fault = pieces, fault

    def __iter__(self) -> Iterator[str]:
        for number, piece in enumerate(self._pieces):
            if number == 1:
                self._fault.strike("model stream")
            yield piece


def look_up_with(fault: Fault) -> BaseTool:
    """Return the tool of the turn."""

    @tool
    def look_up() -> str:
        """Look something up."""
        fault.strike("tool")
        return "denominators"

    return look_up


def graph_with(store: Store, fault: Fault, saver: BaseCheckpointSaver[str]) -> ACEGraph:
    """Return the graph of the turn."""

    def evaluator(_question: str, _answer: str, _context: ACEContext) -> Evidence:
        fault.strike("evaluator")
        return Evidence(source="evaluator", verdict="success")

    settings = Settings().model_copy(update={"mcp_config": None})
    return build_ace_graph(
        model=FaultyModel.with_fault(fault),
        store=faulty(store, fault),
        tools=[look_up_with(fault)],
        evaluator=evaluator,
        checkpointer=saver,
        settings=settings,
    )


async def seed(store: Store, learner: str) -> None:
    """Give the learner the advice that the turn will cite."""
    delta = Delta(op_id="seed", now=NOW, operations=(Add(content=ADVICE, section="math", sources=("cli",)),))
    await store.commit(learner, delta, await store.load(learner))


async def run(graph: ACEGraph, learner: str, fault: Fault, *, resume: bool = False) -> ACEOutput | None:
    """Run the turn, or go on with it where it stopped; return its output, None where there was nothing to do.

    Raises what the turn raises.
    """
    fault.task = asyncio.current_task()
    question: ACEInput = {"messages": [HumanMessage(QUESTION)]}
    thread: RunnableConfig = {"configurable": {"thread_id": learner}}
    context = ACEContext(learner_id=learner, reflect_when="always")
    if resume and not (await graph.aget_state(thread)).created_at:
        resume = False  # it stopped before anything was kept: the caller asks anew
    output: ACEOutput | None = None
    events = graph.astream(
        None if resume else question,
        thread,
        context=context,
        stream_mode=["updates", "values", "messages"],  # somebody reads along, so the model streams
        durability="sync",  # a step begins once the one before is on disk; a kill loses none of them
    )
    async for mode, event in events:
        if mode == "values":
            output = cast("ACEOutput", event)
        if mode != "updates":
            continue
        for node in cast("dict[str, object]", event):
            if node in _AFTER:
                fault.strike(_AFTER[node])
                await asyncio.sleep(0)
    return output
