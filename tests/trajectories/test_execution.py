"""Any callable with learning around it: its result, its status, its exception, and what is learned."""

from __future__ import annotations

import asyncio
import json

import pytest

from ace_graph.base import Settings
from ace_graph.learning import (
    BatchReflection,
    Completion,
    RunningTrajectory,
    TaskEvent,
    TaskResult,
    batch_reflect,
    curate,
    execute_with_learning,
    get_trajectory,
)
from ace_graph.memory import TurnStatus
from ace_graph.memory.delta import Add
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.testing import ScriptedModel
from ace_graph.testing.conformance import rewriting, write
from tests.plugins.sizes import PATIENT

RULE = "Ask for fewer pages at once"
LESSONS = json.dumps(
    {
        "reasoning": "r",
        "error_identification": "too many pages",
        "correct_approach": "ask for ten pages",
        "key_insight": "the service counts pages",
        "lessons": [
            {"content": RULE},
            {"content": "Never fetch in parallel", "polarity": "anti_pattern"},
            {"content": "The service is slow at noon", "polarity": "observation"},
        ],
    }
)


@pytest.fixture
def store() -> SQLiteStore:
    return SQLiteStore()


async def test_a_sync_and_an_async_task_give_their_result_and_the_id(store: SQLiteStore) -> None:
    async def later(trajectory: RunningTrajectory) -> tuple[int, str]:
        await trajectory.alog("action", "GET /1", {"page": 1})
        return 2, "partial"

    def now(trajectory: RunningTrajectory) -> int:
        trajectory.log("observation", "seen")
        return 1

    first, a = await execute_with_learning(now, "Count", store=store, learner_id="bot")
    second, b = await execute_with_learning(later, "Count on", store=store, learner_id="bot", agent="crawler")
    third, _ = await execute_with_learning(lambda: ("x", "y"), "Pair", store=store, learner_id="bot")
    assert (first, second, third) == (1, 2, ("x", "y"))
    one, two = await get_trajectory(store, "bot", a), await get_trajectory(store, "bot", b)
    assert (one.status, one.verdict, [step.text for step in one.steps]) == ("success", "unknown", ["seen"])
    assert (two.status, two.verdict, two.agent, two.steps[0].metadata) == (
        "partial",
        "partial",
        "crawler",
        {"page": 1},
    )


@pytest.mark.parametrize("status", ["success", "failure", "partial"])
async def test_what_the_task_reports_is_what_counts(store: SQLiteStore, status: TurnStatus) -> None:
    completion = Completion(score=0.4, metrics={"pages": 3})
    result, name = await execute_with_learning(
        lambda: TaskResult("half", status, completion), "Fetch", store=store, learner_id="bot"
    )
    turn = await get_trajectory(store, "bot", name)
    assert (result, turn.status, turn.verdict) == ("half", status, status)
    assert (turn.score, turn.metrics) == (0.4, {"pages": 3})


async def test_an_exception_is_a_failure_and_reaches_the_caller(store: SQLiteStore) -> None:
    def broken() -> None:
        raise LookupError("no such page")

    with pytest.raises(LookupError, match="no such page"):
        await execute_with_learning(broken, "Fetch", store=store, learner_id="bot")
    (turn,) = await store.turns("bot")
    assert (turn.status, turn.error, turn.score) == ("failure", "LookupError: no such page", 0.0)
    assert turn.evidence[0].source == "tool"
    assert len(await store.list_pending("bot")) == 1


async def test_an_iterator_that_had_no_more_is_a_failure_like_any_other(store: SQLiteStore) -> None:
    def exhausted() -> object:
        return next(iter(()))

    with pytest.raises(RuntimeError, match="StopIteration"):
        async with asyncio.timeout(PATIENT):  # nobody ever told the caller
            await execute_with_learning(exhausted, "Fetch", store=store, learner_id="bot")
    (turn,) = await store.turns("bot")
    assert turn.status == "failure"


async def test_a_hook_is_told_before_and_after_a_task(store: SQLiteStore) -> None:
    told = list[TaskEvent]()

    async def hook(event: TaskEvent) -> None:
        stored = await get_trajectory(store, "bot", event.trajectory_id)
        assert (stored.status == "in_progress") is (event.phase == "begins")
        told.append(event)

    def broken() -> None:
        raise LookupError("no such page")

    _, name = await execute_with_learning(
        lambda: (1, "partial"), "Fetch", store=store, learner_id="bot", task_type="io", on_task=hook
    )
    with pytest.raises(LookupError):
        await execute_with_learning(
            broken, "Fetch on", store=store, learner_id="bot", parent_id=name, on_task=told.append
        )
    waiting = [item.pending_id for item in await store.list_pending("bot")]
    assert [(event.phase, event.status, event.pending_id) for event in told] == [
        ("begins", None, None),
        ("ended", "partial", waiting[0]),
        ("begins", None, None),
        ("ended", "failure", waiting[1]),
    ]
    assert {(event.task, event.task_type, event.parent_id) for event in told} == {
        ("Fetch", "io", None),
        ("Fetch on", None, name),
    }


