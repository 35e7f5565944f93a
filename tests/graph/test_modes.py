"""The three ways of reasoning, and their tools."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.prebuilt import ToolRuntime

from ace_graph import ACEContext
from ace_graph.base import Settings
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import Build, ask, said

ALICE = ACEContext(learner_id="alice", reflect_when="never")


async def test_react_calls_tools_and_keeps_them_paired_in_the_conversation(build: Build) -> None:
    call = AIMessage(
        content="",
        tool_calls=[{"name": "calculator", "args": {"expression": "12*5"}, "id": "c1", "type": "tool_call"}],
    )
    with ScriptedModel([call, "<final>60</final>"]) as model:
        out = await build(model).ainvoke(ask("calculate 12*5"), context=ALICE)
    human, asked, result, answer = out["messages"]
    assert isinstance(human, HumanMessage)
    assert isinstance(asked, AIMessage)
    assert asked.tool_calls[0]["name"] == "calculator"
    assert isinstance(result, ToolMessage)
    assert result.content == "60"
    assert result.tool_call_id == "c1"
    assert answer.content == "60"


async def test_react_stops_at_max_turns_with_an_answer(build: Build) -> None:
    def again(_: object) -> AIMessage:
        call = {"name": "calculator", "args": {"expression": "1+1"}, "id": "c", "type": "tool_call"}
        return AIMessage(content="", tool_calls=[call])

    with ScriptedModel([again] * 3) as model:
        out = await build(model).ainvoke(
            ask("calculate 1+1"), context=ALICE.model_copy(update={"max_turns": 3})
        )
    told = "I could not find an answer to this"
    assert out["messages"][-1].content.startswith(told)
    assert out["result"]["answer"] == out["messages"][-1].content
    assert len(model.calls_of("solver")) == 3


async def test_a_failing_and_a_missing_tool_are_messages_to_the_model(build: Build) -> None:
    @tool
    def broken_thing(x: int) -> str:
        """Breaks."""
        raise RuntimeError("the disk is on fire")

    calls = AIMessage(
        content="",
        tool_calls=[
            {"name": "broken_thing", "args": {"x": 1}, "id": "c1", "type": "tool_call"},
            {"name": "not_there", "args": {}, "id": "c2", "type": "tool_call"},
        ],
    )
    model = ScriptedModel([calls, "<final>sorry</final>"])
    out = await build(model, tools=[broken_thing]).ainvoke(ask("go", "react"), context=ALICE)
    told = [m.text for m in model.calls[1].messages if isinstance(m, ToolMessage)]
    assert "the disk is on fire" in told[0]
    assert "not_there" in told[1]
    assert out["messages"][-1].content == "sorry"


async def test_the_callers_tools_are_the_only_ones_that_are_offered(build: Build) -> None:
    model = ScriptedModel(["<final>60</final>"])
    context = ALICE.model_copy(update={"tool_names": ("calculator",)})
    out = await build(model).ainvoke(ask("calculate 12*5"), context=context)
    assert out["plan"].get("tool_names") == ["calculator"]
    assert model.calls[0].tool_names == ("calculator",)


async def test_a_web_search_without_its_key_is_told_and_the_turn_goes_on(build: Build) -> None:
    call = {"name": "web_search", "args": {"query": "otters"}, "id": "c1", "type": "tool_call"}
    model = ScriptedModel([AIMessage(content="", tool_calls=[call]), "<final>I can't look it up</final>"])
    out = await build(model).ainvoke(ask("search for otters", "react"), context=ALICE)
    assert "web_search" in out["plan"].get("tool_names", [])
    (told,) = [message.text for message in out["messages"] if isinstance(message, ToolMessage)]
    assert "set TAVILY_API_KEY" in told
    assert out["messages"][-1].content == "I can't look it up"


async def test_a_users_tool_gets_the_context_and_routes_by_its_name(build: Build) -> None:
    @tool
    def get_weather(city: str, runtime: ToolRuntime[ACEContext, Any]) -> str:  # Any: the state's type is open
        """Weather of a city."""
        return f"{runtime.context.learner_id}: sun in {city}"

    call = {"name": "get_weather", "args": {"city": "Oslo"}, "id": "c1", "type": "tool_call"}
    model = ScriptedModel([AIMessage(content="", tool_calls=[call]), "<final>sun</final>"])
    out = await build(model, tools=[get_weather]).ainvoke(ask("How is the weather in Oslo?"), context=ALICE)
    assert out["mode"] == "react"
    assert [m.text for m in out["messages"] if isinstance(m, ToolMessage)] == ["alice: sun in Oslo"]


async def test_tot_asks_about_the_latest_question_in_2_x_depth_plus_1_calls(build: Build) -> None:
    model = ScriptedModel(
        ["<thought>a</thought><thought>b</thought>", "1: 0.2\n2: 0.9"] * 3 + ["<final>b!</final>"]
    )
    messages = [
        {"role": "user", "content": "an old question"},
        {"role": "assistant", "content": "an old answer"},
        {"role": "user", "content": "the latest question"},
    ]
    context = ALICE.model_copy(update={"depth": 3, "breadth": 2})
    out = await build(model).ainvoke(said(messages, "tot"), context=context)
    assert len(model.calls) == 7
    assert "the latest question" in model.calls[0].messages[0].text
    assert "b\nb\nb" in model.calls[-1].messages[0].text
    assert out["result"]["answer"] == "b!"
    assert out["plan"]["breadth"] == 2


async def test_the_lines_that_tot_keeps_are_scored_beside_the_next_thoughts(
    build: Build, caplog: pytest.LogCaptureFixture
) -> None:
    model = ScriptedModel(
        [
            "<thought>draw it</thought><thought>estimate</thought>",
            "1: 0.8\n2: 0.9",
            "<thought>halve</thought><thought>double</thought>",
            "1: 0.1\n2: 0.2\n3: 0.7",
            "<final>x</final>",
        ]
    )
    context = ALICE.model_copy(update={"depth": 2, "breadth": 2})
    with caplog.at_level("INFO", "ace_graph"):
        settings = Settings().model_copy(update={"log_content": True})
        await build(model, settings=settings).ainvoke(ask("What is half of 7?", "tot"), context=context)
    scored = model.calls[3].messages[0].text
    assert "1: estimate\nhalve" in scored
    assert "2: estimate\ndouble" in scored
    assert "3: draw it" in scored, "the second best of the first level is kept"
    assert "draw it" in model.calls[4].messages[0].text, "and wins in the end"
    told = [line for line in caplog.messages if line.startswith("[ACE Thought] tot scores")]
    assert told == [
        "[ACE Thought] tot scores: 1: 0.80 2: 0.90",
        "[ACE Thought] tot scores: 1: 0.10 2: 0.20 3: 0.70",
    ]


async def test_cot_with_k_gives_the_most_frequent_answer(build: Build) -> None:
    model = ScriptedModel(["<final>4</final>", "<final>5</final>", "<final>4</final>"])
    out = await build(model).ainvoke(ask("2+2?"), context=ALICE.model_copy(update={"k": 3}))
    assert out["messages"][-1].content == "4"
    assert out["usage"]["solver"]["calls"] == 3


async def test_planner_defaults_and_the_callers_values(build: Build) -> None:
    out = await build(ScriptedModel(["<final>x</final>"])).ainvoke(ask("hi"), context=ALICE)
    assert out["plan"]["k"] == 1
    out = await build(ScriptedModel(["<final>x</final>"])).ainvoke(ask("calculate 1"), context=ALICE)
    assert out["plan"]["max_turns"] == 8
    assert "calculator" in out["plan"]["tool_names"]
