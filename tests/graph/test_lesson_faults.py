"""What a reflector may get wrong: ids, empty, long and copied lessons, and verdicts that disagree."""

from __future__ import annotations

import json

import pytest

from ace_graph import ACEContext, Evidence
from ace_graph.base.prompts import Prompts
from ace_graph.memory import Bullet
from ace_graph.memory.delta import Add
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import Build, CountingStore, ask, said

ALICE = ACEContext(learner_id="alice", reflect_when="always")
TRUTH = ALICE.model_copy(update={"ground_truth": "5/6"})
RULE = "Find the least common denominator before adding fractions"
GOOD = "Estimate first, then compare the result with the estimate"


def lessons(*contents: str, **fields: object) -> str:
    return json.dumps({"reasoning": "r", "lessons": [{"content": c} for c in contents], **fields})


def counters(bullet: Bullet | None) -> tuple[int, int, int]:
    assert bullet is not None
    return bullet.helpful, bullet.harmful, bullet.neutral


async def test_tags_for_ids_that_were_not_injected_move_nothing(build: Build, store: CountingStore) -> None:
    await store.seed("alice", Add(content=RULE, section="math"), Add(content="Otters hold hands"))
    await store.seed("bob", Add(content="Bob's own"))
    names = ["gen-00002", "mat-09999", "base:ffff", "../../etc", "", "mat-00001"]
    tags = [{"id": name, "tag": "harmful"} for name in names]
    model = ScriptedModel(solver=["<final>2/5</final>"], reflector=[lessons(GOOD, bullet_tags=tags)])
    out = await build(model).ainvoke(ask("adding fractions 1/2 + 1/3"), context=TRUTH)
    injected, other, new = (await store.now("alice")).playbook.bullets()
    assert out["result"]["injected"] == [injected.id]
    assert (counters(injected), counters(other)) == ((0, 1, 0), (0, 0, 0))
    assert new.content == GOOD
    assert (await store.now("alice")).playbook.base_votes == {}
    assert counters((await store.now("bob")).playbook.bullets()[0]) == (0, 0, 0)
    assert out["learning"]["tagged"] == [injected.id]


async def test_a_malformed_tag_is_reported_and_the_last_of_two_counts(
    build: Build, store: CountingStore
) -> None:
    await store.seed("alice", Add(content=RULE, section="math"))
    tags = [
        {"id": "mat-00001", "tag": "great"},
        {"id": "mat-00001", "tag": "helpful"},
        {"id": "mat-00001", "tag": "harmful"},
        "mat-00001",
        None,
    ]
    model = ScriptedModel(solver=["<final>2/5</final>"], reflector=[lessons(bullet_tags=tags)])
    out = await build(model).ainvoke(ask("adding fractions 1/2 + 1/3"), context=TRUTH)
    [bullet] = (await store.now("alice")).playbook.bullets()
    assert counters(bullet) == (0, 1, 0)
    assert len([r for r in out["learning"]["rejected"] if "malformed item of bullet_tags" in r["why"]]) == 3


@pytest.mark.parametrize("empty", ["", "   ", "\n\t", "\u200b\u2060", "...", "—", "🙂"])
async def test_an_empty_lesson_is_refused_and_reported(
    build: Build, store: CountingStore, empty: str
) -> None:
    model = ScriptedModel(solver=["<final>5/6</final>"], reflector=[lessons(empty, GOOD)])
    out = await build(model).ainvoke(ask(), context=ALICE)
    assert [b.content for b in (await store.now("alice")).playbook.bullets()] == [GOOD]
    assert len(out["learning"]["rejected"]) == 1


async def test_a_lesson_in_another_language_is_kept_and_found(build: Build, store: CountingStore) -> None:
    told = "分数相加之前，先找到最小公分母"
    model = ScriptedModel(solver=["<final>ok</final>"] * 2, reflector=[lessons(told), lessons()])
    graph = build(model)
    await graph.ainvoke(ask("怎么做分数相加？"), context=ALICE)
    out = await graph.ainvoke(ask("请问分数相加怎么算？"), context=ALICE)
    [bullet] = (await store.now("alice")).playbook.bullets()
    assert (bullet.content, out["result"]["injected"]) == (told, [bullet.id])
    assert told in model.calls_of("solver")[1].messages[0].text


