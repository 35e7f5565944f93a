"""Trajectories outside the graph: started, logged to, completed once; bounded, sampled, with parents."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import pytest
from pydantic import JsonValue

from ace_graph.base import Tracing, TrajectoryClosed, TrajectoryNotFound, UsageError
from ace_graph.learning import (
    Completion,
    complete_trajectory,
    delete_trajectory,
    get_trajectory,
    log_step,
    start_trajectory,
)
from ace_graph.memory import MAX_STEPS, TrajectoryFilter, TurnStatus
from ace_graph.memory.delta import Add
from ace_graph.memory.stores import Store
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.testing import check
from ace_graph.testing.conformance import rewriting, write
from tests.plugins.warm_python import WarmPython

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ROOT = Path(__file__).parents[2]


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return SQLiteStore() if request.param == "memory" else SQLiteStore(tmp_path / "ace.db")


async def test_what_was_started_is_listed_in_progress_at_once(store: Store) -> None:
    name = await start_trajectory(store, "bot", "Fetch the invoices", agent="crawler", task_type="api_call")
    (listed,) = await store.find_turns("bot", TrajectoryFilter(status="in_progress"))
    assert name == listed.turn_id != ""
    assert (listed.task, listed.agent, listed.task_type) == ("Fetch the invoices", "crawler", "api_call")
    assert (await store.load("bot")).access.recent_turns == ()


async def test_steps_keep_the_order_of_the_calls_and_their_metadata(store: Store) -> None:
    name = await start_trajectory(store, "bot", "Fetch")
    clock = (await store.load("bot")).access.access_clock
    await log_step(store, "bot", name, "decision", "page by page")
    await log_step(store, "bot", name, "action", "GET /1", {"page": 1, "deep": {"a": [1, None]}})
    await log_step(store, "bot", name, "observation", "429", {"retry": True})
    steps = (await get_trajectory(store, "bot", name)).steps
    assert [(step.kind, step.text) for step in steps] == [
        ("decision", "page by page"),
        ("action", "GET /1"),
        ("observation", "429"),
    ]
    assert steps[1].metadata == {"page": 1, "deep": {"a": [1, None]}}
    assert (await store.load("bot")).access.access_clock == clock, "a step is no access of the memory"


async def test_steps_logged_by_another_process_that_was_killed_are_there(
    tmp_path: Path, warm_python: WarmPython
) -> None:
    code = (
        "import asyncio, os, signal, sys\n"
        "from ace_graph.memory.stores.sql.sqlite import SQLiteStore\n"
        "from ace_graph.learning.trajectories import log_step, start_trajectory\n"
        "async def main():\n"
        "    store = SQLiteStore(sys.argv[1])\n"
        "    await start_trajectory(store, 'bot', 'Fetch', trajectory_id='t1')\n"
        "    await log_step(store, 'bot', 't1', 'action', 'before')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())\n"
    )
    path = tmp_path / "ace.db"
    killed = await asyncio.create_subprocess_exec(*warm_python("-c", code, str(path)), cwd=ROOT)
    assert await killed.wait() == -9
    async with SQLiteStore(path) as store:
        await log_step(store, "bot", "t1", "action", "after")
        assert [step.text for step in (await get_trajectory(store, "bot", "t1")).steps] == ["before", "after"]


async def test_a_step_sent_twice_is_there_once_and_a_repeated_one_is_counted(store: Store) -> None:
    name = await start_trajectory(store, "bot", "Wait")
    for _ in range(2):
        await log_step(store, "bot", name, "action", "open", step_id="s1")
    for _ in range(100):
        await log_step(store, "bot", name, "action", "poll", {"n": 1})
    steps = (await get_trajectory(store, "bot", name)).steps
    assert [(step.text, step.times) for step in steps] == [("open", 1), ("poll", 100)]


async def test_repeated_steps_are_stored_once_wherever_they_stand(tmp_path: Path) -> None:
    path, polled = tmp_path / "ace.db", " ".join(["ask whether the order has been shipped"] * 10)
    clock = (NOON + timedelta(seconds=n) for n in range(1_000))
    async with SQLiteStore(path) as store:
        name = await start_trajectory(store, "bot", "Wait", clock=lambda: next(clock))
        for n in range(40):
            again = {"page": 1, "again": 0} if n % 2 else {"page": 2}
            await log_step(store, "bot", name, "action", polled, again, clock=lambda: next(clock))
            await log_step(store, "bot", name, "observation", f"not yet, {n}", clock=lambda: next(clock))
        steps = (await get_trajectory(store, "bot", name)).steps
    assert [step.text for step in steps[::2]] == [polled] * 40
    assert [step.text for step in steps[1::2]] == [f"not yet, {n}" for n in range(40)]
    assert [step.metadata for step in steps[:4:2]] == [{"page": 2}, {"page": 1, "again": 0}]
    assert [step.kind for step in steps] == ["action", "observation"] * 40
    assert len({step.at for step in steps}) == 80
    with closing(sqlite3.connect(path)) as connection:
        (stored,) = connection.execute("SELECT record_json FROM ace_turns").fetchone()
    assert stored.count(polled) == 2


async def test_at_once_no_step_is_lost(store: Store) -> None:
    name = await start_trajectory(store, "bot", "Many hands")
    await asyncio.gather(*(log_step(store, "bot", name, "action", f"step {n}") for n in range(20)))
    steps = (await get_trajectory(store, "bot", name)).steps
    assert sorted(step.text for step in steps) == sorted(f"step {n}" for n in range(20))


async def test_it_is_completed_with_any_metrics_and_explicit_times(store: Store) -> None:
    name = await start_trajectory(store, "bot", "Fetch", clock=lambda: NOON)
    completion = Completion(
        score=0.95,
        metrics={"fields": 12, "ratio": 0.5, "names": ["a", None]},
        input_tokens=120,
        output_tokens=30,
        cost=0.002,
        model="m",
        answer="12 fields",
    )
    later = NOON + timedelta(seconds=1.5)
    await complete_trajectory(store, "bot", name, "success", completion, clock=lambda: later)
    turn = await get_trajectory(store, "bot", name)
    assert (turn.status, turn.verdict, turn.score, turn.duration_ms) == ("success", "success", 0.95, 1500.0)
    assert (turn.input_tokens, turn.output_tokens, turn.cost, turn.model) == (120, 30, 0.002, "m")
    assert turn.metrics == {"fields": 12, "ratio": 0.5, "names": ["a", None]}
    shown = json.loads(turn.model_dump_json())
    assert (shown["started_at"], shown["completed_at"]) == (
        "2026-01-01T12:00:00Z",
        "2026-01-01T12:00:01.500000Z",
    )
    assert await check(store, "bot") == []


async def test_three_metrics_stand_for_fields_that_are_not_given(store: Store) -> None:
    measured = {"tokens": 1500, "cost_usd": 0.03, "duration_ms": 2340}
    given = Completion(metrics=measured)
    other = Completion(metrics=measured, input_tokens=7, cost=0.5, duration_ms=10)
    wrote = Completion(metrics=measured, output_tokens=9)
    found = list[tuple[object, ...]]()
    for completion in (given, other, wrote, Completion(metrics={"tokens": None})):
        name = await start_trajectory(store, "bot", "Fetch", clock=lambda: NOON)
        await complete_trajectory(store, "bot", name, "success", completion, clock=lambda: NOON)
        turn = await get_trajectory(store, "bot", name)
        assert turn.metrics == completion.metrics
        found.append((turn.input_tokens, turn.output_tokens, turn.cost, turn.duration_ms))
    assert found == [(1500, 0, 0.03, 2340), (7, 0, 0.5, 10), (0, 9, 0.03, 2340), (0, 0, None, 0)]


@pytest.mark.parametrize(
    "metrics",
    [
        {"tokens": "many"},
        {"tokens": 1.5},
        {"tokens": 10**400},
        {"cost_usd": -1},
        {"cost_usd": True},
        {"duration_ms": float("inf")},
        {"duration_ms": float("nan")},
    ],
)
async def test_a_metric_that_is_no_such_number_is_refused(
    store: Store, metrics: dict[str, JsonValue]
) -> None:
    name = await start_trajectory(store, "bot", "Fetch")
    with pytest.raises(UsageError, match=f"{next(iter(metrics))} must be a "):
        await complete_trajectory(store, "bot", name, "success", Completion(metrics=metrics))
    assert (await get_trajectory(store, "bot", name)).status == "in_progress"


@pytest.mark.parametrize(
    ("status", "score", "said"),
    [
        ("banana", None, "use success, failure or partial"),
        ("in_progress", None, "use success"),
        ("success", 1.2, "score"),
        ("success", -0.1, "score"),
        ("success", float("nan"), "score"),
    ],
)
async def test_an_outcome_out_of_bounds_is_refused_and_nothing_changes(
    store: Store, status: str, score: float | None, said: str
) -> None:
    name = await start_trajectory(store, "bot", "Fetch")
    with pytest.raises(UsageError, match=said):
        await complete_trajectory(store, "bot", name, cast("TurnStatus", status), Completion(score=score))
    assert (await get_trajectory(store, "bot", name)).status == "in_progress"
    assert await store.list_pending("bot") == ()


@pytest.mark.parametrize("score", [0.0, 1.0])
async def test_the_bounds_of_the_score_belong_to_it(store: Store, score: float) -> None:
    name = await start_trajectory(store, "bot", "Fetch")
    await complete_trajectory(store, "bot", name, "partial", Completion(score=score))
    assert (await get_trajectory(store, "bot", name)).score == score


async def test_a_completed_one_stays_as_it_is(store: Store) -> None:
    name = await start_trajectory(store, "bot", "Fetch")
    both = await asyncio.gather(
        complete_trajectory(store, "bot", name, "failure", Completion(error="first")),
        complete_trajectory(store, "bot", name, "failure", Completion(error="first")),
        return_exceptions=True,
    )
    assert sum(isinstance(end, TrajectoryClosed) for end in both) <= 1
    with pytest.raises(TrajectoryClosed):
        await complete_trajectory(store, "bot", name, "success")
    with pytest.raises(TrajectoryClosed):
        await log_step(store, "bot", name, "action", "late")
    turn = await get_trajectory(store, "bot", name)
    assert (turn.status, turn.error, turn.steps) == ("failure", "first", ())
    assert len(await store.list_pending("bot")) == 1


async def test_one_that_is_not_there_is_named(store: Store) -> None:
    for call in (
        log_step(store, "bot", "nowhere", "action", "x"),
        complete_trajectory(store, "bot", "nowhere", "success"),
        start_trajectory(store, "bot", "a part", parent_id="nowhere"),
        delete_trajectory(store, "bot", "nowhere"),
    ):
        with pytest.raises(TrajectoryNotFound, match="nowhere"):
            await call


async def test_a_part_outlives_its_parent(store: Store) -> None:
    parent = await start_trajectory(store, "bot", "The whole")
    part = await start_trajectory(store, "bot", "A part", parent_id=parent)
    (found,) = await store.find_turns("bot", TrajectoryFilter(parent_id=parent))
    assert found.turn_id == part
    await delete_trajectory(store, "bot", parent)
    (left,) = await store.turns("bot")
    assert (left.turn_id, left.parent_id) == (part, None)
    with pytest.raises(TrajectoryNotFound):
        await get_trajectory(store, "bot", parent)
    assert await check(store, "bot") == []


async def test_the_outcome_credits_what_was_cited_at_once(store: Store) -> None:
    await write(
        store, "bot", rewriting(Add(content="Ask for fewer pages"), Add(content="Sleep between calls"))
    )
    ids = [bullet.id for bullet in (await store.load("bot")).playbook.bullets()]
    name = await start_trajectory(store, "bot", "Fetch", injected=ids)
    await complete_trajectory(store, "bot", name, "failure", Completion(error="429", cited=ids[:1]))
    entries = (await store.load("bot")).playbook.entries
    assert [entries[name].harmful for name in ids] == [1, 0]


async def test_more_than_the_bound_of_steps_keeps_the_first_and_the_newest(store: Store) -> None:
    name = await start_trajectory(store, "bot", "Long")
    for n in range(MAX_STEPS + 30):
        await log_step(store, "bot", name, "action", f"step {n}" + " x" * (1_000 if n == 0 else 0))
    turn = await get_trajectory(store, "bot", name)
    assert (len(turn.steps), turn.steps_left_out) == (MAX_STEPS, 30)
    assert turn.steps[0].text.startswith("step 0 x")
    assert turn.steps[0].text.endswith("… [len=2006]")
    assert [turn.steps[49].text, turn.steps[50].text, turn.steps[-1].text] == [
        "step 49",
        "step 80",
        "step 229",
    ]


async def test_a_hundred_steps_take_less_than_twice_the_room_of_the_final_trace(tmp_path: Path) -> None:
    path = tmp_path / "ace.db"
    async with SQLiteStore(path) as store:
        name = await start_trajectory(store, "bot", "Long")
        for n in range(100):
            await log_step(store, "bot", name, "action", f"step {n} " + "with some words " * 10)
        final = len((await get_trajectory(store, "bot", name)).model_dump_json())
    with closing(sqlite3.connect(path)) as connection:
        (stored,) = connection.execute("SELECT sum(length(record_json)) FROM ace_turns").fetchone()
    assert stored < 2 * final


async def test_failures_and_a_sample_of_successes_keep_their_steps(store: Store) -> None:
    kept = dict[str, int]()
    tracing = Tracing(success_rate=0.1, seed="fixed")
    names = [(f"s{n}", "success") for n in range(50)] + [(f"f{n}", "failure") for n in range(3)]
    for name, status in names:
        await start_trajectory(store, "bot", "x", trajectory_id=name)
        await log_step(store, "bot", name, "action", "did it")
        end = cast("TurnStatus", status)
        await complete_trajectory(
            store, "bot", name, end, Completion(learns=False, source=None), tracing=tracing
        )
    turns = await store.turns("bot", 1_000)
    for turn in turns:
        kept[turn.status] = kept.get(turn.status, 0) + bool(turn.steps)
        assert turn.steps_dropped == (None if turn.steps else "sampled")
    assert (len(turns), kept["failure"]) == (53, 3)
    assert 1 <= kept["success"] <= 12
