"""What can go wrong in the background: outages, forgotten learners, lost leases. The effect is there once."""

from __future__ import annotations

import asyncio
import json
from typing import cast

from langchain_core.messages import BaseMessage

from ace_graph import ACEContext, PendingOutcome, learn_pending
from ace_graph.base import Settings, StoreUnavailable
from ace_graph.learning import ItemOutcome, Lease, RetryPolicy, learning_resources, process_item
from ace_graph.memory import Snapshot
from ace_graph.memory.stores import Store
from ace_graph.testing import ScriptedModel, check
from ace_graph.testing.conformance import contents
from tests.background.conftest import LESSON, Build, Hire, Time
from tests.graph.conftest import ask

ALICE = ACEContext(learner_id="alice", reflect_when="always")
RULE = "Make the denominators equal first"
LESSONS = json.dumps({"reasoning": "r", **LESSON})
ANSWER = "<final>5/6</final>"


class _Stuck:
    """A store whose loads never come back; the rest of it works."""

    def __init__(self, inner: Store) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> object:
        return self._load if name == "load" else getattr(self._inner, name)

    async def _load(self, *_: object) -> None:
        await asyncio.Event().wait()


async def _standing_still(_seconds: float) -> None:
    await asyncio.Event().wait()


async def test_a_model_outage_is_tried_again_and_then_a_dead_letter(
    build: Build, store: Store, hire: Hire, time: Time
) -> None:
    model = ScriptedModel(solver=[ANSWER], reflector=[ValueError("no such model")] * 3)
    await build(model).ainvoke(ask(), context=ALICE)
    ends = list[ItemOutcome]()
    await hire(model, terms=RetryPolicy(max_attempts=3), on_learned=ends.append).drain()
    assert [done.status for done in ends] == ["failed", "failed", "dead"]
    (dead,) = await store.list_pending("alice")
    assert dead.state == "dead"
    assert "no such model" in (dead.error or "")
    assert time.now > dead.created_at
    good = ScriptedModel(reflector=[LESSONS])
    assert await store.retry("alice", dead.pending_id, time.now)
    await hire(good).drain()
    assert contents(await store.load("alice")) == [RULE]
    assert await store.list_pending() == ()


async def test_a_useless_reply_ends_in_a_plain_fallback(build: Build, store: Store, hire: Hire) -> None:
    model = ScriptedModel(solver=[ANSWER], reflector=["certainly! here are my thoughts"])
    context = ALICE.model_copy(update={"ground_truth": "5/6"})
    await build(model).ainvoke(ask(), context=context)
    await hire(model).drain()
    (turn,) = await store.turns("alice")
    (reflection,) = turn.reflections
    assert reflection.fallback
    assert reflection.by == "rules"
    assert (reflection.confidence or 1) <= 0.2
    assert reflection.error
    assert len((await store.load("alice")).playbook) == 0
    assert await store.list_pending() == ()


async def test_a_learner_forgotten_meanwhile_is_not_brought_back(
    build: Build, store: Store, hire: Hire, time: Time
) -> None:
    forgotten = asyncio.Event()

    def while_reflecting(_: object) -> str:
        forgotten.set()
        return LESSONS

    model = ScriptedModel(solver=[ANSWER], reflector=[while_reflecting])
    await build(model).ainvoke(ask(), context=ALICE)
    worker = hire(model, sleep=_standing_still)
    load = store.load

    async def load_then_forget(learner_id: str, known: Snapshot | None = None) -> Snapshot:
        state = await load(learner_id, known)
        await store.forget(learner_id)
        return state

    worker.store.load = load_then_forget  # type: ignore[method-assign]  # the learner is forgotten right after
    done = await worker.learn_one()
    assert done is not None
    assert done.status == "forgotten"
    assert forgotten.is_set()
    del worker.store.load  # type: ignore[attr-defined]
    assert (await store.load("alice")).absent
    assert await check(store, "alice") == []


