"""Long work is done away from the loop, in turns by learner; short text is read where it is."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Generator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType

import pytest
from langchain_core.messages import HumanMessage

from ace_graph import ACEContext, build_ace_graph
from ace_graph.agent.offline_tutor import OfflineTutor
from ace_graph.base import LONG_TEXT, FairQueue, Steps, in_slices, run_off_loop, working_for
from ace_graph.base.off_loop import off_loop

READERS_OF_MESSAGES = {
    "choose_mode",
    "plan_turn",
    "retrieve",
    "prompt_for",
    "tasks_of",
    "make_record",
    "read_prompt",
}
READERS_OF_REPLIES = {"finish", "matches_ground_truth", "find_json_object"}
READERS = READERS_OF_MESSAGES | READERS_OF_REPLIES


@contextmanager
def calls_in_this_thread() -> Generator[set[str]]:
    """Collect the names of the functions that this thread calls."""
    called = set[str]()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            called.add(frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield called
    finally:
        sys.setprofile(before)


async def a_turn_about(question: str) -> set[str]:
    """Run two turns of the graph and return what the loop's own thread called."""
    graph = build_ace_graph(model=OfflineTutor(), store="memory://")
    context = ACEContext(learner_id="mia", ground_truth="5", reflect_when="always")
    with calls_in_this_thread() as called:
        out = await graph.ainvoke({"messages": [HumanMessage(question)]}, context=context)
    assert out["learning"] is not None
    assert out["learning"]["error"] is None
    return called


async def test_a_long_message_is_read_off_the_loop() -> None:
    called = await a_turn_about("How do I add fractions? " * 400)
    assert not called & READERS_OF_MESSAGES


async def test_a_short_message_is_read_on_the_loop() -> None:
    assert await a_turn_about("What is 2 + 3?") >= READERS


async def test_one_learners_work_is_done_one_slice_at_a_time() -> None:
    busy = threading.Lock()

    def read() -> bool:
        alone = busy.acquire(blocking=False)
        for _ in range(100):
            time.sleep(0)  # lets any other thread run
        if alone:
            busy.release()
        return alone

    with working_for("mia"):
        assert all(await asyncio.gather(*(run_off_loop(LONG_TEXT + 1, read) for _ in range(50))))


async def test_work_that_waits_holds_up_nobody_else() -> None:
    go = threading.Event()
    with working_for("mia"):
        held = [asyncio.ensure_future(off_loop(go.wait)) for _ in range(20)]
    with working_for("ben"):
        assert await off_loop(divmod, 7, 2) == (3, 1)
    assert not any(each.done() for each in held)
    go.set()
    assert all(await asyncio.gather(*held))


def test_every_learner_has_one_slice_in_turn() -> None:
    queue, begin, order = FairQueue(threads=1, slice_seconds=0), threading.Event(), list[str]()

    def work(name: str, steps: int) -> Steps[str]:
        for _ in range(steps):
            order.append(name)
            yield
        return name

    def wait() -> Steps[None]:
        begin.wait()
        yield

    held, asked = queue.submit("nobody", wait()), list[Future[str]]()
    for whose, name, steps in (
        ("mia", "long", 3),
        ("mia", "short", 1),
        ("ben", "his", 2),
        ("zoe", "hers", 1),
    ):
        asked.append(queue.submit(whose, work(name, steps)))
    begin.set()
    held.result()
    assert [each.result() for each in asked] == ["long", "short", "his", "hers"]
    assert order == ["long", "his", "hers", "short", "his", "long", "long"]


async def test_work_of_a_caller_who_left_ends_at_its_next_step() -> None:
    begun, go, ended = threading.Event(), threading.Event(), threading.Event()

    def work() -> Steps[None]:
        try:
            begun.set()
            go.wait()
            while True:
                yield
        finally:
            ended.set()

    asked = asyncio.ensure_future(in_slices(work(), "mia"))
    await asyncio.to_thread(begun.wait)
    asked.cancel()
    await asyncio.wait([asked])
    go.set()
    await asyncio.to_thread(ended.wait)
    assert await in_slices(_answer(), "mia") == 42


def _answer() -> Steps[int]:
    yield
    return 42


async def test_a_reader_in_a_thread_keeps_context_and_errors() -> None:
    who = ContextVar[str]("who")
    who.set("mia")
    assert await run_off_loop(LONG_TEXT + 1, who.get) == "mia"
    with pytest.raises(ZeroDivisionError):
        await run_off_loop(LONG_TEXT + 1, divmod, 1, 0)


async def test_the_limit_belongs_to_the_short_texts() -> None:
    here = threading.get_ident()
    assert await run_off_loop(LONG_TEXT, threading.get_ident) == here
    assert await run_off_loop(LONG_TEXT + 1, threading.get_ident) != here
