"""Long text is read in a worker thread, one at a time; short text is read where it is."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType

import pytest
from langchain_core.messages import HumanMessage

from ace_graph import ACEContext, build_ace_graph
from ace_graph.off_loop import LONG_TEXT, read_text
from ace_graph.offline_tutor import OfflineTutor

READERS_OF_MESSAGES = {
    "choose_mode",
    "plan_turn",
    "retrieve",
    "prompt_for",
    "tasks_of",
    "make_record",
    "read_prompt",
}
READERS_OF_REPLIES = {"parse_answer", "matches_ground_truth", "find_json_object"}
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


async def test_long_texts_are_read_one_at_a_time() -> None:
    busy = threading.Lock()

    def read() -> bool:
        alone = busy.acquire(blocking=False)
        for _ in range(100):
            time.sleep(0)  # lets any other thread run
        if alone:
            busy.release()
        return alone

    assert all(await asyncio.gather(*(read_text(LONG_TEXT + 1, read) for _ in range(50))))


async def test_a_reader_in_a_thread_keeps_context_and_errors() -> None:
    who = ContextVar[str]("who")
    who.set("mia")
    assert await read_text(LONG_TEXT + 1, who.get) == "mia"
    with pytest.raises(ZeroDivisionError):
        await read_text(LONG_TEXT + 1, divmod, 1, 0)


async def test_the_limit_belongs_to_the_short_texts() -> None:
    here = threading.get_ident()
    assert await read_text(LONG_TEXT, threading.get_ident) == here
    assert await read_text(LONG_TEXT + 1, threading.get_ident) != here
