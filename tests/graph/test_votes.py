"""Counters move on evidence only, for the bullets that were followed, of the learner alone."""

from __future__ import annotations

import json

import pytest
from langchain_core.messages import BaseMessage

from ace_graph import ACEContext, Evidence
from ace_graph.memory.delta import Add
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import Build, CountingStore, ask

ALICE = ACEContext(learner_id="alice", reflect_when="always")
TRUTH = ALICE.model_copy(update={"ground_truth": "5/6"})
RULE = "Find the least common denominator before adding fractions"


def lessons(*contents: str, **fields: object) -> str:
    return json.dumps({"reasoning": "r", "lessons": [{"content": c} for c in contents], **fields})


async def test_the_same_lesson_reinforces_and_helpful_counts_only_on_evidence(
    build: Build, store: CountingStore
) -> None:
    for context, helpful in ((ALICE, 0), (TRUTH.model_copy(update={"learner_id": "bob"}), 5)):
        model = ScriptedModel(solver=["<final>5/6</final>"] * 5, reflector=[lessons(RULE)] * 5)
        graph = build(model)
        for _ in range(5):
            await graph.ainvoke(ask(), context=context)
        [bullet] = (await store.now(str(context.learner_id))).playbook.bullets()
        assert (bullet.seen, bullet.helpful) == (5, helpful)


@pytest.mark.parametrize(("answer", "helpful", "harmful"), [("5/6", 1, 0), ("2/5", 0, 1)])
async def test_a_cited_bullet_gets_credit_or_blame_and_a_bystander_nothing(
    build: Build, store: CountingStore, answer: str, helpful: int, harmful: int
) -> None:
    await store.seed(
        "alice",
        Add(content=RULE, section="math"),
        Add(content="Draw the fractions as bars before adding", section="math"),
    )
    reply = f"<final>{answer}</final><used>mat-00001</used>"
    context = TRUTH.model_copy(update={"reflect_when": "never"})
    out = await build(ScriptedModel([reply])).ainvoke(ask("adding fractions 1/2 + 1/3"), context=context)
    assert set(out["result"]["injected"]) == {"mat-00001", "mat-00002"}
    cited, bystander = (await store.now("alice")).playbook.bullets()
    assert (cited.helpful, cited.harmful) == (helpful, harmful)
    assert (bystander.helpful, bystander.harmful) == (0, 0)
    assert out["learning"]["tagged"] == ["mat-00001"]


async def test_without_evidence_no_counter_moves_whatever_the_reflector_says(
    build: Build, store: CountingStore
) -> None:
    await store.seed("alice", Add(content=RULE, section="math"))
    tags = [{"id": "mat-00001", "tag": "helpful"}]
    model = ScriptedModel(
        solver=["<final>5/6</final><used>mat-00001</used>"], reflector=[lessons(bullet_tags=tags)]
    )
    await build(model).ainvoke(ask("adding fractions 1/2 + 1/3"), context=ALICE)
    [bullet] = (await store.now("alice")).playbook.bullets()
    assert (bullet.helpful, bullet.harmful, bullet.neutral) == (0, 0, 0)


async def test_a_reflectors_tag_with_failure_blames_an_injected_bullet(
    build: Build, store: CountingStore
) -> None:
    await store.seed("alice", Add(content="To add fractions, add the tops and the bottoms", section="math"))
    tags = [{"id": "mat-00001", "tag": "harmful"}, {"id": "mat-07777", "tag": "harmful"}]
    model = ScriptedModel(solver=["<final>2/5</final>"], reflector=[lessons(bullet_tags=tags)])
    out = await build(model).ainvoke(ask("how to add fractions 1/2 + 1/3"), context=TRUTH)
    old = (await store.now("alice")).playbook.get_bullet("mat-00001")
    assert old is not None
    assert old.harmful == 1
    assert out["result"]["verdict"] == "failure"
    prompt = model.calls_of("reflector")[0].messages[0].text
    assert "[mat-00001]" in prompt
    assert "<ground_truth>\n5/6" in prompt
    assert "differs from the ground truth" in prompt


