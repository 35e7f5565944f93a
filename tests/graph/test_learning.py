"""Lessons: how they are stored, refused, reported; a reflector that fails costs them alone."""

from __future__ import annotations

import json

import pytest

from ace_graph import ACEContext
from ace_graph.memory.delta import Add
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import Build, CountingStore, ask

ALICE = ACEContext(learner_id="alice", reflect_when="always")
TRUTH = ALICE.model_copy(update={"ground_truth": "5/6"})
RULE = "Find the least common denominator before adding fractions"


def lessons(*contents: str, **fields: object) -> str:
    return json.dumps({"reasoning": "r", "lessons": [{"content": c} for c in contents], **fields})


async def test_a_lesson_is_stored_and_injected_in_the_very_next_turn(
    build: Build, store: CountingStore
) -> None:
    model = ScriptedModel(solver=["<final>5/6</final>"] * 2, reflector=[lessons(RULE), lessons()])
    graph = build(model)
    out = await graph.ainvoke(ask(), context=ALICE)
    [added] = out["learning"]["added"]
    bullet = (await store.now("alice")).playbook.get_bullet(added)
    assert bullet is not None
    assert (bullet.content, bullet.topic, bullet.helpful, bullet.examples) == (
        RULE,
        "fraction_addition",
        0,
        (out["learning"]["turn_id"],),
    )
    await graph.ainvoke(ask("And adding fractions 1/4 + 1/3?"), context=ALICE)
    assert RULE in model.calls_of("solver")[1].messages[0].text


async def test_each_field_of_a_lesson_reaches_its_bullet(build: Build, store: CountingStore) -> None:
    lesson = {
        "content": "Draw a bar before the first sum",
        "section": "Word Problems",
        "topic": "bars",
        "concept": "part and whole",
        "memory_type": "episodic",
        "polarity": "anti_pattern",
        "tags": ["drawing", " ", "grade 5"],
    }
    model = ScriptedModel(solver=["<final>5/6</final>"], reflector=[json.dumps({"lessons": [lesson]})])
    await build(model).ainvoke(ask(), context=ALICE)
    (bullet,) = (await store.now("alice")).playbook.bullets()
    assert (bullet.content, bullet.section, bullet.topic) == (lesson["content"], "word_problems", "bars")
    assert (bullet.concept, bullet.tags) == ("part and whole", ("drawing", "grade 5"))
    assert (bullet.memory_type, bullet.polarity) == ("episodic", "anti_pattern")


async def test_a_lesson_without_labels_takes_those_of_the_playbook_that_it_is_about(
    build: Build, store: CountingStore
) -> None:
    labelled = {
        "content": "Write one assertion per behaviour",
        "topic": "unit_tests",
        "concept": "isolation",
        "tags": ["ci", "pytest"],
    }
    plain = {"content": "Run each unit test in isolation before the CI does"}
    replies = [json.dumps({"lessons": [lesson]}) for lesson in (labelled, plain)]
    graph = build(ScriptedModel(solver=["<final>ok</final>"] * 2, reflector=replies))
    for question in ("How do I write a check?", "How do I run a check?"):
        await graph.ainvoke(ask(question), context=ALICE)
    bullet = list((await store.now("alice")).playbook.bullets())[-1]
    assert (bullet.content, bullet.topic) == (plain["content"], "unit_tests")
    assert (bullet.concept, bullet.tags) == ("isolation", ("ci",))


async def test_the_default_curator_calls_no_model(build: Build) -> None:
    with ScriptedModel(solver=["<final>5/6</final>"], reflector=[lessons(RULE)]) as model:
        out = await build(model).ainvoke(ask(), context=ALICE)
    assert len(model.calls) == 2
    assert out["usage"]["reflector"]["calls"] == 1


async def test_twenty_identical_turns_do_not_grow_the_playbook(build: Build, store: CountingStore) -> None:
    model = ScriptedModel(solver=["<final>5/6</final>"] * 20, reflector=[lessons(RULE)] * 20)
    graph = build(model)
    for _ in range(20):
        await graph.ainvoke(ask(), context=ALICE)
        assert len((await store.now("alice")).playbook) == 1


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (RuntimeError("boom"), "boom"),
        ("no JSON at all", "JSON"),
        ('{"reasoning": "cut in the mid', "JSON"),
        ('{"reasoning": "no lessons field"}', "lessons"),
        ("", "empty"),
    ],
    ids=["raises", "garbage", "cut", "no lessons", "nothing"],
)
async def test_a_reflector_that_fails_costs_its_lessons_only(
    build: Build, store: CountingStore, reply: str | Exception, told: str
) -> None:
    before = await store.seed("alice", Add(content=RULE, section="math"))
    model = ScriptedModel(solver=["<final>5/6</final>"], reflector=[reply])
    out = await build(model).ainvoke(ask("Remember that I like tea. What is 1/2 + 1/3?"), context=ALICE)
    assert out["messages"][-1].content == "5/6"
    assert told in out["learning"]["error"]
    after = (await store.now("alice")).playbook
    assert after.get_bullet("mat-00001") == before.playbook.get_bullet("mat-00001")
    assert [b.content for b in after.bullets("profile")] == ["Learner says: I like tea"]


