"""Twenty writers who teach one learner at once: whether every update is there exactly once, and how fast.

    python -m benchmarks.writers URL LEARNER FIRST WRITERS ROUNDS     one process of several

Each update is a turn through the whole graph that learns one lesson. A playbook's `seen` counts grow by one
with each lesson stored, whether it was added or came again, so their sum tells what was lost or doubled.
"""

from __future__ import annotations

import asyncio
import sys
import time
from asyncio.subprocess import PIPE, Process

from ace_graph.memory.stores.store import Store
from benchmarks.available_stores import Place, Places, seeded
from benchmarks.corpus import lessons, questions
from benchmarks.goals import Goal
from benchmarks.learner import Learner, with_graph
from benchmarks.plan import Findings, Plan
from benchmarks.table import Table
from benchmarks.timing import number

__all__ = ["measure_writers"]

_BULLETS = 200
READY = b"ready\n"


async def measure_writers(plan: Plan, found: Places, findings: Findings) -> None:
    """Add one table: every store, in one process and in several."""
    rows: list[tuple[str, ...]] = []
    for place in found.all:
        for processes in (1,) if place.url == "memory://" else plan.processes:
            rows.append(await _round(place, processes, plan, findings))
    title = f"{plan.writers} writers on one learner with {_BULLETS} bullets"
    columns = ("store", "updates", "there", "lost or doubled", "turns a second")
    findings.tables.append(Table(title, columns, rows, "Whole turns, each of which adds a bullet."))


async def _round(place: Place, processes: int, plan: Plan, findings: Findings) -> tuple[str, ...]:
    store = place.open()
    learner = await seeded(store, _BULLETS)
    before, wanted = await _seen(store, learner), plan.writers * plan.writer_rounds
    if processes == 1:
        seconds = await _write(with_graph(store, learner), 0, plan.writers, plan.writer_rounds)
    else:
        seconds = await _in_processes(place, learner, processes, plan)
    there = await _seen(store, learner) - before
    await store.forget(learner)
    await store.close()
    what = f"{place.name}, {processes} process{'es' if processes > 1 else ''}"
    findings.goals.append(Goal(f"updates lost or doubled, {what}", abs(wanted - there), 0, "updates"))
    return (what, str(wanted), str(there), str(abs(wanted - there)), number(wanted / seconds))


async def _seen(store: Store, learner: str) -> int:
    return sum(bullet.seen for bullet in (await store.load(learner)).playbook.bullets())


async def _write(learner: Learner, first: int, writers: int, rounds: int) -> float:
    """Let writers `first` and following each make their turns, all at once; return the seconds it took."""
    asked, new = questions(rounds), lessons((first + writers) * rounds)

    async def writer(number: int) -> None:
        for n in range(rounds):
            await learner.turn(asked[n], new[number * rounds + n])

    began = time.perf_counter()
    await asyncio.gather(*(writer(number) for number in range(first, first + writers)))
    return time.perf_counter() - began


async def _in_processes(place: Place, learner: str, processes: int, plan: Plan) -> float:
    share = plan.writers // processes
    started = [
        await _started(place.url, learner, str(n * share), str(share), str(plan.writer_rounds))
        for n in range(processes)
    ]
    for one in started:
        if one.stdout is None or await one.stdout.readline() != READY:
            raise RuntimeError("a writing process did not start")
    began = time.perf_counter()
    codes = await asyncio.gather(*(_go(one) for one in started))
    if any(codes):
        raise RuntimeError(f"writing processes failed: {codes}")
    return time.perf_counter() - began


async def _started(*arguments: str) -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.writers", *arguments, stdin=PIPE, stdout=PIPE
    )


async def _go(process: Process) -> int:
    await process.communicate(b"go\n")
    return process.returncode or 0


async def _one_process(url: str, learner: str, first: int, writers: int, rounds: int) -> None:
    store = Place("", url).open()
    made = with_graph(store, learner)
    await store.load(learner)
    sys.stdout.buffer.write(READY)
    sys.stdout.buffer.flush()
    await asyncio.to_thread(sys.stdin.readline)
    await _write(made, first, writers, rounds)
    await store.close()


if __name__ == "__main__":
    asyncio.run(_one_process(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])))
