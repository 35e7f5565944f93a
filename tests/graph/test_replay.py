"""Replay in a whole turn: a failed answer's lessons are tried on its question before they are kept."""

from __future__ import annotations

import json

import pytest

from ace_graph import ACEContext, Evidence, Settings
from ace_graph.memory.delta import Add
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import Build, CountingStore, ask

TRIED, UNTRIED = Settings(), Settings().model_copy(update={"replay": False})
FAILED = ACEContext(learner_id="alice", ground_truth="5/6")
RIGHT = "Give both fractions one denominator before adding the tops"
WRONG = "Add the tops of fractions, and add the bottoms"


def reply(*contents: str) -> str:
    lessons = [{"content": content} for content in contents]
    return json.dumps({"key_insight": "Tops and bottoms of fractions differ", "lessons": lessons})


def model(*contents: str, retry: str | Exception = "<final>5/6</final>") -> ScriptedModel:
    return ScriptedModel(solver=["<final>2/5</final>"], reflector=[reply(*contents)], retry=[retry])


async def texts(store: CountingStore) -> list[str]:
    return [bullet.content for bullet in (await store.now("alice")).playbook.bullets()]


async def measured(store: CountingStore) -> tuple[int, int]:
    """How often advice was followed, or a lesson tried, and the answer was right or wrong."""
    trial = (await store.now("alice")).access.trial
    return trial.followed_right, trial.followed_wrong


async def test_a_lesson_that_helps_is_kept(build: Build, store: CountingStore) -> None:
    with model(RIGHT) as scripted:
        out = await build(scripted, settings=TRIED).ainvoke(ask(), context=FAILED)
    [bullet] = (await store.now("alice")).playbook.bullets()
    assert (bullet.content, bullet.helpful) == (RIGHT, 1), "its first success"
    assert (out["learning"]["replay"], out["usage"]["retry"]["calls"]) == ("kept", 1)
    assert await measured(store) == (1, 0)
    assert f"<lessons>\n- {RIGHT}\n</lessons>" in scripted.calls_of("retry")[0].messages[0].text
    assert out["messages"][-1].content == "2/5", "the learner sees the first answer alone"


async def test_a_lesson_that_does_not_help_is_refused_with_the_reason(
    build: Build, store: CountingStore
) -> None:
    known = "Fractions: the bottoms are added too"
    await store.seed("alice", Add(content=known, id="fra-00001"))
    scripted = ScriptedModel(
        solver=["<final>2/5</final><used>fra-00001</used>"],
        reflector=[reply(WRONG)],
        retry=["<final>2/5</final>"],
    )
    with scripted:
        out = await build(scripted, settings=TRIED).ainvoke(
            ask("fractions: what is 1/2 + 1/3?"), context=FAILED
        )
    assert await texts(store) == [known]
    assert out["learning"]["replay"] == "refused"
    why = f"replay: the answer with it is not better: {WRONG}"
    assert {"op": "lesson", "id": "", "why": why} in out["learning"]["rejected"]
    assert await measured(store) == (0, 1), "the replay"
    asked, again = (scripted.calls_of(role)[0].messages[0].text for role in ("solver", "retry"))
    assert (known in asked, known in again) == (True, False), "what the failed answer followed is left out"
    playbook = (await store.now("alice")).playbook
    assert playbook.reflections == (), "an insight of refused lessons reaches no prompt either"
    assert [(b.helpful, b.harmful) for b in playbook.bullets()] == [(0, 1)], "the failure still counts"


async def test_a_check_that_fails_to_run_loses_no_lesson(build: Build, store: CountingStore) -> None:
    calls = list[str]()

    def check(question: str, answer: str, context: ACEContext) -> Evidence:
        calls.append(answer)
        if len(calls) > 1:
            raise ConnectionError("the check is down")
        return Evidence(source="evaluator", verdict="failure")

    with model(RIGHT) as scripted:
        context = FAILED.model_copy(update={"ground_truth": None})
        out = await build(scripted, settings=TRIED, evaluator=check).ainvoke(ask(), context=context)
    assert calls == ["2/5", "5/6"]
    assert await texts(store) == [RIGHT]
    assert (out["learning"]["replay"], out["learning"]["error"]) == ("not tried", None)


async def test_a_model_that_fails_loses_no_lesson(build: Build, store: CountingStore) -> None:
    with model(RIGHT, retry=RuntimeError("down")) as scripted:
        out = await build(scripted, settings=TRIED).ainvoke(ask(), context=FAILED)
    assert await texts(store) == [RIGHT]
    assert (out["learning"]["replay"], out["learning"]["error"]) == ("not tried", None)


async def test_a_lesson_that_holds_the_truth_is_not_tried(build: Build, store: CountingStore) -> None:
    lesson = "Halves and thirds together make 5/6 of a whole"
    with model(lesson, retry="<final>2/5</final>") as scripted:
        out = await build(scripted, settings=TRIED).ainvoke(ask(), context=FAILED)
    assert "5/6" not in scripted.calls_of("retry")[0].messages[0].text
    assert (await texts(store), out["learning"]["replay"]) == ([lesson], "not tried")


async def test_only_lessons_that_were_tried_are_refused(build: Build, store: CountingStore) -> None:
    untried = "Halves and thirds together make 5/6 of a whole"
    with model(WRONG, untried, retry="<final>2/5</final>") as scripted:
        out = await build(scripted, settings=TRIED).ainvoke(ask(), context=FAILED)
    assert (await texts(store), out["learning"]["replay"]) == ([untried], "refused")


@pytest.mark.parametrize(
    ("settings", "answer"), [(UNTRIED, "2/5"), (TRIED, "5/6")], ids=["off", "it was right"]
)
async def test_nothing_is_tried_without_need(
    build: Build, store: CountingStore, settings: Settings, answer: str
) -> None:
    scripted = ScriptedModel(solver=[f"<final>{answer}</final>"], reflector=[reply(RIGHT)])
    with scripted:
        out = await build(scripted, settings=settings).ainvoke(ask(), context=FAILED)
    assert await texts(store) == [RIGHT]
    assert (out["learning"]["replay"], "retry" in out["usage"]) == (None, False)