async def test_a_hook_is_told_what_is_left_to_a_worker(store: SQLiteStore) -> None:
    told = list[TaskEvent]()
    await execute_with_learning(
        lambda: (1, "failure"),
        "Fetch",
        store=store,
        learner_id="bot",
        learning="inline",
        model=ScriptedModel(reflector=[LESSONS]),
        on_task=told.append,
    )
    assert (told[-1].phase, told[-1].pending_id) == ("ended", None)


async def test_a_hook_that_fails_costs_nothing(store: SQLiteStore, caplog: pytest.LogCaptureFixture) -> None:
    def hook(event: TaskEvent) -> None:
        raise KeyError(event.phase)

    result, name = await execute_with_learning(
        lambda: "all pages", "Fetch", store=store, learner_id="bot", on_task=hook
    )
    turn = await get_trajectory(store, "bot", name)
    assert (result, turn.status) == ("all pages", "success")
    assert [record.levelname for record in caplog.records if "the hook failed" in record.message] == [
        "ERROR"
    ] * 2


async def test_what_was_learned_is_there_for_the_next_run(store: SQLiteStore) -> None:
    seen = list[str]()
    model = ScriptedModel(reflector=[LESSONS])

    def fetch(trajectory: RunningTrajectory) -> tuple[str, str]:
        seen.append(trajectory.context)
        return "429", "failure"

    async def run() -> str:
        done = await execute_with_learning(
            fetch,
            "Fetch all pages at once",
            store=store,
            learner_id="bot",
            learning="inline",
            model=model,
            settings=Settings(),
            auto_reflect=not seen,
        )
        return done[1]

    first = await run()
    (reflection,) = (await get_trajectory(store, "bot", first)).reflections
    assert reflection.successes == (), "the run failed"
    assert reflection.failures == ("Never fetch in parallel", "too many pages")
    assert reflection.observations == ("The service is slow at noon",)
    assert reflection.recommendations == ("ask for ten pages", RULE)
    assert reflection.insight == "the service counts pages"
    second = await get_trajectory(store, "bot", await run())
    assert (seen[0], RULE in seen[1]) == ("", True)
    assert len(second.injected) >= 1


async def test_what_is_curated_from_many_runs_is_only_what_was_taught(store: SQLiteStore) -> None:
    for _ in range(2):
        await execute_with_learning(
            lambda: ("429", "failure"),
            "Fetch the pages",
            store=store,
            learner_id="bot",
            auto_curate=False,
            learning="inline",
            model=ScriptedModel(reflector=[LESSONS]),
            settings=Settings(),
        )
    found = await batch_reflect(store, "bot", min_trajectories=2)
    assert isinstance(found, BatchReflection)
    await curate(store, "bot", [each.memory_id for each in found.patterns])
    learned = {bullet.content for bullet in (await store.load("bot")).playbook.bullets()}
    assert learned == {RULE, "Never fetch in parallel", "The service is slow at noon"}


@pytest.mark.parametrize(("reflects", "curates"), [(False, False), (True, False), (True, True)])
async def test_reflecting_and_curating_can_each_be_off(
    store: SQLiteStore, reflects: bool, curates: bool
) -> None:
    await write(store, "bot", rewriting(Add(content="Fetch page by page")))
    before = (await store.load("bot")).version
    model = ScriptedModel(reflector=[LESSONS] * reflects)
    _, name = await execute_with_learning(
        lambda: (None, "failure"),
        "Fetch the pages",
        store=store,
        learner_id="bot",
        auto_reflect=reflects,
        auto_curate=curates,
        learning="inline",
        model=model,
        settings=Settings(),
    )
    assert len((await get_trajectory(store, "bot", name)).reflections) == reflects
    assert ((await store.load("bot")).version != before) == curates
    model.assert_done()


async def test_learning_that_fails_costs_no_result(store: SQLiteStore) -> None:
    result, name = await execute_with_learning(
        lambda: ("done", "failure"),
        "Fetch",
        store=store,
        learner_id="bot",
        learning="inline",
        model=ScriptedModel(reflector=[ValueError("down")]),
        settings=Settings(),
    )
    assert result == "done"
    (waiting,) = await store.list_pending("bot")
    assert (waiting.turn_id, waiting.state) == (name, "pending")
    assert "down" in (waiting.error or "")


async def test_each_call_may_bring_its_own_model(store: SQLiteStore) -> None:
    models = [ScriptedModel(reflector=[LESSONS]) for _ in range(2)]
    for model in models:
        await execute_with_learning(
            lambda: (None, "failure"),
            "Fetch",
            store=store,
            learner_id="bot",
            learning="inline",
            model=model,
            settings=Settings(),
        )
        model.assert_done()
