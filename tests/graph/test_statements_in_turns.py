"""Statements, requests to forget and objections in whole turns: what the model is told, what is stored."""

from __future__ import annotations

import json
import re
from typing import Any, cast

import pytest
from langchain_core.messages import BaseMessage, HumanMessage

from ace_graph import ACEContext, build_ace_graph
from ace_graph.agent import LearningMode
from ace_graph.agent.offline_tutor import OfflineTutor
from ace_graph.learning.statements import Statement, read_statements
from ace_graph.memory import Evidence
from ace_graph.memory.delta import Add
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import Build, CountingStore, ask, said

ALICE = ACEContext(learner_id="alice")
NAME = Add(content="Learner says: Call me Sam", section="profile", slot="name")
LESSON = Add(content="Draw fractions as bars", section="math")
CLEAR = "Delete my data."


def _told(model: ScriptedModel, call: int = -1) -> list[dict[str, str]]:
    """The changes that the solver's prompt names."""
    system = model.calls_of("solver")[call].messages[0].text
    _, _, rest = system.partition("<memory_changes>\n")
    block, _, _ = rest.partition("\n</memory_changes>")
    return [json.loads(line) for line in block.splitlines()]


async def test_the_prompt_lists_kept_and_refused_statements(build: Build, store: CountingStore) -> None:
    model = ScriptedModel(solver=["<final>fine</final>"], reflector=['{"lessons": []}'])
    message = (
        "I'm 10 years old. I have 2 brothers. Forget my name. Remember that my password is hunter2-Xq9!zR7."
    )
    out = await build(model).ainvoke(ask(message), context=ALICE)
    kept, passing, forget, secret = _told(model)
    assert kept == {"kept": "I'm 10 years old"}
    assert passing["not_kept"] == "I have 2 brothers"
    assert "remember that" in passing["why"]
    assert forget["not_forgotten"] == "my name"
    assert "kept back" in secret["why"], "what is quarantined is not told as kept"
    active = [b.content for b in (await store.now("alice")).playbook.bullets() if b.status == "active"]
    assert active == ["Learner says: I'm 10 years old"]
    assert len(out["learning"]["quarantined"]) == 1


async def test_a_forgotten_name_is_confirmed_and_removed(build: Build, store: CountingStore) -> None:
    await store.seed("alice", NAME)
    model = ScriptedModel(solver=["<final>fine</final>"], reflector=['{"lessons": []}'])
    await build(model).ainvoke(ask("Forget my name."), context=ALICE)
    assert _told(model) == [{"forgotten": "Call me Sam"}]
    assert len((await store.now("alice")).playbook) == 0


@pytest.mark.parametrize(
    ("context", "why"),
    [
        (ALICE.model_copy(update={"learning": "off"}), "learning is off in this conversation"),
        (ACEContext(), "there is no memory in this conversation"),
    ],
    ids=["off", "nobody"],
)
async def test_the_prompt_says_when_nothing_is_stored(
    build: Build, store: CountingStore, context: ACEContext, why: str
) -> None:
    await store.seed("alice", NAME)
    model = ScriptedModel(solver=["<final>fine</final>"])
    graph = build(model)
    await graph.ainvoke(ask("Call me Tom. Forget my name."), context=context)
    assert {line["why"] for line in _told(model)} == {why}
    out = await graph.ainvoke(ask(CLEAR), context=context)
    assert out["messages"][-1].content == f"Nothing is forgotten: {why}."
    assert store.calls.commits == []


async def test_an_ordinary_question_adds_nothing_to_the_prompt(build: Build) -> None:
    model = ScriptedModel(solver=["<final>5/6</final>"], reflector=['{"lessons": []}'])
    await build(model).ainvoke(ask(), context=ALICE)
    system = model.calls_of("solver")[0].messages[0].text
    assert "\n<memory_changes>" not in system
    assert "\n<check>" not in system


