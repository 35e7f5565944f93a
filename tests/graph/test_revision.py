"""A revision: the first answer counts, what a tool did is not done again, the truth stays with the critic."""

from __future__ import annotations

import json
from typing import cast

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver

from ace_graph import ACEContext, Evidence
from ace_graph.memory.delta import Add
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import Build, CountingStore, ask, thread

REVISED = ACEContext(learner_id="alice", reflect_when="never", ground_truth="60", max_revisions=1)
RULE = "Multiply twelve by tens and ones"


def calling(name: str, **args: object) -> AIMessage:
    return AIMessage(content="", tool_calls=[{"name": name, "args": args, "id": f"{name}-{args}"}])


class Bench:
    """Two tools that note what they were called with; only `lookup` may be called again."""

    def __init__(self) -> None:
        self.mails: list[str] = []
        self.lookups: list[str] = []

    def tools(self) -> list[BaseTool]:
        @tool
        def send_mail(text: str) -> str:
            """Send a mail."""
            self.mails.append(text)
            return f"sent {text}"

        @tool
        def lookup(word: str) -> str:
            """Look a word up."""
            self.lookups.append(word)
            return f"{word} is there"

        lookup.metadata = {"idempotent": True}
        return [send_mail, lookup]


def results_in(messages: list[BaseMessage]) -> list[str]:
    return [m.text for m in messages if isinstance(m, ToolMessage)]


async def test_tool_results_are_reused_and_only_idempotent_tools_run_again(build: Build) -> None:
    bench = Bench()
    model = ScriptedModel(
        [
            calling("send_mail", text="a"),
            calling("lookup", word="x"),
            "<final>12</final>",
            AIMessage(
                content="",
                tool_calls=[
                    {"name": "send_mail", "args": {"text": "a"}, "id": "1"},
                    {"name": "send_mail", "args": {"text": "b"}, "id": "2"},
                    {"name": "lookup", "args": {"word": "x"}, "id": "3"},
                    {"name": "calculator", "args": {"expression": "12*5"}, "id": "4"},
                ],
            ),
            "<final>60</final>",
        ]
    )
    out = await build(model, tools=bench.tools()).ainvoke(ask("12*5?", "react"), context=REVISED)
    assert (bench.mails, bench.lookups) == (["a"], ["x", "x"])
    assert results_in(list(model.calls[3].messages)) == ["sent a", "x is there"], "the revision knows them"
    told = {m.tool_call_id: m for m in model.calls[4].messages if isinstance(m, ToolMessage)}
    assert told["1"].text == "sent a"
    assert told["2"].status == "error"
    assert "once a turn" in told["2"].text
    assert (told["3"].text, told["4"].text) == ("x is there", "60")
    assert out["result"]["answer"] == out["messages"][-1].content == "60"


async def test_the_conversation_has_every_call_with_its_result_and_the_answer(
    build: Build,
) -> None:
    model = ScriptedModel(
        [
            calling("lookup", word="x"),
            "<final>12</final>",
            calling("lookup", word="y"),
            "<final>60</final>",
            "<final>ok</final>",
        ]
    )
    graph = build(model, tools=Bench().tools(), checkpointer=InMemorySaver())
    events = [
        event
        async for event in graph.astream(
            ask("12*5?", "react"), thread("t"), context=REVISED, stream_mode="messages"
        )
    ]
    shown = [cast("tuple[AIMessageChunk, object]", event)[0] for event in events]
    assert "".join(m.text for m in shown) == "60"
    messages = (await graph.aget_state(thread("t"))).values["messages"]
    assert [m.type for m in messages] == ["human", "ai", "tool", "ai", "tool", "ai"]
    assert messages[-1].content == "60"
    assert {m.id for m in shown} == {messages[-1].id}
    quiet = REVISED.model_copy(update={"ground_truth": None})
    out = await graph.ainvoke(ask("thanks"), thread("t"), context=quiet)
    assert len(out["messages"]) == 8


