"""Rounds of reflection: the question is answered again with the lessons, until the answer passes."""

from __future__ import annotations

import json
from typing import cast

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from ace_graph import ACEContext, Evidence, Settings
from ace_graph.memory.delta import Add
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import Build, CountingStore, ask

THREE = ACEContext(learner_id="alice", ground_truth="5/6", max_reflection_rounds=3)
UNTRIED = Settings().model_copy(update={"replay": False})
VAGUE, BETTER = "Take care with fractions", "Give both fractions one denominator before adding the tops"


def lessons(*contents: str) -> str:
    return json.dumps({"reasoning": "r", "lessons": [{"content": c} for c in contents]})


async def test_reflection_stops_when_the_new_answer_passes(build: Build, store: CountingStore) -> None:
    with ScriptedModel(
        solver=["<final>2/5</final>"],
        reflector=[lessons(VAGUE), lessons(BETTER)],
        retry=["<final>3/5</final>", "<final>5/6</final>"],
    ) as model:
        out = await build(model).ainvoke(ask(), context=THREE)
    assert [b.content for b in (await store.now("alice")).playbook.bullets()] == [BETTER]
    assert {role: used["calls"] for role, used in out["usage"].items()} == {
        "solver": 1,
        "reflector": 2,
        "retry": 2,
    }
    first, second = (call.messages[0].text for call in model.calls_of("retry"))
    assert f"<lessons>\n- {VAGUE}\n</lessons>" in first
    assert f"<lessons>\n- {BETTER}\n</lessons>" in second
    assert [call.messages[-1].text for call in model.calls_of("retry")] == ["What is 1/2 + 1/3?"] * 2
    asked_again = model.calls_of("reflector")[1].messages[-1].text
    assert "<new_answer>\n3/5\n</new_answer>" in asked_again
    assert "differs from the ground truth" in asked_again


async def test_the_learner_gets_the_first_answer_and_it_counts(build: Build, store: CountingStore) -> None:
    model = ScriptedModel(
        solver=["<final>2/5</final>"], reflector=[lessons(BETTER)], retry=["<final>5/6</final>"]
    )
    graph = build(model)
    events = [event async for event in graph.astream(ask(), context=THREE, stream_mode="messages")]
    shown = [cast("tuple[AIMessage, object]", event)[0] for event in events]
    assert "".join(message.text for message in shown) == "2/5"
    [bullet] = (await store.now("alice")).playbook.bullets()
    assert (bullet.helpful, bullet.harmful) == (1, 0), "the answer with it was right"
    [record] = store.calls.records
    assert record is not None
    assert (record.answer, record.verdict, record.calls) == ("2/5", "failure", 3)


async def test_a_retry_has_the_same_bullets_and_sends_no_event(
    build: Build, store: CountingStore, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "ace_graph")
    await store.seed("alice", Add(content="Fractions: name the whole first"))
    model = ScriptedModel(
        solver=["<final>2/5</final>"], reflector=[lessons(BETTER)], retry=["<final>5/6</final>"]
    )
    question = ask("fractions: what is 1/2 + 1/3?")
    told = [event async for event in build(model).astream(question, context=THREE, stream_mode="custom")]
    assert len(told) == 1
    assert sum("[Inject] Retrieved" in record.getMessage() for record in caplog.records) == 1
    assert "name the whole first" in model.calls_of("retry")[0].messages[0].text


@pytest.mark.parametrize(
    ("context", "answer"),
    [
        ({"max_reflection_rounds": 1}, "2/5"),
        ({}, "5/6"),
        ({"ground_truth": None, "reflect_when": "always"}, "2/5"),
    ],
    ids=["one round", "it was right", "nobody can judge"],
)
async def test_nothing_is_answered_again_without_need(
    build: Build, context: dict[str, object], answer: str
) -> None:
    with ScriptedModel(solver=[f"<final>{answer}</final>"], reflector=[lessons(BETTER)]) as model:
        out = await build(model, settings=UNTRIED).ainvoke(ask(), context=THREE.model_copy(update=context))
    assert "retry" not in out["usage"]


async def test_the_last_round_keeps_its_lessons_without_a_new_answer(
    build: Build, store: CountingStore
) -> None:
    with ScriptedModel(
        solver=["<final>2/5</final>"],
        reflector=[lessons(VAGUE), lessons(BETTER)],
        retry=["<final>3/5</final>"],
    ) as model:
        await build(model, settings=UNTRIED).ainvoke(
            ask(), context=THREE.model_copy(update={"max_reflection_rounds": 2})
        )
    assert [b.content for b in (await store.now("alice")).playbook.bullets()] == [BETTER]


async def test_an_unreadable_reply_takes_a_round_and_the_lessons_before_it_stay(
    build: Build, store: CountingStore
) -> None:
    with ScriptedModel(
        solver=["<final>2/5</final>"],
        reflector=["no JSON", lessons(BETTER), "no JSON"],
        retry=["<final>3/5</final>"],
    ) as model:
        out = await build(model, settings=UNTRIED).ainvoke(ask(), context=THREE)
    assert [b.content for b in (await store.now("alice")).playbook.bullets()] == [BETTER]
    assert out["learning"]["error"] is None