async def test_no_lessons_store_nothing_and_make_no_version(build: Build, store: CountingStore) -> None:
    before = await store.seed("alice", Add(content=RULE, section="math"))
    model = ScriptedModel(solver=["<final>5/6</final>"], reflector=['{"lessons": []}'])
    out = await build(model).ainvoke(ask(), context=ALICE)
    after = await store.now("alice")
    assert after.playbook == before.playbook
    assert after.version == before.version
    assert out["learning"]["error"] is None
    assert after.access.access_clock == before.access.access_clock + 1


async def test_a_fenced_reply_is_read(build: Build) -> None:
    model = ScriptedModel(solver=["<final>5/6</final>"], reflector=[f"```json\n{lessons(RULE)}\n```"])
    out = await build(model).ainvoke(ask(), context=ALICE)
    assert len(out["learning"]["added"]) == 1


async def test_a_malformed_lesson_never_takes_the_good_ones_with_it(build: Build) -> None:
    reply = json.dumps(
        {"lessons": [{"content": RULE}, {"contents": "?"}, 7, "Check the units before you answer"]}
    )
    model = ScriptedModel(solver=["<final>5/6</final>"], reflector=[reply])
    out = await build(model).ainvoke(ask(), context=ALICE)
    assert len(out["learning"]["added"]) == 2
    assert len([r for r in out["learning"]["rejected"] if "malformed" in r["why"]]) == 2


async def test_a_lesson_that_copies_the_conversation_is_refused_and_reported(build: Build) -> None:
    said = "one two three four five six seven eight nine ten eleven twelve thirteen"
    model = ScriptedModel(
        solver=["<final>ok</final>"], reflector=[lessons(f"The learner said {said}", "Count in steps of two")]
    )
    out = await build(model).ainvoke(ask(said), context=ALICE)
    assert len(out["learning"]["added"]) == 1
    assert any("copied" in r["why"] for r in out["learning"]["rejected"])


async def test_a_lesson_of_20_kb_is_refused_and_reported(build: Build) -> None:
    model = ScriptedModel(solver=["<final>ok</final>"], reflector=[lessons("long " * 4_000)])
    out = await build(model).ainvoke(ask(), context=ALICE)
    assert out["learning"]["added"] == []
    assert any("longer than" in r["why"] for r in out["learning"]["rejected"])


async def test_a_lesson_never_becomes_part_of_the_profile(build: Build, store: CountingStore) -> None:
    reply = json.dumps({"lessons": [{"content": "Prefers pictures to text", "section": "Preferences"}]})
    model = ScriptedModel(solver=["<final>ok</final>"], reflector=[reply])
    await build(model).ainvoke(ask(), context=ALICE)
    [bullet] = (await store.now("alice")).playbook.bullets()
    assert not bullet.core


async def test_an_anti_pattern_is_kept_and_shown_as_something_to_avoid(
    build: Build, store: CountingStore
) -> None:
    told = {"content": "Adding fractions by adding their bottoms", "polarity": "anti_pattern"}
    model = ScriptedModel(
        solver=["<final>x</final>"] * 2, reflector=[json.dumps({"lessons": [told]}), lessons()]
    )
    graph = build(model)
    await graph.ainvoke(ask(), context=ALICE)
    await graph.ainvoke(ask("adding fractions 1/4 + 1/3?"), context=ALICE)
    [bullet] = (await store.now("alice")).playbook.bullets()
    assert bullet.polarity == "anti_pattern"
    shown = "AVOID: Adding fractions by adding their bottoms"
    assert shown in model.calls_of("solver")[1].messages[0].text
    assert shown in model.calls_of("reflector")[1].messages[0].text


async def test_auto_skips_greetings_and_reflects_on_the_rest(build: Build) -> None:
    context = ACEContext(learner_id="alice")
    with ScriptedModel(solver=["<final>hi</final>"] * 3, reflector=[lessons()]) as model:
        graph = build(model)
        await graph.ainvoke(ask("hello!"), context=context)
        await graph.ainvoke(ask("ok, thank you very much"), context=context)
        await graph.ainvoke(ask("How do fractions work?"), context=context)


