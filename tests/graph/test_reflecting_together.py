"""When a turn is reflected on by default: at once after a failure or a doubt, else together with others."""

from __future__ import annotations

import json

from langchain_core.messages import AIMessage, HumanMessage

from ace_graph import ACEContext
from ace_graph.learning.tasks import FIRST_TURNS, TOGETHER
from ace_graph.memory import Snapshot
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import Build, CountingStore, ask, said
from tests.graph.test_data_in_every_prompt import BLOCKS, check_blocks, planted
from tests.graph.test_learning import lessons

ALICE = ACEContext(learner_id="alice")
QUESTION = "How do I write test number {} for a parser?"
NOTHING = lessons()


async def _beyond_the_first(store: CountingStore, build: Build) -> Snapshot:
    """A learner who is not new any more, and of whose turns all are reflected on."""
    model = ScriptedModel(solver=["<final>so</final>"] * FIRST_TURNS, reflector=[NOTHING] * FIRST_TURNS)
    graph = build(model)
    for n in range(FIRST_TURNS):
        await graph.ainvoke(ask(QUESTION.format(n)), context=ALICE)
    model.assert_done()
    return await store.now("alice")


async def test_turns_that_nothing_speaks_against_are_read_in_one_call(
    build: Build, store: CountingStore
) -> None:
    """Their lessons name the turn that they are of, and so do facts that the learner said in one of them."""
    await _beyond_the_first(store, build)
    found = json.dumps(
        {
            "lessons": [
                {"content": "Freeze the clock of the scheduler in its checks"},
                {"content": "Feed the parser one token at a time"},
            ],
            "learner_facts": [{"quote": "I play chess on Sundays", "kind": "hobby", "subject": "chess"}],
        }
    )
    model = ScriptedModel(solver=["<final>so</final>"] * TOGETHER, reflector=[found])
    graph, turns = build(model), list[str]()
    questions = ["I play chess on Sundays, so when can I check the clock of the scheduler?"]
    questions += [planted(QUESTION.format(n), *BLOCKS["reflect_together"]) for n in range(2, TOGETHER)]
    questions.append(QUESTION.format(1))
    for question in questions:
        out = await graph.ainvoke(ask(question), context=ALICE)
        assert out["learning"]["error"] is None
        turns.append(out["learning"]["turn_id"])
    model.assert_done()
    (call,) = model.calls_of("reflector")
    assert questions[0] in call.messages[0].text
    check_blocks(call.messages[0].text, BLOCKS["reflect_together"])
    of = {bullet.content: bullet.turn_id for bullet in (await store.now("alice")).playbook.bullets()}
    assert of["Freeze the clock of the scheduler in its checks"] == turns[0]
    assert of["Feed the parser one token at a time"] == turns[-1]
    assert next(turn for text, turn in of.items() if "chess" in text) == turns[0]
    assert all(turn.analyzed for turn in (await store.now("alice")).access.recent_turns)


async def test_what_was_said_before_something_is_forgotten_is_read_no_more(
    build: Build, store: CountingStore
) -> None:
    """A later reflection must not bring back what the learner asked to forget."""
    await _beyond_the_first(store, build)
    model = ScriptedModel(solver=["<final>so</final>"] * (TOGETHER + 2), reflector=[NOTHING])
    graph = build(model)
    for question in ("My chess club meets on Sundays, what do I bring?", "Forget that I play chess."):
        await graph.ainvoke(ask(question), context=ALICE)
    for n in range(TOGETHER):
        await graph.ainvoke(ask(QUESTION.format(n)), context=ALICE)
    model.assert_done()
    (call,) = model.calls_of("reflector")
    assert "Sundays" not in call.messages[0].text


async def test_turns_that_a_worker_will_read_wait_no_more(build: Build, store: CountingStore) -> None:
    await _beyond_the_first(store, build)
    graph = build(ScriptedModel(solver=["<final>so</final>"] * (TOGETHER + 3)))
    context = ALICE.model_copy(update={"learning": "background"})
    left = [
        (await graph.ainvoke(ask(QUESTION.format(n)), context=context))["learning"]["pending"]
        for n in range(TOGETHER + 3)
    ]
    assert [n for n, item in enumerate(left) if item is not None] == [TOGETHER - 1]


async def test_a_failure_is_reflected_on_at_once_and_alone(build: Build, store: CountingStore) -> None:
    await _beyond_the_first(store, build)
    model = ScriptedModel(solver=["<final>so</final>", "<final>1/5</final>"], reflector=[NOTHING])
    graph = build(model)
    await graph.ainvoke(ask(QUESTION.format(1)), context=ALICE)
    await graph.ainvoke(ask(), context=ALICE.model_copy(update={"ground_truth": "5/6"}))
    model.assert_done()
    (call,) = model.calls_of("reflector")
    assert QUESTION.format(1) not in call.messages[0].text


async def test_an_objection_is_reflected_on_at_once(build: Build, store: CountingStore) -> None:
    await _beyond_the_first(store, build)
    model = ScriptedModel(
        solver=["<final>It is the third one.</final>", "<final>The second.</final>"], reflector=[NOTHING]
    )
    graph = build(model)
    first = ask("Which of the drawers holds the spoons?")
    out = await graph.ainvoke(first, context=ALICE)
    answer = out["messages"][-1]
    again = [*first["messages"], AIMessage(answer.text, id=answer.id), HumanMessage("That's wrong.")]
    await graph.ainvoke(said(again), context=ALICE)
    model.assert_done()


async def test_usage_says_what_learning_cost(build: Build) -> None:
    model = ScriptedModel(solver=["<final>so</final>"], reflector=[NOTHING])
    usage = (await build(model).ainvoke(ask(), context=ALICE))["usage"]
    assert set(usage) == {"solver", "reflector"}
    spent = usage["reflector"]
    assert (spent["calls"], spent["output_tokens"] > 0, spent["seconds"] > 0) == (1, True, True)