async def test_a_call_that_was_refused_is_no_evidence(build: Build) -> None:
    @tool
    def check(value: int) -> str:
        """Check a value."""
        if value != 60:
            raise ValueError("wrong")
        return "right"

    check.metadata = {"evidence": True}
    model = ScriptedModel(
        [calling("check", value=12), "<final>12</final>", calling("check", value=60), "<final>60</final>"]
    )
    context = REVISED.model_copy(update={"ground_truth": None})
    out = await build(model, tools=[check]).ainvoke(ask("12*5?", "react"), context=context)
    assert out["result"]["first"] == {"answer": "12", "verdict": "failure"}
    assert (out["result"]["answer"], out["result"]["verdict"]) == ("60", "unknown")
    check.metadata = {"evidence": True, "idempotent": True}
    model = ScriptedModel(
        [calling("check", value=12), "<final>12</final>", calling("check", value=60), "<final>60</final>"]
    )
    out = await build(model, tools=[check]).ainvoke(ask("12*5?", "react"), context=context)
    assert out["result"]["verdict"] == "success"


async def test_the_first_answer_counts_for_votes_and_for_accuracy(build: Build, store: CountingStore) -> None:
    await store.seed(
        "alice", Add(content=RULE, section="math"), Add(content="Twelve times five: halve sixty twice")
    )
    model = ScriptedModel(
        ["<final>15</final><used>gen-00002</used>", "<final>60</final><used>mat-00001</used>"]
    )
    out = await build(model).ainvoke(ask("multiply twelve times five"), context=REVISED)
    assert set(out["result"]["injected"]) == {"mat-00001", "gen-00002"}
    assert out["result"]["verdict"] == "success"
    assert out["result"]["first"] == {"answer": "15", "verdict": "failure"}
    helped, failed = (await store.now("alice")).playbook.bullets()
    assert (helped.helpful, helped.harmful) == (0, 0)
    assert (failed.helpful, failed.harmful) == (0, 1)
    [record] = store.calls.records
    assert record is not None
    assert (record.verdict, record.status, record.answer) == ("failure", "success", "60")
    assert (await store.now("alice")).access.recent_turns[-1].verdict == "failure"


async def test_without_a_revision_the_first_answer_is_the_answer(build: Build) -> None:
    out = await build(ScriptedModel(["<final>60</final>"])).ainvoke(ask("12*5?"), context=REVISED)
    assert out["result"]["first"] == {"answer": "60", "verdict": "success"}


async def test_of_two_revisions_the_first_answer_still_counts(build: Build) -> None:
    model = ScriptedModel(["<final>1</final>", "<final>2</final>", "<final>60</final>"])
    context = REVISED.model_copy(update={"max_revisions": 3})
    out = await build(model).ainvoke(ask("12*5?"), context=context)
    assert out["result"]["first"]["answer"] == "1"
    assert out["usage"]["solver"]["calls"] == 3
    assert [m.text for m in out["messages"]] == ["12*5?", "60"]


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("it should be 60", False),
        ("it should be 60.0!", False),
        ("you forgot the tens", True),
        ("160 is too much", True),
    ],
)
async def test_no_critique_quotes_the_truth_not_even_an_evaluators(
    build: Build, said: str, kept: bool
) -> None:
    def judge(question: str, answer: str, context: ACEContext) -> Evidence:
        return Evidence(source="evaluator", verdict="failure", text=said)

    model = ScriptedModel(["<final>12</final>", "<final>60</final>"])
    await build(model, evaluator=judge).ainvoke(ask("12*5?"), context=REVISED)
    prompt = model.calls[1].messages[0].text
    assert (said in prompt) == kept
    assert ("not right" in prompt) != kept


async def test_the_reflector_sees_the_counted_answer_and_its_outcome(build: Build) -> None:
    model = ScriptedModel(
        solver=["<final>first 12</final>", "<final>then 60</final>"],
        reflector=[json.dumps({"lessons": [{"content": "Count the tens before the ones"}]})],
    )
    context = REVISED.model_copy(update={"reflect_when": "always"})
    out = await build(model).ainvoke(ask("12*5?"), context=context)
    prompt = model.calls_of("reflector")[0].messages[0].text
    assert "<answer>\nfirst 12\n\nAfter a critique:\nthen 60\n</answer>" in prompt
    evidence = prompt.partition("<evidence>\n{")[2]
    assert evidence.index("differs from the ground truth") < evidence.index("After a critique")
    assert "matches the ground truth" in evidence
    assert len(out["learning"]["added"]) == 1
    assert out["learning"]["tagged"] == [], "a lesson of a first answer that failed has no vote"
