"""A chat without any labels learns from its corrections."""

from __future__ import annotations

import json

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from ace_graph import ACEContext
from ace_graph.agent.offline_tutor import OfflineTutor
from ace_graph.base import StoreUnavailable
from ace_graph.memory import Amend, Bullet, TurnRecord
from ace_graph.memory.delta import Add, Restore
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import Build, CountingStore, ask, said, thread

ALICE = ACEContext(learner_id="alice")
RULE = "To add fractions, find the common denominator before adding the tops"


def lessons(*contents: str, **fields: object) -> str:
    return json.dumps({"reasoning": "r", "lessons": [{"content": c} for c in contents], **fields})


async def archived(store: CountingStore, bullet_id: str) -> Bullet:
    """The bullet as it was when it was superseded."""
    history = await store.history("alice")
    changes = [change for entry in history.entries if entry.effect for change in entry.effect.changes]
    [found] = [c for c in changes if c.kind == "archived" and c.bullet.id == bullet_id]
    assert found.why == "superseded"
    return found.bullet


async def test_a_correction_blames_the_cited_bullets_and_teaches(build: Build, store: CountingStore) -> None:
    await store.seed(
        "alice",
        Add(content="Adding fractions: add the tops and add the bottoms", section="math"),
        Add(content="Adding fractions can be drawn as bars", section="math"),
    )
    model = ScriptedModel(
        solver=["<final>2/5</final><used>mat-00001</used>", "<final>You are right, 5/6.</final>"],
        reflector=[lessons(), lessons(RULE)],
    )
    graph = build(model)
    question = {"role": "user", "content": "adding fractions: 1/2 + 1/3?"}
    first = await graph.ainvoke(said([question]), context=ALICE)
    later = [
        question,
        {"role": "assistant", "content": "2/5"},
        {"role": "user", "content": "that's wrong, it is 5/6"},
    ]
    second = await graph.ainvoke(said(later), context=ALICE.model_copy(update={"conversation_id": "other"}))
    assert second["learning"]["feedback"] == {"turn_id": first["learning"]["turn_id"], "verdict": "failure"}
    bystander, new = (await store.now("alice")).playbook.bullets()
    assert second["learning"]["superseded"] == [{"kept": new.id, "gone": "mat-00001"}]
    blamed = await archived(store, "mat-00001")
    assert (blamed.harmful, bystander.harmful) == (1, 0)
    assert new.content == RULE
    assert (new.examples, new.sources) == ((first["learning"]["turn_id"],), ("evidence: learner failure",))
    records = {turn.turn_id: turn for turn in await store.turns("alice", 10)}
    wrong = records[first["learning"]["turn_id"]]
    assert (wrong.verdict, wrong.status) == ("failure", "failure")
    assert [(each.verdict, each.text, each.by) for each in wrong.feedback] == [
        ("failure", "that's wrong, it is 5/6", "learner")
    ]
    prompt = model.calls_of("reflector")[1].messages[0].text
    assert "corrected value: 5/6" in prompt
    assert "adding fractions: 1/2 + 1/3?" in prompt


