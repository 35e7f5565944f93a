"""How many turns a second one, two and four workers learn from; each worker is a process."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence

from langchain_core.messages import HumanMessage

from ace_graph import ACEContext, build_ace_graph
from ace_graph.base.settings import Settings
from ace_graph.memory.stores.store import Store
from benchmarks.available_stores import Place
from benchmarks.corpus import questions
from benchmarks.plan import Findings
from benchmarks.server.model import ServedModel
from benchmarks.server.participants import Setting
from benchmarks.server.plan import ServerPlan
from benchmarks.server.servers import ROOT
from benchmarks.server.worker_process import READY
from benchmarks.table import Table
from benchmarks.timing import number

__all__ = ["measure_workers"]

CONCURRENCY = 4


async def measure_workers(
    plan: ServerPlan, setting: Setting, places: Sequence[Place], findings: Findings
) -> None:
    """Add the table of workers."""
    rows: list[tuple[str, ...]] = []
    for place in places:
        store, learners = setting.stores[place.url], setting.learners[place.url][: plan.learners]
        for reflect_seconds in dict.fromkeys((0.0, plan.reflect_seconds)):
            told: list[str] = []
            for count in plan.workers:
                turns = await _leave_work(store, learners, plan.turns_each)
                seconds = await _learned_in(place, count, reflect_seconds, turns)
                told.append(number(turns / seconds))
            model = f"{number(reflect_seconds * 1000)} ms" if reflect_seconds else "at once"
            rows.append((f"{place.name}, the model reflects {model}", *told))
    columns = ("store", *(f"{count} worker{'s' if count > 1 else ''}" for count in plan.workers))
    note = (
        f"Turns learned from in a second: {plan.learners} learners, {plan.turns_each} turns of each; a turn "
        f"adds a bullet to {plan.bullets} or more. A worker is a process that does {CONCURRENCY} at once."
    )
    findings.tables.append(Table("Learning in the background", columns, rows, note))


async def _leave_work(store: Store, learners: Sequence[str], each: int) -> int:
    """Let the learners make turns that leave their learning to workers; return how many."""
    settings = Settings.model_construct()
    graph = build_ace_graph(model=ServedModel(), store=store, settings=settings, learning="background")
    asked = questions(each)

    async def one(learner: str) -> None:
        for question in asked:
            # LangGraph leaves type arguments of its own signatures open.
            await graph.ainvoke(  # pyright: ignore[reportUnknownMemberType]
                {"messages": [HumanMessage(question)]}, context=ACEContext(learner_id=learner)
            )

    for n in range(0, len(learners), 8):
        await asyncio.gather(*map(one, learners[n : n + 8]))
    return len(learners) * each


async def _learned_in(place: Place, count: int, reflect_seconds: float, turns: int) -> float:
    """Return the seconds from the start until the last lesson was stored. Raises RuntimeError."""
    started = [await _started(place.url, reflect_seconds) for _ in range(count)]
    for one in started:
        if one.stdout is None or await one.stdout.readline() != READY:
            raise RuntimeError("a worker did not start")
    began = time.time()
    told = await asyncio.gather(*map(_ended, started))
    if sum(learned for learned, _ in told) != turns:
        raise RuntimeError(f"{turns} turns were left, the workers learned from {[n for n, _ in told]}")
    return max(last for _, last in told) - began


async def _started(url: str, reflect_seconds: float) -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.server.worker_process", url, str(reflect_seconds), str(CONCURRENCY),
        stdin=PIPE, stdout=PIPE, cwd=ROOT,
    )  # fmt: skip


async def _ended(process: Process) -> tuple[int, float]:
    told, _ = await process.communicate(b"go\n")
    if process.returncode:
        raise RuntimeError(f"a worker ended with {process.returncode}")
    end = json.loads(told)
    return int(end["learned"]), float(end["last"])
