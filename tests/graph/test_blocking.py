"""Under ainvoke and astream nothing blocks the caller's event loop, the first turn included."""

# LangGraph leaves type arguments of its own classes open in the signatures used here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from blockbuster import BlockBuster, BlockingError, blockbuster_ctx
from langchain_core.messages import HumanMessage

from ace_graph import ACEContext, build_ace_graph
from ace_graph.agent import ACEInput, Resources
from ace_graph.base import Settings
from ace_graph.base.prompts import Prompts
from ace_graph.graph import ACEGraph, make_graph
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.testing import GeminiServer, ScriptedModel

ALICE = ACEContext(learner_id="alice")


def ask(text: str, mode: str | None = None) -> ACEInput:
    question: ACEInput = {"messages": [HumanMessage(text)]}
    if mode is not None:
        question["mode"] = mode
    return question


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings().model_copy(update={"model": "offline", "store": f"sqlite:///{tmp_path}/ace.db"})


@pytest.fixture
def watched() -> Iterator[BlockBuster]:
    """A blocking call on a thread that runs an event loop raises BlockingError."""
    with blockbuster_ctx() as watch:
        yield watch


@pytest.mark.usefixtures("watched")
async def test_a_blocking_call_would_be_seen() -> None:
    with pytest.raises(BlockingError):
        time.sleep(0)  # noqa: ASYNC251  the point of this test


@pytest.mark.parametrize("mode", ["cot", "tot", "react"])
async def test_no_turn_on_sqlite_blocks_the_loop(settings: Settings, mode: str) -> None:
    graph = build_ace_graph(settings=settings)
    context = ALICE.model_copy(update={"ground_truth": "60"})
    with blockbuster_ctx():
        first = await graph.ainvoke(ask("Call me Ada. Calculate 12*5.", mode), context=context)
        second = await graph.ainvoke(ask("Calculate 12*5.", mode), context=context)
    assert first["learning"]["added"], "the turn wrote to the database"
    assert second["result"]["injected"], "and the next one read it"
    assert second["learning"]["error"] is None


async def test_streaming_blocks_nothing_either(settings: Settings) -> None:
    graph = build_ace_graph(settings=settings)
    with blockbuster_ctx():
        events = [event async for event in graph.astream(ask("What is 1/2 + 1/3?"), context=ALICE)]
    assert [name for event in events for name in event] == [
        "router",
        "planner",
        "solver",
        "critic",
        "ace_learning",
    ]


async def test_the_first_turn_with_gemini_blocks_nothing(settings: Settings) -> None:
    with GeminiServer(default="<final>60</final>") as server:
        key = Settings.model_validate({"GEMINI_API_KEY": "any", "GOOGLE_GEMINI_BASE_URL": server.url})
        graph = build_ace_graph(settings=key.model_copy(update={"store": settings.store}))
        with blockbuster_ctx():
            out = await graph.ainvoke(ask("What is 12*5?"), context=ALICE)
    assert out["messages"][-1].content == "60"


async def test_a_model_is_made_away_from_the_loop() -> None:
    def slow(_name: str | None, _temperature: float | None) -> ScriptedModel:
        time.sleep(0)
        return ScriptedModel([])

    parts = Resources(Settings(), SQLiteStore(), slow, Prompts.load())
    with blockbuster_ctx():
        made = await parts.ready_model(ACEContext())
        assert await parts.ready_model(ACEContext()) is made


def as_langgraph_dev(watch: BlockBuster) -> None:
    """Allow what langgraph_runtime_inmem/queue.py allows: small files and folders, and locks."""
    allowed = (
        "io.BufferedReader.read",
        "io.TextIOWrapper.read",
        "os.listdir",
        "os.stat",
        "threading.Lock.acquire",
    )
    for name in allowed:
        watch.functions[name].deactivate()


async def test_the_factory_for_servers_blocks_nothing_that_they_refuse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ACE_STORE", f"sqlite:///{tmp_path}/ace.db")
    (tmp_path / ".env").write_text("ACE_MODEL=offline\n", encoding="utf-8")
    with blockbuster_ctx() as watch:
        as_langgraph_dev(watch)
        graph: ACEGraph = make_graph()
        out = await graph.ainvoke(ask("What is 12*5?"), context=ALICE)
    assert "60" in out["messages"][-1].text
