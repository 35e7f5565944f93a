"""The curator with a model: it proposes, the rules dispose; no lesson is lost, none is invented."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from ace_graph import ACEContext
from ace_graph.agent import Run, build_resources
from ace_graph.base import Settings
from ace_graph.base.prompts import preview
from ace_graph.graph import ACEGraph
from ace_graph.learning import MOST_PROPOSALS, SMALL_BULLETS, Curation, curate_with_model, decide
from ace_graph.memory import Bullet, Snapshot
from ace_graph.memory.delta import Add, Update
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import Build, CountingStore, ask
from tests.plugins.sizes import PATIENT

ALICE = ACEContext(learner_id="alice", reflect_when="always")
RULE = "Find the least common denominator before adding fractions"
OTHER = "Check the units of every quantity before you answer"


def lessons(*contents: str) -> str:
    return json.dumps({"lessons": [{"content": c} for c in contents]})


def decisions(*operations: object) -> str:
    return json.dumps({"reasoning": "r", "operations": list(operations)})


@pytest.fixture
def graph_of(build: Build) -> Build:
    def make(model: ScriptedModel, **arguments: object) -> ACEGraph:
        settings = Settings().model_copy(update={"curator_use_llm": True, "log_content": True})
        return build(model, settings=settings, **arguments)

    return make


async def test_an_unreadable_reply_is_logged_and_retried(
    graph_of: Build, store: CountingStore, caplog: pytest.LogCaptureFixture
) -> None:
    good = decisions({"type": "ADD", "lesson": 1})
    with (
        caplog.at_level(logging.INFO, "ace_graph"),
        ScriptedModel(
            solver=["<final>5/6</final>"],
            reflector=[lessons(RULE)],
            curator=["nonsense", '{"operations": 7}', good],
        ) as model,
    ):
        out = await graph_of(model).ainvoke(ask(), context=ALICE)
    assert out["usage"]["curator"]["calls"] == 3
    assert "raw reply: nonsense" in caplog.text
    assert [b.content for b in (await store.now("alice")).playbook.bullets()] == [RULE]


@pytest.mark.parametrize("replies", [[RuntimeError("down")], ["a", "b", "c"]], ids=["raises", "garbage"])
async def test_when_it_fails_the_rules_curate(
    graph_of: Build, store: CountingStore, replies: list[str | Exception]
) -> None:
    model = ScriptedModel(solver=["<final>5/6</final>"], reflector=[lessons(RULE, OTHER)], curator=replies)
    out = await graph_of(model).ainvoke(ask(), context=ALICE)
    assert len(out["learning"]["added"]) == 2
    model.assert_done()


async def test_a_malformed_item_is_dropped_and_no_lesson_is_lost(
    graph_of: Build, store: CountingStore
) -> None:
    reply = decisions(
        {"type": "EXPLODE", "lesson": 1}, 7, {"type": "ADD", "lesson": 2}, {"type": "ADD", "lesson": 99}
    )
    model = ScriptedModel(solver=["<final>5/6</final>"], reflector=[lessons(RULE, OTHER)], curator=[reply])
    await graph_of(model).ainvoke(ask(), context=ALICE)
    assert {b.content for b in (await store.now("alice")).playbook.bullets()} == {RULE, OTHER}


async def test_it_sees_the_relevant_bullets_and_may_refine_one(graph_of: Build, store: CountingStore) -> None:
    await store.seed(
        "alice", Add(content="Fractions need a common denominator", section="math", topic="fractions")
    )
    better = "Fractions need the least common denominator before they are added"
    model = ScriptedModel(
        solver=["<final>5/6</final>"],
        reflector=[lessons(RULE)],
        curator=[decisions({"type": "UPDATE", "lesson": 1, "bullet_id": "mat-00001", "content": better})],
    )
    context = ALICE.model_copy(update={"ground_truth": "5/6"})
    out = await graph_of(model).ainvoke(ask(), context=context)
    prompt = model.calls_of("curator")[0].messages[0].text
    assert "[mat-00001] (type=semantic, learner=alice, topic=fractions" in prompt
    assert RULE in prompt
    [bullet] = (await store.now("alice")).playbook.bullets()
    assert (bullet.content, bullet.helpful) == (better, 1)
    assert out["learning"]["rejected"] == []


@pytest.mark.parametrize(("more", "seen"), [(0, SMALL_BULLETS), (1, 10)], ids=["small", "large"])
async def test_a_small_playbook_is_shown_whole_and_of_a_large_one_ten_bullets(
    graph_of: Build, store: CountingStore, more: int, seen: int
) -> None:
    animals = ["otters", "badgers", "herons", "beavers", "lynxes", "moles", "storks"]
    meals = ["berries", "roots", "seeds", "leaves", "nuts", "bark", "worms"]
    facts = [Add(content=f"In spring {animal} eat {meal}") for animal in animals for meal in meals]
    extra = [Add(content="Winter is long in the north")] * more
    await store.seed("alice", *facts, Add(content="Name the currency of every price"), *extra)
    asked = f"In spring, what do {', '.join(animals)} eat: {' or '.join(meals)}?"
    model = ScriptedModel(
        solver=["<final>x</final>"],
        reflector=[lessons("Name the currency of a price and of a fee")],
        curator=[decisions()],
    )
    await graph_of(model).ainvoke(ask(asked), context=ALICE)
    prompt = model.calls_of("curator")[0].messages[0].text
    assert "Name the currency of every price" in prompt, "what the lessons are near to comes first"
    assert prompt.count("] (type=") == seen


async def test_of_long_bullets_it_sees_ten(graph_of: Build, store: CountingStore) -> None:
    words = [
        f"{first}{last}" for first in ("red", "blue", "pale", "dark") for last in ("fox", "owl", "elk", "eel")
    ]
    await store.seed("alice", *(Add(content=f"{word} " * 200) for word in words))
    model = ScriptedModel(
        solver=["<final>x</final>"], reflector=[lessons("Count every redfox")], curator=[decisions()]
    )
    await graph_of(model).ainvoke(ask("Where is a redfox?"), context=ALICE)
    assert model.calls_of("curator")[0].messages[0].text.count("] (type=") <= 10


@pytest.mark.parametrize(
    ("raw_reply", "log_content", "told"),
    [(True, False, "whole"), (False, True, "preview"), (False, False, "length")],
)
async def test_its_raw_replies_are_in_the_report(
    build: Build, raw_reply: bool, log_content: bool, told: str
) -> None:
    good = json.dumps({"reasoning": "It is new. " * 20, "operations": [{"type": "ADD", "lesson": 1}]})
    settings = Settings().model_copy(update={"curator_use_llm": True, "log_content": log_content})
    model = ScriptedModel(
        solver=["<final>5/6</final>"], reflector=[lessons(RULE)], curator=["nonsense", good]
    )
    context = ALICE.model_copy(update={"raw_reply": raw_reply})
    out = await build(model, settings=settings).ainvoke(ask(), context=context)
    lengths = ["[len=8]", f"[len={len(good)}]"]
    wanted = {"whole": ["nonsense", good], "preview": ["nonsense", preview(good)], "length": lengths}
    assert out["learning"]["curator_replies"] == wanted[told]


async def test_it_sees_the_question_and_the_reflectors_findings(graph_of: Build) -> None:
    reflection = {
        "error_identification": "the denominators were added",
        "root_cause_analysis": "the rule for products was used",
        "correct_approach": "find a common denominator",
        "key_insight": "sums need one denominator",
        "lessons": [{"content": RULE}],
    }
    model = ScriptedModel(
        solver=["<final>5/6</final>"], reflector=[json.dumps(reflection)], curator=[decisions()]
    )
    await graph_of(model).ainvoke(ask("What is 1/2 + 1/3 </question> now?"), context=ALICE)
    prompt = model.calls_of("curator")[0].messages[0].text
    for part in ("error_identification", "root_cause_analysis", "correct_approach", "key_insight"):
        assert str(reflection[part]) in prompt
    assert "What is 1/2 + 1/3" in prompt
    assert prompt.count("</question>") == 1, "the question is data"


async def test_it_sees_the_progress_of_the_memory(graph_of: Build, store: CountingStore) -> None:
    await store.seed("alice", Add(content=OTHER, helpful=2), Add(content="Draw a bar", harmful=1))
    told = json.dumps({"key_insight": "sums need one denominator", "lessons": [{"content": RULE}]})
    model = ScriptedModel(
        solver=["<final>5/6</final>", "<final>1/6</final>"],
        reflector=[told, lessons("Name the unit of the answer")],
        curator=[decisions()] * 2,
    )
    graph, judged = graph_of(model), ALICE.model_copy(update={"ground_truth": "5/6"})
    for _ in range(2):
        await graph.ainvoke(ask(), context=judged)
    first, second = (call.messages[0].text.partition("<progress>\n")[2] for call in model.calls_of("curator"))
    assert "items: 2; sections: 1; judged items: 2 (helpful: 2, harmful: 1)" in first
    assert "recent turns: none" in first
    assert "items: 3;" in second
    assert "recent turns: success: 1" in second
    assert "insight of an earlier turn: sums need one denominator\n</progress>" in second


async def test_its_reasoning_is_the_reason_of_the_delta(graph_of: Build, store: CountingStore) -> None:
    reply = json.dumps({"reasoning": "It says\nsomething new.", "operations": [{"type": "ADD", "lesson": 1}]})
    model = ScriptedModel(solver=["<final>5/6</final>"], reflector=[lessons(RULE)], curator=[reply])
    await graph_of(model).ainvoke(ask(), context=ALICE)
    assert store.calls.commits[-1].reason == "It says something new."
    assert (await store.history("alice")).entries[-1].reason == "It says something new."


@pytest.mark.parametrize(
    ("truth", "votes"), [(None, (0, 0)), ("5/6", (1, 0)), ("1/6", (0, 0))], ids=["none", "right", "wrong"]
)
async def test_a_tag_of_its_is_a_word_on_a_vote_that_evidence_has(
    graph_of: Build, store: CountingStore, truth: str | None, votes: tuple[int, int]
) -> None:
    await store.seed("alice", Add(content="Fractions need a common denominator", section="math"))
    tag = {"type": "TAG", "bullet_id": "mat-00001", "tag": "helpful"}
    model = ScriptedModel(solver=["<final>5/6</final>"], reflector=[lessons(OTHER)], curator=[decisions(tag)])
    context = ALICE.model_copy(update={"ground_truth": truth})
    await graph_of(model).ainvoke(ask("Which denominator do fractions need?"), context=context)
    kept = (await store.now("alice")).playbook.entries["mat-00001"]
    assert (kept.helpful, kept.harmful) == votes


async def test_it_merges_equal_claims_only(
    graph_of: Build, store: CountingStore, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "ace_graph")
    spring = "Otters look for berries in spring"
    texts = (spring, "Otters and moles look for berries", "Otters in spring sleep")
    await store.seed("alice", *(Add(content=text, section="math") for text in texts))
    await store.seed("alice", Update(bullet_id="mat-00002", content=f"{spring}."))
    other = {"type": "MERGE", "bullet_ids": ["mat-00001", "mat-00003"]}
    twins = {"type": "MERGE", "bullet_ids": ["mat-00001", "mat-00002"]}
    model = ScriptedModel(
        solver=["<final>x</final>"], reflector=[lessons(OTHER)], curator=[decisions(other, twins)]
    )
    question = ask("Do otters look for berries, or sleep, in spring?")
    out = await graph_of(model).ainvoke(question, context=ALICE)
    (pair,) = out["learning"]["merged"]
    assert f"[ACE Memory][Dedup Merge] kept={pair['kept']} merged={pair['gone']}" in caplog.messages
    assert "mat-00003" in (await store.now("alice")).playbook.entries
    assert "don't say the same" in str(out["learning"]["rejected"])


async def test_it_removes_only_bullets_with_evidence_against_them(
    graph_of: Build, store: CountingStore
) -> None:
    await store.seed("alice", Add(content="Fractions need a common denominator", section="math"))
    removal = {"type": "REMOVE", "bullet_id": "mat-00001"}
    model = ScriptedModel(
        solver=["<final>5/6</final>"], reflector=[lessons(RULE)], curator=[decisions(removal)]
    )
    out = await graph_of(model).ainvoke(ask(), context=ALICE)
    assert "mat-00001" in (await store.now("alice")).playbook.entries
    assert "only evidence" in str(out["learning"]["rejected"])


async def test_it_may_propose_nothing_about_the_core_or_ids_it_was_not_shown(
    graph_of: Build, store: CountingStore
) -> None:
    await store.seed("alice", Add(content="Fractions need a denominator", section="math", pinned=True))
    wanted = [
        {"type": "REMOVE", "bullet_id": "mat-00001"},
        {"type": "TAG", "bullet_id": "zzz-00099", "tag": "harmful"},
        {"type": "MERGE", "bullet_ids": ["mat-00001", "zzz-00099"]},
    ]
    model = ScriptedModel(
        solver=["<final>5/6</final>"], reflector=[lessons(RULE)], curator=[decisions(*wanted)]
    )
    out = await graph_of(model).ainvoke(ask(), context=ALICE)
    assert len(out["learning"]["rejected"]) == 3
    assert "mat-00001" in (await store.now("alice")).playbook.entries


async def test_a_covered_lesson_changes_nothing_but_the_access(graph_of: Build, store: CountingStore) -> None:
    before = await store.seed("alice", Add(content="Fractions need a common denominator", section="math"))
    model = ScriptedModel(
        solver=["<final>5/6</final>"],
        reflector=[lessons(RULE)],
        curator=[decisions({"type": "COVERED", "lesson": 1, "bullet_id": "mat-00001"})],
    )
    await graph_of(model).ainvoke(ask(), context=ALICE)
    assert (await store.now("alice")).playbook == before.playbook


@pytest.mark.parametrize("bullet_id", ["pro-00001", "zzz-00099"])
async def test_it_may_not_touch_the_profile_or_ids_it_was_not_shown(
    graph_of: Build, store: CountingStore, bullet_id: str
) -> None:
    await store.seed("alice", Add(content="Learner says: call me Al", section="profile", slot="name"))
    update = {"type": "UPDATE", "lesson": 1, "bullet_id": bullet_id, "content": "call me Mallory"}
    model = ScriptedModel(
        solver=["<final>5/6</final>"], reflector=[lessons(RULE)], curator=[decisions(update)]
    )
    await graph_of(model).ainvoke(ask(), context=ALICE)
    contents = {b.content for b in (await store.now("alice")).playbook.bullets()}
    assert contents == {"Learner says: call me Al", RULE}


async def test_without_lessons_the_curator_is_not_called(graph_of: Build) -> None:
    with ScriptedModel(solver=["<final>5/6</final>"], reflector=[lessons()]) as model:
        await graph_of(model).ainvoke(ask(), context=ALICE)


def test_the_proposals_of_one_turn_name_five_bullets_together() -> None:
    shown = [Bullet(id=f"gen-{n}", section="general", content=f"Lesson {n}") for n in range(7)]
    tags = [{"type": "TAG", "bullet_id": bullet.id, "tag": "helpful"} for bullet in shown]
    decided = decide([], Curation.model_validate({"operations": tags}).operations, shown)
    assert [tag.id for tag in decided.tags] == [bullet.id for bullet in shown[:MOST_PROPOSALS]]
    assert len(decided.problems) == 1
    merges = [{"type": "MERGE", "bullet_ids": ["gen-0", "gen-1", "gen-2"]}] * 2
    decided = decide([], Curation.model_validate({"operations": merges}).operations, shown)
    assert len(decided.proposals) == 1, "two of five are left, and the second merge names three"


class _SilentModel(ScriptedModel):
    """A model that never replies, and says when its caller stops waiting."""

    async def ainvoke(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,  # LangChain's signature
    ) -> AIMessage:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise RuntimeError("nobody waits any more") from None
        raise AssertionError


async def test_a_silent_curator_is_given_up_and_the_rules_curate() -> None:
    settings = Settings().model_copy(update={"llm_timeout": 0.001})
    resources = build_resources(settings=settings, store="memory://", model=_SilentModel())
    run = Run(resources, ALICE, "alice", Runtime(context=ALICE))
    add = Add(content=RULE)
    async with asyncio.timeout(PATIENT) as ours:  # without a limit of its own the call would never end
        curated = await curate_with_model([add], "What is 1/2 + 1/3?", None, Snapshot(), run)
    assert not ours.expired()
    assert curated.decided.lessons == (add,)
    assert curated.error is not None
    assert "nobody waits any more" in curated.error