@pytest.mark.parametrize("learning", ["inline", "background"])
async def test_everything_is_forgotten_after_one_yes(
    build: Build, store: CountingStore, learning: str
) -> None:
    await store.seed("alice", NAME, LESSON)
    graph = build(ScriptedModel())
    context = ALICE.model_copy(update={"learning": learning})
    asked = await graph.ainvoke(ask(CLEAR), context=context)
    assert "all 2 things" in asked["messages"][-1].content
    assert len((await store.now("alice")).playbook) == 2, "asked, not done"
    assert asked["learning"]["pending"] is None, "nothing is left to learn from it"
    later = [*asked["messages"], HumanMessage("yes")]
    done = await graph.ainvoke(said(later), context=context)
    assert "I have forgotten all 2 things" in done["messages"][-1].content
    now = await store.now("alice")
    assert len(now.playbook) == 0
    assert now.access.recent_turns == ()
    assert sorted(done["learning"]["removed"]) == ["mat-00002", "pro-00001"]
    assert [op.op for op in store.calls.commits[-1].operations] == ["reset"], "in the turn's own commit"
    again = await build(ScriptedModel(solver=["<final>hm</final>"])).ainvoke(said(later), context=context)
    assert again["messages"][-1].content == "hm", "the same yes does nothing twice"


async def test_a_no_forgets_nothing_and_the_model_answers(build: Build, store: CountingStore) -> None:
    await store.seed("alice", NAME)
    model = ScriptedModel(solver=["<final>fine</final>"])
    graph = build(model)
    asked = await graph.ainvoke(ask(CLEAR), context=ALICE)
    out = await graph.ainvoke(said([*asked["messages"], HumanMessage("no")]), context=ALICE)
    assert out["messages"][-1].content == "fine"
    assert out["learning"]["feedback"] is None
    assert len((await store.now("alice")).playbook) == 1


async def test_a_yes_to_another_learners_question_forgets_nothing(build: Build, store: CountingStore) -> None:
    await store.seed("alice", NAME)
    await store.seed("bob", NAME)
    graph = build(ScriptedModel(solver=["<final>hm</final>"]))
    asked = await graph.ainvoke(ask(CLEAR), context=ALICE)
    bob = ACEContext(learner_id="bob")
    out = await graph.ainvoke(said([*asked["messages"], HumanMessage("yes")]), context=bob)
    assert out["messages"][-1].content == "hm"
    assert len((await store.now("bob")).playbook) == 1


async def test_a_held_back_answer_of_the_program_is_shown(build: Build, store: CountingStore) -> None:
    await store.seed("alice", NAME)
    context = ALICE.model_copy(update={"max_revisions": 1})
    stream = build(ScriptedModel()).astream(ask(CLEAR), context=context, stream_mode="messages")
    shown = [cast("tuple[BaseMessage, object]", event)[0].text async for event in stream]
    assert "".join(shown).endswith("about you?")


def _objection(question: str, answer: str, text: str) -> list[HumanMessage | dict[str, str]]:
    return [HumanMessage(question), {"role": "assistant", "content": answer}, HumanMessage(text)]


async def test_a_wrong_objection_is_no_vote_and_no_lesson(build: Build, store: CountingStore) -> None:
    await store.seed(
        "alice", Add(content="Multiplying: what is 7 x 8 comes from 7 x 7 plus 7", section="math")
    )
    model = ScriptedModel(
        solver=["<final>56</final><used>mat-00001</used>", "<final>It is 56.</final>"],
        reflector=['{"lessons": []}'],
    )
    graph = build(model)
    await graph.ainvoke(ask("What is 7 x 8?"), context=ALICE)
    later = _objection("What is 7 x 8?", "56", "That's wrong, it's 54")
    out = await graph.ainvoke(said(later), context=ALICE)
    assert out["learning"]["feedback"]["verdict"] == "unknown"
    [bullet] = (await store.now("alice")).playbook.bullets()
    assert (bullet.helpful, bullet.harmful) == (1, 0), "the check is evidence for what the answer followed"
    system = model.calls_of("solver")[1].messages[0].text
    told = json.loads(system.partition("<check>\n")[2].partition("\n</check>")[0])
    assert told == {
        "answer_before": "right",
        "by": "calculator",
        "calculation": "7 × 8",
        "value": "56",
        "learner_says": "54",
    }