async def test_who_comes_late_changes_nothing_that_another_worker_did(
    build: Build, store: Store, hire: Hire, time: Time
) -> None:
    """A slow model: the first worker's lease runs out, a second one does the work, the first comes back."""
    out = await build(ScriptedModel(solver=[ANSWER])).ainvoke(ask(), context=ALICE)
    item = await store.claim("slow", time.now, 30)
    assert item is not None
    time.pass_(31)
    fast = await hire(ScriptedModel(reflector=[LESSONS])).learn_one()
    assert fast is not None
    assert (fast.status, fast.turn_id) == ("learned", out["learning"]["turn_id"])
    slow, opened = learning_resources(
        model=ScriptedModel(reflector=[LESSONS]), store=store, settings=Settings(), clock=time.clock
    )
    late = await process_item(item, opened, slow, RetryPolicy(), _standing_still)
    assert late.status == "repeated"
    (bullet,) = (await store.load("alice")).playbook.bullets()
    assert bullet.seen == 1
    assert await check(store, "alice") == []


async def test_a_worker_whose_lease_is_lost_stops_asking_the_model(
    build: Build, store: Store, time: Time
) -> None:
    """The lease is renewed every third of its time; once that fails, the work under way is cancelled."""
    await build(ScriptedModel(solver=[ANSWER])).ainvoke(ask(), context=ALICE)
    item = await store.claim("slow", time.now, 30)
    assert item is not None
    naps = list[float]()

    async def nap(seconds: float) -> None:
        naps.append(seconds)
        time.pass_(seconds if len(naps) < 3 else 60)
        if len(naps) == 3:
            assert await store.claim("fast", time.now, 30) is not None

    slow, opened = learning_resources(
        model=ScriptedModel(reflector=[LESSONS]),
        store=cast("Store", _Stuck(store)),
        settings=Settings(),
        clock=time.clock,
    )
    done = await process_item(item, opened, slow, RetryPolicy(), nap)
    assert done.status == "lost"
    assert naps == [10.0, 10.0, 10.0]


async def test_one_learners_turns_are_learned_in_order_and_others_beside_them(
    build: Build, store: Store, hire: Hire
) -> None:
    order = list[str]()

    def reflecting(messages: list[BaseMessage]) -> str:
        order.append(messages[0].text)
        return json.dumps({"reasoning": "r", "lessons": []})

    model = ScriptedModel(solver=[ANSWER] * 6, reflector=[reflecting] * 6)
    graph = build(model)
    for number in range(3):
        for learner in ("alice", "bob"):
            context = ALICE.model_copy(update={"learner_id": learner})
            await graph.ainvoke(ask(f"{learner} asks question number {number}"), context=context)
    await hire(model, concurrency=4, sleep=asyncio.sleep).drain()
    for learner in ("alice", "bob"):
        seen = [n for text in order for n in range(3) if f"{learner} asks question number {n}" in text]
        assert seen == [0, 1, 2]


async def test_the_unit_of_work_can_be_called_by_anybody_any_number_of_times(
    build: Build, store: Store, time: Time
) -> None:
    model = ScriptedModel(solver=[ANSWER] * 2, reflector=[LESSONS] * 2)
    graph = build(model)
    first = await graph.ainvoke(ask(), context=ALICE)
    second = await graph.ainvoke(ask("What is 1/4 + 1/3?"), context=ALICE)
    ids = [out["learning"]["pending"] or "" for out in (first, second)]
    made = {"model": model, "store": store, "settings": Settings(), "clock": time.clock}
    calls = [learn_pending("alice", ids[1], **made), learn_pending("alice", ids[0], **made)]  # type: ignore[arg-type]
    both = await asyncio.gather(*calls)
    assert "done" in {outcome.status for outcome in both}
    for pending_id in ids:
        assert (await learn_pending("alice", pending_id, **made)).status == "done"  # type: ignore[arg-type]
    assert len(model.calls_of("reflector")) == 2
    assert (await store.load("alice")).playbook.bullets()[0].seen == 2
    assert await check(store, "alice") == []


async def test_the_unit_of_work_says_when_to_call_again(build: Build, store: Store, time: Time) -> None:
    model = ScriptedModel(solver=[ANSWER], reflector=[ValueError("down"), LESSONS])
    out = await build(model).ainvoke(ask(), context=ALICE)
    pending = out["learning"]["pending"] or ""

    async def call() -> PendingOutcome:
        return await learn_pending(
            "alice", pending, model=model, store=store, settings=Settings(), clock=time.clock
        )

    failed = await call()
    assert (failed.status, failed.retry_after) == ("retry", 2.0)
    assert (await call()).retry_after == 2.0
    time.pass_(2)
    done = await call()
    assert done.status == "done"
    assert done.learning is not None
    assert len(done.learning["added"]) == 1


