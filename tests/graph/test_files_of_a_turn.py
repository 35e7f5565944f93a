"""Following a turn through the package takes few files: who reads it need not open many.

Counted are the files of the package whose functions a warm turn calls, and how often a thread goes on in
another one of them: a plain question, the offline tutor, SQLite, all threads (the caller's loop, the portal,
the database's).
"""

from __future__ import annotations

import gc
import sys
import threading
from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from langchain_core.messages import HumanMessage

import ace_graph
from ace_graph import ACEContext, build_ace_graph
from ace_graph.agent import ACEInput
from ace_graph.base import Settings
from ace_graph.base.portal import portal

FILES = 105
"""Entered by a turn on any thread."""
FILES_ON_THE_LOOP = 85
"""Of these, entered on the caller's loop, where the nodes run: the goal was 85."""
CHANGES = 700

LEARNER = ACEContext(learner_id="ada")
PACKAGE = f"{Path(ace_graph.__file__).parent}/"


async def test_a_turn_enters_few_files_and_seldom_changes_between_them(tmp_path: Path) -> None:
    settings = Settings().model_copy(update={"model": "offline", "store": f"sqlite:///{tmp_path}/ace.db"})
    graph = build_ace_graph(settings=settings)
    with _visits() as (visits, watched):
        for text in ("Call me Ada. What is 1/2 + 1/3?", "What is 3/4 + 1/6?"):
            await graph.ainvoke(_question(text), context=LEARNER)
        with _no_finalizers_of_other_tests():
            watched.set()
            said = await graph.ainvoke(_question("What is 5/6 + 1/2?"), context=LEARNER)
            watched.clear()
    assert said["result"]["injected"], "the turn has read the memory"
    assert len(visits) >= 3, "the loop, the portal and the database"
    on_the_loop = set(visits[threading.get_ident()])
    assert f"{PACKAGE}nodes/solver.py" in on_the_loop
    assert len(on_the_loop) <= FILES_ON_THE_LOOP, sorted(on_the_loop)
    assert len({file for each in visits.values() for file in each}) <= FILES
    assert sum(map(len, visits.values())) <= CHANGES


def _question(text: str) -> ACEInput:
    return {"messages": [HumanMessage(text)]}


@contextmanager
def _no_finalizers_of_other_tests() -> Generator[None]:
    """The collector runs what others left to close on whichever thread it is started."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextmanager
def _visits() -> Generator[tuple[dict[int, list[str]], threading.Event]]:
    """While the event is set, note by thread which files calls come to, each time another than before."""
    visits = defaultdict[int, list[str]](list)
    watched = threading.Event()

    def note(frame: FrameType, event: str, _: object) -> None:
        file = frame.f_code.co_filename
        if event != "call" or not watched.is_set() or not file.startswith(PACKAGE):
            return
        visited = visits[threading.get_ident()]
        if visited[-1:] != [file]:
            visited.append(file)

    async def watch(how: object) -> None:
        sys.setprofile(note if how else None)

    before = sys.getprofile()
    threading.setprofile(note)
    portal().run_sync(watch(True))
    sys.setprofile(note)
    try:
        yield visits, watched
    finally:
        sys.setprofile(before)
        portal().run_sync(watch(False))
        threading.setprofile(None)
