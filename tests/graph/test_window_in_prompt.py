"""The reflection window inside the solver's prompt."""

from __future__ import annotations

import json
from itertools import islice, product

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from pydantic import ValidationError

from ace_graph import ACEContext, Settings
from ace_graph.memory.delta import Add
from ace_graph.memory.search import estimate_tokens
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import Build, CountingStore, ask, said

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


def lessons(count: int) -> list[Add]:
    """So many lessons on fractions, each with words of its own."""
    names = ["".join(word) for word in islice(product("bdfgk", "aeiou", "lmnrs", "aeiou"), 0, 5 * count, 5)]
    return [Add(content=f"Add fractions of {name} by {name[::-1]}", section="math") for name in names]


async def test_the_playbook_in_the_prompt_has_one_size_whatever_the_memory(
    build: Build, store: CountingStore
) -> None:
    async def shown(learner: str, budget: int) -> list[str]:
        model = ScriptedModel(["<final>x</final>"])
        context = ACEContext(
            learner_id=learner, reflect_when="never", retrieval_budget_tokens=budget, max_bullets_injected=50
        )
        await build(model).ainvoke(ask("How do I add fractions?"), context=context)
        block = model.calls[0].messages[0].text.partition("<playbook>\n")[2].partition("\n</playbook>")[0]
        return block.splitlines()

    await store.seed("few", *lessons(40))
    await store.seed("many", *lessons(120))
    few, many, roomy = await shown("few", 300), await shown("many", 300), await shown("many", 600)
    assert 3 < len(few) == len(many) < len(roomy) < 40
    assert max(estimate_tokens("\n".join(lines)) for lines in (few, many)) <= 300


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


async def test_long_tool_results_are_cut_in_the_prompt_only(build: Build) -> None:
    messages = interactions(2)
    messages[2] = ToolMessage("x" * 5_000, tool_call_id="c1")
    model = ScriptedModel(["<final>x</final>"])
    out = await build(model).ainvoke(said([*messages, HumanMessage("and then?")]), context=ALICE)
    assert model.calls[0].messages[3].text == "x" * 2_000 + "... (truncated)"
    assert out["messages"][2].text == "x" * 5_000


SHORT, PLAIN, DEMANDING = (
    "and then?",
    "please tell me more about that thing",
    "please implement this for me now",
)


@pytest.mark.parametrize(
    ("settings", "sizes"),
    [
        ({}, (3, 5, 7)),
        ({"window_size": 2}, (2, 2, 2)),
        ({"window_size": 2, "adaptive_window": False}, (2, 2, 2)),
        ({"adaptive_window": False}, (5, 5, 5)),
        ({"window_size": 8, "adaptive_window": True}, (6, 8, 10)),
        ({"window_size": 9, "adaptive_window": True}, (7, 9, 10)),
        ({"window_size": 4, "adaptive_window": True}, (3, 4, 6)),
        ({"window_min": 4, "window_max": 6}, (4, 5, 6)),
        ({"window_size": 4, "adaptive_window": True, "window_min": 0}, (2, 4, 6)),
        ({"window_size": 9, "adaptive_window": True, "window_max": 12}, (7, 9, 11)),
        ({"window_size": 1, "window_min": 4}, (1, 1, 1)),
        ({"window_max": 2}, (2, 2, 2)),
        ({"window_min": 12}, (12, 12, 12)),
        ({"window_size": "all"}, (15, 15, 15)),
    ],
)
async def test_size_bounds_and_question_decide_the_window(
    build: Build, settings: dict[str, int], sizes: tuple[int, int, int]
) -> None:
    context = ACEContext.model_validate({**ALICE.model_dump(), **settings})
    model = ScriptedModel(["<final>x</final>"] * 3)
    graph = build(model)
    for question in (SHORT, PLAIN, DEMANDING):
        await graph.ainvoke(said([*interactions(15), HumanMessage(question)]), context=context)
    found = [sum(m.text.startswith("query") for m in call.messages) for call in model.calls]
    assert tuple(found) == sizes


@pytest.mark.parametrize(
    ("settings", "run", "sizes"),
    [
        (Settings(window_size=2), {}, (2, 2, 2)),
        (Settings(window_size="all"), {}, (15, 15, 15)),
        (Settings(window_size="all"), {"window_size": 4}, (4, 4, 4)),
        (Settings(window_size=8, adaptive_window=True), {}, (6, 8, 10)),
        (Settings(window_size=8, adaptive_window=True), {"adaptive_window": False}, (8, 8, 8)),
        (Settings(window_size=8, adaptive_window=True), {"window_size": 2}, (2, 2, 2)),
        (Settings(adaptive_window=False), {}, (5, 5, 5)),
        (Settings(window_min=4, window_max=6), {}, (4, 5, 6)),
        (Settings(window_min=4, window_max=6), {"window_max": 5}, (4, 5, 5)),
    ],
)
async def test_the_settings_are_what_a_run_leaves_open(
    build: Build, settings: Settings, run: dict[str, int], sizes: tuple[int, int, int]
) -> None:
    context = ACEContext.model_validate({**ALICE.model_dump(), **run})
    model = ScriptedModel(["<final>x</final>"] * 3)
    graph = build(model, settings=settings)
    for question in (SHORT, PLAIN, DEMANDING):
        await graph.ainvoke(said([*interactions(15), HumanMessage(question)]), context=context)
    found = [sum(m.text.startswith("query") for m in call.messages) for call in model.calls]
    assert tuple(found) == sizes


def test_a_window_of_all_can_not_adapt() -> None:
    with pytest.raises(ValidationError, match="can't adapt: leave out adaptive_window"):
        ACEContext(window_size="all", adaptive_window=True)
    with pytest.raises(ValidationError, match="can't adapt"):
        Settings(window_size="all", adaptive_window=True)
    with pytest.raises(ValidationError, match="must be at least ACE_WINDOW_MIN"):
        Settings(window_min=8, window_max=7)


def test_bounds_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(ValidationError, match="window_min 8 is above window_max 7"):
        ACEContext(window_min=8, window_max=7)
    assert ACEContext(window_min=7, window_max=7).window_max == 7


async def test_plain_replies_are_in_the_window_and_in_the_conversation(build: Build) -> None:
    before = [HumanMessage("hi"), AIMessage("Hello, I am the tutor."), *interactions(1)]
    model = ScriptedModel(["<final>A plain reply.</final>", "<final>x</final>"])
    graph = build(model)
    out = await graph.ainvoke(said([*before, HumanMessage("who are you?")]), context=ALICE)
    out = await graph.ainvoke(said([*out["messages"], HumanMessage("and who am I?")]), context=ALICE)
    told = [m.text for m in model.calls[1].messages[1:]]
    assert told == [m.text for m in out["messages"][:-1]]
    assert told[:2] == ["hi", "Hello, I am the tutor."]
    assert told[-3:] == ["who are you?", "A plain reply.", "and who am I?"]