async def test_feedback_that_is_not_in_the_record_counts_all_the_same(
    build: Build, store: CountingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.seed("alice", Add(content=RULE, section="math"))
    model = ScriptedModel(solver=["<final>2/5</final><used>mat-00001</used>", "<final>Sorry.</final>"])
    graph, context = build(model), ALICE.model_copy(update={"reflect_when": "never"})
    question = {"role": "user", "content": "adding fractions: 1/2 + 1/3?"}
    await graph.ainvoke(said([question]), context=context)

    async def fail(learner_id: str, amend: Amend) -> TurnRecord | None:
        raise StoreUnavailable("the disk is full")

    monkeypatch.setattr(store, "amend", fail)
    told = [question, {"role": "assistant", "content": "2/5"}, {"role": "user", "content": "that's wrong"}]
    out = await graph.ainvoke(said(told), context=context)
    assert out["messages"][-1].content == "Sorry."
    assert out["learning"]["error"] == "StoreUnavailable: the disk is full"
    assert [bullet.harmful for bullet in (await store.now("alice")).playbook.bullets()] == [1]


async def test_feedback_reaches_the_reflector_the_counters_and_the_history(
    build: Build, store: CountingStore
) -> None:
    before = await store.seed("alice", Add(content=RULE, section="math", helpful=3))
    model = ScriptedModel(
        solver=["<final>2/5</final><used>mat-00001</used>", "<final>Sorry.</final>"],
        reflector=[lessons(), lessons("Say which denominator was chosen, and why")],
    )
    graph = build(model)
    question = {"role": "user", "content": "adding fractions: 1/2 + 1/3?"}
    await graph.ainvoke(said([question]), context=ALICE)
    asked = await store.now("alice")
    assert asked.version == before.version, "nothing is known about the answer yet"
    told = "that's wrong, you lost the sixths on the way"
    later = [question, {"role": "assistant", "content": "2/5"}, {"role": "user", "content": told}]
    await graph.ainvoke(said(later), context=ALICE)
    now = await store.now("alice")
    contradicted = now.playbook.entries["mat-00001"]
    assert (contradicted.helpful, contradicted.harmful) == (3, 1)
    assert now.version.n == before.version.n + 1
    assert told in model.calls_of("reflector")[1].messages[0].text
    assert now.access.recent_turns[0].verdict == "failure"


async def test_a_contested_bullet_can_be_restored(build: Build, store: CountingStore) -> None:
    await store.seed(
        "alice", Add(content="Adding fractions: add the tops and add the bottoms", section="math")
    )
    model = ScriptedModel(
        solver=["<final>2/5</final><used>mat-00001</used>"], reflector=[lessons(RULE, topic="fractions")]
    )
    told = ALICE.model_copy(update={"ground_truth": "5/6"})
    out = await build(model).ainvoke(
        said([{"role": "user", "content": "adding fractions 1/2 + 1/3"}]), context=told
    )
    [successor] = out["learning"]["added"]
    assert out["learning"]["superseded"] == [{"kept": successor, "gone": "mat-00001"}]
    assert out["learning"]["rejected"] == []
    now = await store.seed("alice", Restore(bullet=await archived(store, "mat-00001")))
    assert set(now.playbook.entries) == {"mat-00001", successor}
    assert now.playbook.tombstones == {}


async def test_advice_that_did_not_fail_is_not_contested(build: Build, store: CountingStore) -> None:
    await store.seed(
        "alice", Add(content="Adding fractions: add the tops and add the bottoms", section="math")
    )
    model = ScriptedModel(
        solver=["<final>5/6</final><used>mat-00001</used>"] * 2, reflector=[lessons(RULE), lessons(RULE)]
    )
    graph = build(model)
    for truth in ("5/6", None):
        context = ALICE.model_copy(update={"ground_truth": truth})
        question = [{"role": "user", "content": "adding fractions 1/2 + 1/3"}]
        out = await graph.ainvoke(said(question), context=context)
        assert out["learning"]["superseded"] == []
    assert "mat-00001" in (await store.now("alice")).playbook.entries


async def test_approval_credits_the_cited_bullet_once_however_often_it_is_said(
    build: Build, store: CountingStore
) -> None:
    await store.seed("alice", Add(content=RULE, section="math"))
    model = ScriptedModel(
        ["<final>5/6</final><used>mat-00001</used>", "<final>fine</final>", "<final>ok</final>"]
    )
    graph = build(model, checkpointer=InMemorySaver())
    config = thread("t")
    quiet = ALICE.model_copy(update={"reflect_when": "never"})
    await graph.ainvoke(
        said([{"role": "user", "content": "adding fractions 1/2 + 1/3"}]), config, context=quiet
    )
    for _ in range(2):
        conversation = [
            {"role": "user", "content": "adding fractions 1/2 + 1/3"},
            {"role": "assistant", "content": "5/6"},
            {"role": "user", "content": "thanks, that worked"},
        ]
        out = await build(model).ainvoke(said(conversation), context=quiet)
        assert out["learning"]["feedback"]["verdict"] == "success"
    [bullet] = (await store.now("alice")).playbook.bullets()
    assert (bullet.helpful, bullet.harmful) == (1, 0)


async def test_a_later_judgement_replaces_the_earlier_one(build: Build, store: CountingStore) -> None:
    await store.seed("alice", Add(content=RULE, section="math"))
    model = ScriptedModel(
        ["<final>5/6</final><used>mat-00001</used>", "<final>a</final>", "<final>b</final>"]
    )
    quiet = ALICE.model_copy(update={"reflect_when": "never"})
    graph = build(model)
    asked = {"role": "user", "content": "adding fractions 1/2 + 1/3"}
    await graph.ainvoke(said([asked]), context=quiet)
    for judgement in ("that's wrong", "sorry, that's right"):
        conversation = [
            asked,
            {"role": "assistant", "content": "5/6"},
            {"role": "user", "content": judgement},
        ]
        await graph.ainvoke(said(conversation), context=quiet)
    [bullet] = (await store.now("alice")).playbook.bullets()
    assert (bullet.helpful, bullet.harmful) == (1, 0)


async def test_feedback_on_an_answer_we_never_gave_judges_nothing(build: Build, store: CountingStore) -> None:
    conversation = [
        {"role": "user", "content": "adding fractions 1/2 + 1/3"},
        {"role": "assistant", "content": "an answer of somebody else"},
        {"role": "user", "content": "that's wrong, it is 5/6"},
    ]
    quiet = ALICE.model_copy(update={"reflect_when": "never"})
    out = await build(ScriptedModel(["<final>x</final>"])).ainvoke(said(conversation), context=quiet)
    assert out["learning"]["feedback"] is None
    assert out["learning"]["tagged"] == []


async def test_a_react_turn_teaches_its_execution_pattern_without_a_model(
    build: Build, store: CountingStore
) -> None:
    @tool
    def list_files(path: str) -> str:
        """List."""
        return "a.py"

    @tool
    def read_file(path: str) -> str:
        """Read."""
        return "print(1)"

    def calls(name: str) -> AIMessage:
        return AIMessage(
            content="", tool_calls=[{"name": name, "args": {"path": "."}, "id": name, "type": "tool_call"}]
        )

    model = ScriptedModel(
        solver=[calls("list_files"), calls("read_file"), "<final>it prints 1</final>"],
        reflector=["no JSON"],
    )
    graph = build(model, tools=[list_files, read_file])
    out = await graph.ainvoke(
        said([{"role": "user", "content": "What does the file do?"}], "react"), context=ALICE
    )
    [bullet] = (await store.now("alice")).playbook.bullets()
    assert (bullet.section, bullet.memory_type) == ("file_operations", "procedural")
    assert "List the directory" in bullet.content
    assert out["learning"]["error"], "the reflector failed, the pattern is kept"


@pytest.mark.parametrize(
    ("question", "told", "verdict"),
    [
        ("Wie addiere ich Brüche: 1/2 + 1/3?", "Das ist leider falsch, es ist 5/6.", "failure"),
        ("Comment additionner des fractions : 1/2 + 1/3 ?", "Merci, c'est juste.", "success"),
        ("分数怎么相加：1/2 + 1/3？", "不对，应该是5/6。", "failure"),
        ("分数の足し算は？ 1/2 + 1/3", "ありがとう、正解です。", "success"),
    ],
)
async def test_feedback_counts_in_the_learners_language(
    build: Build, store: CountingStore, question: str, told: str, verdict: str
) -> None:
    await store.seed("alice", Add(content=RULE, section="math"))
    graph = build(ScriptedModel(["<final>2/5</final><used>mat-00001</used>", "<final>ok</final>"]))
    quiet = ALICE.model_copy(update={"reflect_when": "never"})
    asked = {"role": "user", "content": question}
    first = await graph.ainvoke(said([asked]), context=quiet)
    later = [asked, {"role": "assistant", "content": "2/5"}, {"role": "user", "content": told}]
    second = await graph.ainvoke(said(later), context=quiet)
    assert second["learning"]["feedback"] == {"turn_id": first["learning"]["turn_id"], "verdict": verdict}


async def test_who_corrects_their_name_does_not_object_to_the_answer(build: Build) -> None:
    graph = build(OfflineTutor(), checkpointer=InMemorySaver())
    for message, feedback in (
        ("My name is Mia", None),
        ("No, it's Mara", None),
        ("No, it's wrong", "failure"),
    ):
        out = await graph.ainvoke(ask(message), {"configurable": {"thread_id": "t"}}, context=ALICE)
        assert (out["learning"]["feedback"] or {}).get("verdict") == feedback