async def test_without_a_truth_the_reflector_reads_that_there_is_none(
    build: Build, store: CountingStore
) -> None:
    await store.seed("alice", Add(content=RULE, section="math", helpful=2))
    model = ScriptedModel(solver=["<final>5/6</final><used>mat-00001</used>"], reflector=[lessons()])
    await build(model).ainvoke(ask("adding fractions 1/2 + 1/3"), context=ALICE)
    prompt = model.calls_of("reflector")[0].messages[0].text
    assert f"<bullets>\n[mat-00001] (helpful=2, harmful=0) {RULE}\n</bullets>" in prompt
    assert "<ground_truth>\n(none)\n</ground_truth>" in prompt
    assert "<evidence>\n(none)\n</evidence>" in prompt


async def test_a_lesson_that_fails_twice_leaves_the_prompts(build: Build, store: CountingStore) -> None:
    wrong = "When adding fractions, add the tops and add the bottoms"
    model = ScriptedModel(
        solver=["<final>2/5</final>", *["<final>2/5</final><used>les-00001</used>"] * 2, "<final>x</final>"],
        reflector=[lessons(wrong), lessons(), lessons(), lessons()],
    )
    graph = build(model)
    question = ask("adding fractions 1/2 + 1/3")
    await graph.ainvoke(question, context=ALICE)
    for _ in range(2):
        shown = await graph.ainvoke(question, context=TRUTH)
        assert shown["result"]["injected"] == ["les-00001"], "where nothing else fits, it is tried once more"
    gone = await graph.ainvoke(question, context=ALICE)
    assert gone["result"]["injected"] == []
    assert wrong not in model.calls_of("solver")[3].messages[0].text


async def test_a_bullet_more_harmful_than_helpful_is_not_injected_any_more(
    build: Build, store: CountingStore
) -> None:
    await store.seed("alice", Add(content=RULE, section="math", harmful=3))
    model = ScriptedModel(["<final>x</final>"])
    out = await build(model).ainvoke(
        ask("adding fractions"), context=ACEContext(learner_id="alice", reflect_when="never")
    )
    assert out["result"]["injected"] == []


async def test_the_evaluator_is_evidence_and_one_that_fails_is_none(build: Build) -> None:
    async def judge(question: str, answer: str, context: ACEContext) -> Evidence:
        return Evidence(source="evaluator", verdict="failure", text=f"{answer} is wrong", by="judge")

    def broken(question: str, answer: str, context: ACEContext) -> Evidence:
        raise RuntimeError("the judge is ill")

    context = ALICE.model_copy(update={"reflect_when": "never"})
    out = await build(ScriptedModel(["<final>7</final>"]), evaluator=judge).ainvoke(ask(), context=context)
    assert out["result"]["verdict"] == "failure"
    out = await build(ScriptedModel(["<final>7</final>"]), evaluator=broken).ainvoke(ask(), context=context)
    assert out["result"]["verdict"] == "unknown"


async def test_learners_never_see_each_others_bullets(build: Build, store: CountingStore) -> None:
    await store.seed("bob", Add(content="Bob adds fractions with his fingers"))
    await store.seed("alice", Add(content="Bob adds fractions with his fingers"))
    model = ScriptedModel(["<final>x</final><used>gen-00001</used>"] * 2)
    graph = build(model)
    context = ACEContext(learner_id="carol", reflect_when="never")
    await graph.ainvoke(ask("How does Bob add fractions?"), context=context)
    assert "fingers" not in model.calls[0].messages[0].text
    await graph.ainvoke(
        ask("How does Bob add fractions? 1/2 + 1/3"),
        context=TRUTH.model_copy(update={"reflect_when": "never"}),
    )
    [bobs] = (await store.now("bob")).playbook.bullets()
    assert (bobs.helpful, bobs.harmful) == (0, 0)


async def test_a_base_playbook_is_shared_and_votes_stay_with_the_learner(
    build: Build, store: CountingStore
) -> None:
    from ace_graph import Playbook

    base, _ = Playbook().add_bullet("math", RULE)
    model = ScriptedModel([_cite])
    graph = build(model, base_playbook=base)
    context = TRUTH.model_copy(update={"reflect_when": "never"})
    out = await graph.ainvoke(ask("adding fractions 1/2 + 1/3"), context=context)
    [cited] = out["result"]["bullet_ids"]
    assert cited.startswith("base:")
    playbook = (await store.now("alice")).playbook
    assert playbook.bullets() == ()
    assert playbook.base_votes[cited].helpful == 1
    assert (await store.now("bob")).absent


def _cite(messages: list[BaseMessage]) -> str:
    name = messages[0].text.split("1. [", 1)[1].split("]", 1)[0]
    return f"<final>5/6</final><used>{name}</used>"