async def test_what_the_evaluator_passed_is_defended(build: Build, store: CountingStore) -> None:
    await store.seed("alice", Add(content="Napoleon was Emperor of the French", section="facts"))
    model = ScriptedModel(
        solver=["<final>An emperor.</final><used>fac-00001</used>", "<final>He was.</final>"],
        reflector=['{"lessons": []}'],
    )

    def passes(question: str, _answer: str, _context: ACEContext) -> Evidence | None:
        right = question.startswith("who")
        return Evidence(source="evaluator", verdict="success", by="host") if right else None

    graph = build(model, evaluator=passes)
    await graph.ainvoke(ask("who was Napoleon?"), context=ALICE)
    out = await graph.ainvoke(
        said(_objection("who was Napoleon?", "An emperor.", "that's wrong")), context=ALICE
    )
    assert out["learning"]["feedback"]["verdict"] == "unknown"
    [bullet] = (await store.now("alice")).playbook.bullets()
    assert (bullet.helpful, bullet.harmful) == (1, 0)
    assert '"by": "evaluator"' in model.calls_of("solver")[1].messages[0].text


async def test_a_platitude_is_refused_whoever_wrote_it(build: Build, store: CountingStore) -> None:
    fact = "Napoleon was Emperor of the French"
    reply = {
        "key_insight": "Always verify facts before responding.",
        "lessons": [
            {"content": "Check the result of questions like this in a second way"},
            {"content": fact},
        ],
    }
    model = ScriptedModel(
        solver=["<final>I don't know.</final>", "<final>I see.</final>"],
        reflector=['{"lessons": []}', json.dumps(reply)],
    )
    graph = build(model)
    await graph.ainvoke(ask("who was napoleon?"), context=ALICE)
    later = _objection("who was napoleon?", "I don't know.", "That's wrong, it is a famous emperor")
    out = await graph.ainvoke(said(later), context=ALICE)
    now = await store.now("alice")
    assert [b.content for b in now.playbook.bullets()] == [fact]
    assert now.playbook.reflections == ()
    [refused] = out["learning"]["rejected"]
    assert "fits any question" in refused["why"]


@pytest.mark.parametrize("learning", ["inline", "background"])
async def test_a_message_is_read_once_in_a_turn(
    learning: LearningMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The prompt, the commit, and the words that bullets keep of the message are made of one reading."""
    read = list[str]()

    def counted(text: str, *others: Any) -> list[Statement]:  # Any: what the function takes
        read.append(text)
        return read_statements(text, *others)

    for name in ("reading", "turn_source", "model_facts"):
        monkeypatch.setattr(f"ace_graph.learning.statements.{name}.read_statements", counted)
    graph = build_ace_graph(model=OfflineTutor(), store="memory://", learning=learning)
    context = ACEContext(learner_id="mia", reflect_when="always")
    message = "My name is Mia and I like pictures. What is 1/2 + 1/3?"
    out = await graph.ainvoke(ask(message), context=context)
    assert out["learning"]["error"] is None
    assert len(out["learning"]["added"]) == 2
    assert read == [message]


async def test_where_a_learner_lived_before_is_told_and_can_be_forgotten(
    build: Build, store: CountingStore
) -> None:
    said_in_turn = ["I live in Berlin.", "I live in Rome.", "How are you?", "Forget that I live in Berlin."]
    count = len(said_in_turn)
    model = ScriptedModel(solver=["<final>fine</final>"] * count, reflector=['{"lessons": []}'] * count)
    graph = build(model)
    for message in said_in_turn:
        await graph.ainvoke(ask(message), context=ALICE)
    assert re.search(r"I live in Rome \(said [\d-]+; before: Berlin\)", model.calls_of("solver")[2].prompt)
    assert _told(model) == [{"forgotten": "I live in Berlin"}]
    [rome] = (await store.now("alice")).playbook.bullets()
    assert (rome.content, rome.before) == ("Learner says: I live in Rome", ())


async def test_a_value_that_was_a_mistake_is_none_of_the_past(build: Build, store: CountingStore) -> None:
    model = ScriptedModel(solver=["<final>fine</final>"] * 2, reflector=['{"lessons": []}'] * 2)
    graph = build(model)
    first = [HumanMessage("My name is Mia.")]
    out = await graph.ainvoke({"messages": [*first]}, context=ALICE)
    await graph.ainvoke({"messages": [*out["messages"], HumanMessage("I meant Mara.")]}, context=ALICE)
    [name] = (await store.now("alice")).playbook.bullets()
    assert (name.content, name.before) == ("Learner says: My name is Mara", ())
