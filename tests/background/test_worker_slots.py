"""How a worker's slots look for work: one of them at a time, and at once when there may be some."""

from __future__ import annotations

import asyncio
import json

import pytest

from ace_graph import ACEContext
from ace_graph.base import StoreUnavailable
from ace_graph.learning import ItemOutcome
from ace_graph.memory import PendingItem
from ace_graph.memory.stores import Store
from ace_graph.testing import ScriptedModel
from tests.background.conftest import LESSON, Build, Hire
from tests.graph.conftest import ask
from tests.plugins.sizes import PATIENT

ALICE = ACEContext(learner_id="alice", reflect_when="always")
LESSONS = json.dumps({"reasoning": "r", **LESSON})
ANSWER = "<final>5/6</final>"


async def test_an_idle_worker_asks_the_store_with_one_slot_only(
    store: Store, hire: Hire, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, slept = list[object](), asyncio.Event()
    claim = store.claim

    async def counted(*args: object) -> PendingItem | None:
        asked.append(args)
        return await claim(*args)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # passed on

    async def for_ever(_: float) -> None:
        slept.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(store, "claim", counted)
    worker = hire(ScriptedModel(), concurrency=4, sleep=for_ever)
    running = asyncio.create_task(worker.run())
    await slept.wait()
    for _ in range(50):
        await asyncio.sleep(0)
    worker.stop()
    await running
    assert len(asked) == 1


async def test_an_announced_item_costs_one_question_to_the_store(
    build: Build, hire: Hire, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, idle, ended = list[object](), asyncio.Event(), asyncio.Event()
    claim = store.claim

    async def counted(*args: object) -> PendingItem | None:
        asked.append(args)
        return await claim(*args)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # passed on

    async def for_ever(_: float) -> None:
        idle.set()
        await asyncio.Event().wait()

    def learned(_: ItemOutcome) -> None:
        ended.set()

    model = ScriptedModel(solver=[ANSWER] * 3, reflector=[LESSONS] * 3)
    graph = build(model)
    monkeypatch.setattr(store, "claim", counted)
    worker = hire(model, concurrency=4, sleep=for_ever, on_learned=learned)
    running = asyncio.create_task(worker.run())
    await idle.wait()
    for n in range(3):
        await graph.ainvoke(ask(f"What is {n}/2 + 1/3?"), context=ALICE)
        ended.clear()
        worker.wake("alice")
        await ended.wait()
    for _ in range(50):
        await asyncio.sleep(0)
    worker.stop()
    await running
    assert len(asked) == 1 + 3
    assert await store.list_pending() == ()


async def test_a_learners_turns_follow_each_other_without_a_pause(
    build: Build, hire: Hire, store: Store
) -> None:
    ended = list[ItemOutcome]()

    async def for_ever(_: float) -> None:
        await asyncio.Event().wait()

    def learned(item: ItemOutcome) -> None:
        ended.append(item)
        if len(ended) == 3:
            worker.stop()

    model = ScriptedModel(solver=[ANSWER] * 3, reflector=[LESSONS] * 3)
    graph = build(model)
    for n in range(3):
        await graph.ainvoke(ask(f"What is {n}/2 + 1/3?"), context=ALICE)
    worker = hire(model, concurrency=3, sleep=for_ever, on_learned=learned)
    await asyncio.wait_for(worker.run(), PATIENT)
    assert [item.status for item in ended] == ["learned"] * 3
    assert await store.list_pending() == ()


@pytest.mark.parametrize(
    "troubles", [[RuntimeError("a row that nobody can read")], [StoreUnavailable("gone")] * 1_100]
)
async def test_a_worker_outlives_what_a_store_raises_however_often(
    build: Build,
    hire: Hire,
    store: Store,
    troubles: list[Exception],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    claim, left = store.claim, list(troubles)

    async def troubled(*args: object) -> PendingItem | None:
        if left:
            raise left.pop()
        return await claim(*args)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # passed on

    def learned(_: ItemOutcome) -> None:
        worker.stop()

    monkeypatch.setattr(store, "claim", troubled)
    scripted = ScriptedModel(solver=[ANSWER], reflector=[LESSONS])
    await build(scripted).ainvoke(ask("What is 1/2 + 1/3?"), context=ALICE)
    worker = hire(scripted, on_learned=learned)
    await worker.run()
    assert len((await store.load("alice")).playbook) == 1
