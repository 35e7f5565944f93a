"""How long an answer takes beside a consolidation: turns of one learner while another's memory is merged.

The run is that of a worker in the same process, which is the worst case: it shares the interpreter. Every
tenth bullet is there twice, in two spellings.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from ace_graph.memory.delta.operations import Delta, Reset
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.store import Store
from ace_graph.playbooks.consolidation import consolidate
from benchmarks.available_stores import Place, Places, seeded
from benchmarks.corpus import START, bullets, questions
from benchmarks.learner import Learner, with_graph
from benchmarks.plan import Findings, Plan
from benchmarks.table import Table
from benchmarks.timing import Job, Times, number, timed_async

__all__ = ["measure_consolidation"]

_BULLETS = 1_000
_TWINS = 100
_MERGED = "merged"


async def measure_consolidation(plan: Plan, found: Places, findings: Findings) -> None:
    """Add one table with a row for each store."""
    rows = [await _row(place, plan) for place in found.all]
    columns = ("store", "alone p50 / p95", "beside p50 / p95", "longest", "turns", "the run", "groups")
    note = (
        f"Milliseconds of a turn of a learner with {_BULLETS:,} bullets, while as many of another are "
        f"consolidated in the same process. The run is in seconds."
    )
    findings.tables.append(Table("Answers beside a consolidation", columns, rows, note))


async def _row(place: Place, plan: Plan) -> tuple[str, ...]:
    store = place.open()
    learner = with_graph(store, await seeded(store, _BULLETS))
    asked = questions(plan.questions)
    (alone,) = await timed_async(plan.turns, [Job(lambda n: learner.turn(asked[n % len(asked)]))])
    await _plant(store)
    began = time.perf_counter()
    run = asyncio.create_task(consolidate(store, owner=_MERGED, now=START))
    beside = await _turns_until(run, learner, asked)
    seconds = time.perf_counter() - began
    merged = len((await run).groups)
    for name in (learner.learner_id, _MERGED):
        await store.forget(name)
    await store.close()
    longest = number(max(beside.clock))
    turns = str(len(beside.clock))
    return place.name, alone.told(), beside.told(), longest, turns, number(seconds), str(merged)


async def _turns_until(run: asyncio.Task[object], learner: Learner, asked: Sequence[str]) -> Times:
    """Take one turn after the other until the run has ended."""
    clock: list[float] = []
    while not run.done():
        began = time.perf_counter()
        await learner.turn(asked[len(clock) % len(asked)])
        clock.append((time.perf_counter() - began) * 1000)
    return Times(tuple(clock), tuple(clock))


async def _plant(store: Store) -> None:
    """Give the learner who is consolidated so many bullets, some of which say the same."""
    made = bullets(_BULLETS - _TWINS)
    twins = [
        each.model_copy(update={"id": f"twi-{n:05d}", "content": f"{each.content}."})
        for n, each in enumerate(made[:_TWINS])
    ]
    planted = Reset(bullets=(*made, *twins))
    delta = Delta(op_id="planted", now=START, operations=(planted,), author="benchmark")
    await store.commit(_MERGED, delta, Snapshot())
