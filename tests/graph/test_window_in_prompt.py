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