@pytest.mark.parametrize(
    "told", ["What is 1/2 + 1/3?", "what is 1/2 + 1/3", "5/6", "The sum is five sixths."]
)
async def test_a_lesson_that_is_the_question_or_the_answer_is_refused(build: Build, told: str) -> None:
    answer = told if told[0] in "5T" else "x"
    model = ScriptedModel(solver=[f"<final>{answer}</final>"], reflector=[lessons(told, GOOD)])
    out = await build(model).ainvoke(ask(), context=ALICE)
    assert len(out["learning"]["added"]) == 1
    [refused] = out["learning"]["rejected"]
    assert "copied" in refused["why"]


@pytest.mark.parametrize("name", ["base", "reflector"])
async def test_a_lesson_that_is_the_prompt_or_a_part_of_it_is_refused(build: Build, name: str) -> None:
    text = Prompts.load().texts[name]
    part = " ".join(text.split()[5:25])
    model = ScriptedModel(solver=["<final>x</final>"], reflector=[lessons(text[:1_500], part, GOOD)])
    out = await build(model).ainvoke(ask(), context=ALICE)
    assert len(out["learning"]["added"]) == 1
    assert ["copied" in r["why"] for r in out["learning"]["rejected"]] == [True, True]


async def test_a_lesson_that_is_the_hosts_system_prompt_is_refused(build: Build) -> None:
    own = "You teach fractions to children."
    model = ScriptedModel(solver=["<final>x</final>"], reflector=[lessons(own, GOOD)])
    out = await build(model, system_prompt=own).ainvoke(ask(), context=ALICE)
    assert len(out["learning"]["added"]) == 1


async def test_a_lesson_that_repeats_a_bullet_of_the_prompt_strengthens_it(
    build: Build, store: CountingStore
) -> None:
    await store.seed("alice", Add(content=RULE, section="math"))
    model = ScriptedModel(solver=["<final>x</final>"], reflector=[lessons(RULE)])
    out = await build(model).ainvoke(ask("adding fractions"), context=ALICE)
    assert (out["learning"]["updated"], out["learning"]["rejected"]) == (["mat-00001"], [])


async def test_the_stronger_of_two_sources_decides_and_both_are_stored(
    build: Build, store: CountingStore
) -> None:
    def judge(question: str, answer: str, context: ACEContext) -> Evidence:
        return Evidence(source="evaluator", verdict="failure", text="too short")

    await store.seed("alice", Add(content=RULE, section="math"))
    model = ScriptedModel(
        solver=["<final>5/6</final><used>mat-00001</used>"], reflector=[lessons("Never add denominators")]
    )
    out = await build(model, evaluator=judge).ainvoke(ask("adding fractions: 1/2 + 1/3"), context=TRUTH)
    assert out["result"]["verdict"] == "success"
    assert [e["verdict"] for e in out["result"]["evidence"]] == ["success", "failure"]
    prompt = model.calls_of("reflector")[0].messages[0].text
    assert "matches the ground truth" in prompt
    assert "too short" in prompt, "the reflector sees the disagreement"
    old = (await store.now("alice")).playbook.get_bullet("mat-00001")
    assert counters(old) == (1, 0, 0)
    assert out["learning"]["superseded"] == [], "advice that held by the stronger source has not failed"
    [record] = store.calls.records
    assert record is not None
    assert (record.verdict, len(record.evidence)) == ("success", 2)


async def test_a_learner_who_contradicts_the_truth_teaches_nothing(
    build: Build, store: CountingStore
) -> None:
    await store.seed("alice", Add(content=RULE, section="math"))
    model = ScriptedModel(
        solver=["<final>5/6</final><used>mat-00001</used>", "<final>It is 5/6.</final>"],
        reflector=[lessons()],
    )
    graph = build(model)
    question = {"role": "user", "content": "adding fractions: 1/2 + 1/3?"}
    await graph.ainvoke(said([question]), context=TRUTH)
    later = [
        question,
        {"role": "assistant", "content": "5/6"},
        {"role": "user", "content": "that's wrong, it is 2/5"},
    ]
    out = await graph.ainvoke(said(later), context=ACEContext(learner_id="alice"))
    assert out["learning"]["feedback"]["verdict"] == "unknown", "the answer was checked, and stands"
    now = await store.now("alice")
    assert counters(now.playbook.get_bullet("mat-00001")) == (1, 0, 0)
    assert len(now.playbook) == 1
    assert now.access.recent_turns[0].verdict == "success"
    assert '"answer_before": "right"' in model.calls_of("solver")[1].messages[0].text
