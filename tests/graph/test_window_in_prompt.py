"""The reflection window inside the solver's prompt."""

from __future__ import annotations

import json

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from ace_graph import ACEContext
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import Build, ask, said

ALICE = ACEContext(learner_id="alice", reflect_when="never")


def interactions(count: int) -> list[BaseMessage]:
    """A conversation of `count` questions, each with a tool call, its result and an answer."""
    return [
        message
        for n in range(1, count + 1)
        for message in (
            HumanMessage(f"query {n}"),
            AIMessage(content="", tool_calls=[{"name": "t", "args": {}, "id": f"c{n}", "type": "tool_call"}]),
            ToolMessage(f"result {n}", tool_call_id=f"c{n}"),
            AIMessage(f"answer {n}"),
        )
    ]


@pytest.mark.parametrize("count", [10, 50, 100])
async def test_the_prompt_has_one_size_whatever_the_history(build: Build, count: int) -> None:
    model = ScriptedModel(["<final>x</final>"])
    messages = [*interactions(count), HumanMessage("please tell me more about that thing")]
    await build(model).ainvoke(said(messages), context=ALICE)
    sent = model.calls[0].messages
    assert len(sent) == 1 + 5 * 4 + 1
    assert sent[1].text == f"query {count - 4}"


async def test_a_lesson_outlives_the_messages_it_came_from(build: Build) -> None:
    rule = "Denominators are never added when fractions are added"
    reply = json.dumps({"lessons": [{"content": rule}]})
    model = ScriptedModel(solver=["<final>5/6</final>", "<final>x</final>"], reflector=[reply])
    graph = build(model)
    await graph.ainvoke(ask(), context=ALICE.model_copy(update={"reflect_when": "always"}))
    messages = [*interactions(50), HumanMessage("What about adding fractions?")]
    await graph.ainvoke(said(messages), context=ALICE)
    prompt = model.calls_of("solver")[1].messages
    assert rule in prompt[0].text
    assert all("1/2" not in m.text for m in prompt[1:])


async def test_an_older_interaction_that_the_question_means_comes_back(build: Build) -> None:
    call = {"name": "run_command", "args": {"command": "pytest -q"}, "id": "old", "type": "tool_call"}
    old = [
        HumanMessage("please run the unit tests"),
        AIMessage(content="", tool_calls=[call]),
        ToolMessage("3 passed", tool_call_id="old"),
        AIMessage("All of them pass."),
    ]
    model = ScriptedModel(["<final>x</final>"] * 2)
    graph = build(model)
    for question in ("run the same command as before", "what is the next thing to do?"):
        messages = [*old, *interactions(9), HumanMessage(question)]
        await graph.ainvoke(said(messages), context=ALICE)
    meant, not_meant = ([m.text for m in call.messages[1:]] for call in model.calls)
    assert meant[:4] == ["please run the unit tests", "", "3 passed", "All of them pass."]
    assert len(meant) == len(not_meant) == 5 * 4 + 1, "it takes the place of the oldest"
    assert "3 passed" not in not_meant


async def test_long_tool_results_are_cut_in_the_prompt_and_kept_in_the_conversation(build: Build) -> None:
    messages = interactions(2)
    messages[2] = ToolMessage("x" * 5_000, tool_call_id="c1")
    model = ScriptedModel(["<final>x</final>"])
    out = await build(model).ainvoke(said([*messages, HumanMessage("and then?")]), context=ALICE)
    assert model.calls[0].messages[3].text == "x" * 2_000 + "... (truncated)"
    assert out["messages"][2].text == "x" * 5_000
