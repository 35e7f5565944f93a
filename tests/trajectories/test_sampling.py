"""ACE_TRACE_SAMPLE and ACE_TRACE_FAILURES hold for trajectories of one's own as they do for turns."""

from __future__ import annotations

from collections import Counter

import pytest

from ace_graph.base import Settings, Tracing
from ace_graph.learning import (
    Completion,
    RunningTrajectory,
    complete_trajectory,
    execute_with_learning,
    get_trajectory,
    log_step,
    start_trajectory,
)
from ace_graph.memory import TurnStatus
from ace_graph.memory.stores.sql import SQLiteStore


@pytest.fixture
def store() -> SQLiteStore:
    return SQLiteStore()


async def _executed(store: SQLiteStore, name: str, status: TurnStatus, settings: Settings) -> None:
    async def task(trajectory: RunningTrajectory) -> tuple[str, TurnStatus]:
        await trajectory.alog("action", "did it")
        return name, status

    await execute_with_learning(
        task, name, store=store, learner_id="bot", auto_reflect=False, settings=settings
    )


async def _kept(store: SQLiteStore) -> Counter[str]:
    """How many trajectories of each outcome have their steps."""
    turns = await store.turns("bot", 10_000)
    return Counter(turn.status for turn in turns if turn.steps)


async def test_execute_with_learning_samples_successes_and_keeps_failures(store: SQLiteStore) -> None:
    settings = Settings(trace_sample=0.2)
    for number in range(96):
        await _executed(store, f"task {number}", "success" if number % 6 else "failure", settings)
    kept, turns = await _kept(store), await store.turns("bot", 10_000)
    assert kept["failure"] == 16
    assert 2 <= kept["success"] <= 40
    assert Counter(turn.status for turn in turns) == {"success": 80, "failure": 16}
    assert {turn.steps_dropped for turn in turns if not turn.steps} == {"sampled"}


@pytest.mark.parametrize(("failures", "kept"), [(True, {"failure": 3}), (False, {})])
async def test_at_rate_zero_failures_stay_only_where_wanted(
    store: SQLiteStore, failures: bool, kept: dict[str, int]
) -> None:
    settings = Settings(trace_sample=0, trace_failures=failures)
    for number in range(3):
        await _executed(store, f"right {number}", "success", settings)
        await _executed(store, f"wrong {number}", "failure", settings)
    assert await _kept(store) == kept


async def test_a_task_that_raises_is_a_failure_that_is_sampled(store: SQLiteStore) -> None:
    async def task(trajectory: RunningTrajectory) -> None:
        await trajectory.alog("action", "did it")
        raise OSError("away")

    for failures in (True, False):
        settings = Settings(trace_sample=0, trace_failures=failures)
        with pytest.raises(OSError, match="away"):
            await execute_with_learning(task, "x", store=store, learner_id="bot", settings=settings)
    assert [len(turn.steps) for turn in await store.turns("bot")] == [0, 1]


async def _completed(store: SQLiteStore, tracing: Tracing | None = None) -> int:
    name = await start_trajectory(store, "bot", "task")
    await log_step(store, "bot", name, "action", "did it")
    await complete_trajectory(store, "bot", name, "success", Completion(learns=False), tracing=tracing)
    return len((await get_trajectory(store, "bot", name)).steps)


async def test_complete_trajectory_goes_by_the_environment(
    store: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await _completed(store) == 1
    monkeypatch.setenv("ACE_TRACE_SAMPLE", "0")
    assert await _completed(store) == 0
    assert await _completed(store, Tracing()) == 1


async def test_execute_with_learning_goes_by_the_environment(
    store: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def task(trajectory: RunningTrajectory) -> str:
        await trajectory.alog("action", "did it")
        return "done"

    monkeypatch.setenv("ACE_TRACE_SAMPLE", "0")
    await execute_with_learning(task, "x", store=store, learner_id="bot", auto_reflect=False)
    assert await _kept(store) == {}


async def test_what_is_left_to_learn_holds_all_steps(store: SQLiteStore) -> None:
    name = await start_trajectory(store, "bot", "task")
    await log_step(store, "bot", name, "action", "did it in two steps")
    await complete_trajectory(store, "bot", name, "success", tracing=Tracing(0))
    (item,) = await store.list_pending("bot")
    assert (await get_trajectory(store, "bot", name)).steps == ()
    assert "did it in two steps" in item.body