async def test_a_worker_asked_to_stop_finishes_what_is_under_way(
    build: Build, store: Store, hire: Hire
) -> None:
    worker = None

    def stopping(_: object) -> str:
        assert worker is not None
        worker.stop()
        return LESSONS

    model = ScriptedModel(solver=[ANSWER] * 2, reflector=[stopping])
    graph = build(model)
    await graph.ainvoke(ask(), context=ALICE)
    await graph.ainvoke(ask("What is 1/4 + 1/3?"), context=ALICE)
    worker = hire(model)
    await worker.run()
    assert contents(await store.load("alice")) == [RULE]
    assert len(await store.list_pending("alice")) == 1


async def test_a_cancelled_worker_gives_its_item_back_at_once(
    build: Build, store: Store, hire: Hire, time: Time
) -> None:
    model = ScriptedModel(solver=[ANSWER], reflector=[LESSONS])
    await build(model).ainvoke(ask(), context=ALICE)
    worker = hire(model)
    loading = asyncio.Event()

    async def never(learner_id: str, known: object = None) -> object:
        loading.set()
        return await asyncio.Event().wait()

    worker.store.load = never  # type: ignore[method-assign, assignment]
    running = asyncio.create_task(worker.run())
    await loading.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    del worker.store.load  # type: ignore[attr-defined]
    (left,) = await store.list_pending("alice")
    assert (left.free_at, left.attempts, left.error) == (time.now, 0, "the worker was stopped")
    await hire(model).drain()
    assert contents(await store.load("alice")) == [RULE]


class _Down:
    """A store that can't be used."""

    def __init__(self, inner: Store) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> object:
        return self._claim if name == "claim" else getattr(self._inner, name)

    async def _claim(self, *_: object) -> None:
        raise StoreUnavailable("down")


async def test_a_worker_waits_longer_with_every_failure_of_the_store(hire: Hire, store: Store) -> None:
    waits = list[float]()

    async def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 8:
            worker.stop()
        await asyncio.sleep(0)

    worker = hire(ScriptedModel(), sleep=wait, terms=RetryPolicy(poll_seconds=1))
    worker.store = cast(Store, _Down(store))
    await worker.run()
    assert waits == [2, 4, 8, 16, 30, 30, 30, 30]


async def test_an_unexpected_error_is_noted_and_the_work_tried_again(
    build: Build, store: Store, hire: Hire
) -> None:
    await build(ScriptedModel(solver=[ANSWER])).ainvoke(ask(), context=ALICE)
    worker = hire(ScriptedModel(reflector=[LESSONS]), sleep=_standing_still)

    async def broken(learner_id: str, known: object = None) -> Snapshot:
        raise RuntimeError("broken")

    worker.store.load = broken  # type: ignore[method-assign]  # no store raises this on purpose
    done = await worker.learn_one()
    del worker.store.load  # type: ignore[attr-defined]
    assert done is not None
    assert (done.status, done.error) == ("failed", "RuntimeError: broken")
    (left,) = await store.list_pending("alice")
    assert (left.error, left.free_at) == ("RuntimeError: broken", done.retry_at)


async def test_the_unit_of_work_says_that_the_item_is_dead(build: Build, store: Store, time: Time) -> None:
    model = ScriptedModel(solver=[ANSWER], reflector=[ValueError("no such model")])
    out = await build(model).ainvoke(ask(), context=ALICE)
    ended = await learn_pending(
        "alice",
        out["learning"]["pending"] or "",
        model=model,
        store=store,
        settings=Settings(),
        clock=time.clock,
        terms=RetryPolicy(max_attempts=1),
    )
    assert (ended.status, ended.retry_after) == ("dead", None)
    assert "no such model" in (ended.error or "")


class _DownOnce:
    """A store that can't be reached when the first renewal is asked for."""

    def __init__(self) -> None:
        self.asked = 0

    async def renew(self, *_: object) -> bool:
        self.asked += 1
        if self.asked == 1:
            raise StoreUnavailable("down")
        return True


async def test_a_lease_is_renewed_after_the_store_was_down(build: Build, store: Store, time: Time) -> None:
    await build(ScriptedModel(solver=[ANSWER])).ainvoke(ask(), context=ALICE)
    item = await store.claim("worker", time.now, 30)
    assert item is not None
    down = _DownOnce()
    lease = Lease(cast("Store", down), item, seconds=30, clock=time.clock, sleep=time.sleep)
    async with lease:
        for _ in range(10):
            await asyncio.sleep(0)
    assert down.asked > 1