async def test_nothing_to_learn_ends_the_rounds(build: Build) -> None:
    with ScriptedModel(solver=["<final>2/5</final>"], reflector=[lessons()]) as model:
        out = await build(model).ainvoke(ask(), context=THREE)
    assert out["learning"]["added"] == []


class Broken:
    """Tells no number of tokens the second time it is asked, as a host's own counter might."""

    def __init__(self) -> None:
        self.broken = False

    def __call__(self, text: str) -> int:
        if self.broken:
            raise ValueError("no idea how long this is")
        return len(text)


@pytest.mark.parametrize("what", ["the model", "the host"])
async def test_a_retry_that_fails_keeps_the_lessons(build: Build, store: CountingStore, what: str) -> None:
    count = Broken()

    def reflect(_: object) -> str:
        count.broken = what == "the host"
        return lessons(BETTER)

    await store.seed("alice", Add(content="Fractions: name the whole first"))
    model = ScriptedModel(solver=["<final>2/5</final>"], reflector=[reflect], retry=[RuntimeError("down")])
    out = await build(model, count_tokens=count).ainvoke(ask("fractions: 1/2 + 1/3?"), context=THREE)
    assert [b.content for b in (await store.now("alice")).playbook.bullets()][1:] == [BETTER]
    assert out["learning"]["error"] is None
    assert out["messages"][-1].content == "2/5"


async def test_an_evaluator_judges_a_new_answer_too(build: Build) -> None:
    seen = list[str]()

    def judge(question: str, answer: str, context: ACEContext) -> Evidence:
        seen.append(answer)
        return Evidence(source="evaluator", verdict="success" if answer == "5/6" else "failure", text="no")

    with ScriptedModel(
        solver=["<final>2/5</final>"], reflector=[lessons(BETTER)], retry=["<final>5/6</final>"]
    ) as model:
        context = THREE.model_copy(update={"ground_truth": None})
        await build(model, evaluator=judge).ainvoke(ask(), context=context)
    assert seen == ["2/5", "5/6"]


async def test_a_lesson_that_holds_the_truth_is_not_shown_to_the_solver(build: Build) -> None:
    model = ScriptedModel(
        solver=["<final>2/5</final>"],
        reflector=[lessons("The sum of one half and one third is 10/12", VAGUE)],
        retry=["<final>5/6</final>"],
    )
    await build(model).ainvoke(ask(), context=THREE)
    [call] = model.calls_of("retry")
    assert f"<lessons>\n- {VAGUE}\n</lessons>" in call.messages[0].text


async def test_tools_are_not_run_again_for_a_retry(build: Build) -> None:
    sent = list[str]()

    @tool
    def send_mail(text: str) -> str:
        """Send a mail."""
        sent.append(text)
        return "sent"

    call = AIMessage(content="", tool_calls=[{"name": "send_mail", "args": {"text": "a"}, "id": "1"}])
    with ScriptedModel(
        solver=[call, "<final>2/5</final>"],
        reflector=[lessons(BETTER)],
        retry=[call, "<final>5/6</final>"],
    ) as model:
        out = await build(model, tools=[send_mail]).ainvoke(ask(mode="react"), context=THREE)
    assert sent == ["a"]
    assert [m.type for m in out["messages"]] == ["human", "ai", "tool", "ai"]


@pytest.mark.parametrize("rounds", [1, 3, 5])
async def test_replies_that_cannot_be_read_end_with_the_rounds(build: Build, rounds: int) -> None:
    context = THREE.model_copy(update={"max_reflection_rounds": rounds})
    with ScriptedModel(solver=["<final>2/5</final>"], reflector=["{broken"] * rounds) as model:
        out = await build(model).ainvoke(ask(), context=context)
    assert out["learning"]["error"] is not None
    assert "no usable reply" in out["learning"]["error"]
    assert out["usage"]["reflector"]["calls"] == rounds, "what nothing came of was paid for, too"


async def test_a_model_that_is_lost_in_a_later_round_costs_no_lesson(
    build: Build, store: CountingStore
) -> None:
    with ScriptedModel(
        solver=["<final>2/5</final>"],
        reflector=[lessons(BETTER), RuntimeError("down"), RuntimeError("down")],
        retry=["<final>3/5</final>"],
    ) as model:
        out = await build(model, settings=UNTRIED).ainvoke(ask(), context=THREE)
    assert [b.content for b in (await store.now("alice")).playbook.bullets()] == [BETTER]
    assert out["learning"]["error"] is None


async def test_a_fenced_reply_after_a_broken_one_is_read(build: Build, store: CountingStore) -> None:
    fenced = f"Here it is:\n```json\n{lessons(BETTER)}\n```"
    model = ScriptedModel(solver=["<final>5/6</final>"], reflector=["{broken", fenced])
    await build(model).ainvoke(ask(), context=THREE)
    assert [b.content for b in (await store.now("alice")).playbook.bullets()] == [BETTER]