async def test_recent_insights_come_back_on_the_same_topic_only(build: Build, store: CountingStore) -> None:
    reply = lessons(key_insight="Denominators first")
    model = ScriptedModel(solver=["<final>x</final>"] * 3, reflector=[reply])
    graph = build(model)
    await graph.ainvoke(ask(), context=ALICE)
    quiet = ALICE.model_copy(update={"reflect_when": "never"})
    await graph.ainvoke(ask("What is 1/4 + 1/5?"), context=quiet)
    await graph.ainvoke(ask("Who wrote Faust?"), context=quiet)
    prompts = [call.messages[0].text for call in model.calls_of("solver")]
    assert ["Denominators first" in prompt for prompt in prompts] == [False, True, False]


async def test_exactly_the_last_three_insights_are_kept(build: Build, store: CountingStore) -> None:
    replies = [lessons(key_insight=f"Insight number {n}") for n in range(5)]
    model = ScriptedModel(solver=["<final>x</final>"] * 6, reflector=replies)
    graph = build(model)
    for _ in range(5):
        await graph.ainvoke(ask(), context=ALICE)
    await graph.ainvoke(ask(), context=ALICE.model_copy(update={"reflect_when": "never"}))
    prompt = model.calls_of("solver")[-1].messages[0].text
    assert [n for n in range(5) if f"Insight number {n}" in prompt] == [2, 3, 4]


async def test_a_turn_stamps_the_retrieved_bullets_and_not_the_core(
    build: Build, store: CountingStore
) -> None:
    await store.seed(
        "alice",
        Add(content="Otters hold hands"),
        Add(content="Learner says: I like otters", section="preferences"),
    )
    before = (await store.now("alice")).access
    quiet = ACEContext(learner_id="alice", reflect_when="never")
    await build(ScriptedModel(["<final>x</final>"])).ainvoke(ask("otters?"), context=quiet)
    after = (await store.now("alice")).access
    assert after.access_clock == before.access_clock + 1
    assert (after.idle("gen-00001"), after.idle("pre-00002")) == (0, 1)
    assert after.recent_turns[-1].injected == ("pre-00002", "gen-00001")


async def test_bullets_of_a_turn_name_it_and_have_its_words(build: Build, store: CountingStore) -> None:
    model = ScriptedModel(solver=["<final>5/6</final>"], reflector=[lessons(RULE)])
    told = "Remember that I like tea. How do I add 1/2 + 1/3 of a pizza?"
    context = ALICE.model_copy(update={"conversation_id": "c1"})
    out = await build(model).ainvoke(ask(told), context=context)
    found = (await store.now("alice")).playbook.bullets()
    assert [each.content for each in found] == ["Learner says: I like tea", RULE]
    for bullet in found:
        assert (bullet.turn_id, bullet.conversation_id) == (out["learning"]["turn_id"], "c1")
        assert "pizza" in bullet.source_words
    assert "tea" in found[1].source_words


async def test_sensitive_facts_that_are_not_kept_give_no_words(build: Build, store: CountingStore) -> None:
    fact = {"content": "The learner has POTS", "kind": "health", "quote": "I have POTS"}
    model = ScriptedModel(solver=["<final>5/6</final>"], reflector=[lessons(RULE, learner_facts=[fact])])
    await build(model).ainvoke(
        ask("I have POTS. My sister has diabetes. What is 1/2 + 1/3 of a pizza?"), context=ALICE
    )
    (bullet,) = (await store.now("alice")).playbook.bullets()
    assert "pizza" in bullet.source_words
    assert {"pots", "diabetes"}.isdisjoint(bullet.source_words)


async def test_a_forgotten_fact_leaves_no_words_in_other_bullets(build: Build, store: CountingStore) -> None:
    model = ScriptedModel(solver=["<final>5/6</final>"] * 2, reflector=[lessons(RULE)] + [lessons()] * 2)
    graph = build(model)
    await graph.ainvoke(ask("Remember that I have diabetes. What is 1/2 + 1/3 of a pizza?"), context=ALICE)
    _, lesson = (await store.now("alice")).playbook.bullets()
    assert {"diabetes", "pizza"} <= set(lesson.source_words)
    await graph.ainvoke(ask("Forget that I have diabetes. What is 1/4 + 1/3?"), context=ALICE)
    (left,) = (await store.now("alice")).playbook.bullets()
    assert left.id == lesson.id
    assert "diabetes" not in left.source_words
    assert "pizza" in left.source_words
