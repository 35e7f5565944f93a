"""A turn on each store in B, the processor time of a bare graph, with and without attached playbooks.

It is the time of this process; the server's own is not in it. Round trips are counted by tests.
"""

from __future__ import annotations

from benchmarks.attached import BULLETS, PLAYBOOKS, with_attached
from benchmarks.available_stores import Place, Places, seeded
from benchmarks.corpus import lessons, questions
from benchmarks.goals import Goal
from benchmarks.learner import with_graph
from benchmarks.plan import Findings, Plan
from benchmarks.table import Table
from benchmarks.timing import Job, Times, number, timed_async
from benchmarks.unit import BARE, bare_job

__all__ = ["measure_store_unit"]

_TURN = "content unchanged"
_ATTACHED = f"{PLAYBOOKS} attached playbooks of {BULLETS} bullets"
_GOALS = {"PostgreSQL": 3.8, "Neo4j": 4.5}
"""Of a turn whose content is unchanged, in B, at 1,000 bullets; that on SQLite has its own table."""


async def measure_store_unit(plan: Plan, found: Places, findings: Findings) -> None:
    """Add the table, and a goal for each store."""
    rows: list[tuple[str, ...]] = []
    for place in found.all:
        times = await _times(place, plan)
        bare = times.pop(BARE)
        for name, each in times.items():
            ratio = each.cpu_p10 / bare.cpu_p10
            rows.append((f"{place.name}, {name}", number(ratio), number(each.cpu_p10), each.told()))
            if name == _TURN and place.name in _GOALS:
                findings.goals.append(Goal(f"a turn, {place.name}, {name}", ratio, _GOALS[place.name], "B"))
        over = (times[_ATTACHED].cpu_p10 - times[_TURN].cpu_p10) / bare.cpu_p10
        rows.append((f"{place.name}, what the attached playbooks cost", number(over), "", ""))
    columns = ("turn", "B", "ms", "p50 / p95 on the clock")
    note = (
        f"Processor time of this process, tenth percentiles of {plan.unit_turns} turns at 1,000 bullets; "
        "turns of one store alternate with the bare graph's."
    )
    findings.tables.append(Table("A turn on each store in B", columns, rows, note))


async def _times(place: Place, plan: Plan) -> dict[str, Times]:
    asked, new = questions(plan.unit_turns), iter(lessons(plan.unit_turns + 10))
    store = place.open()
    unchanged, adding = [with_graph(store, await seeded(store, 1_000)) for _ in range(2)]
    attached = await with_attached(unchanged)
    jobs = {
        BARE: bare_job(asked),
        _TURN: Job(lambda n: unchanged.turn(asked[n])),
        _ATTACHED: Job(lambda n: attached.turn(asked[n])),
        "one bullet added by a lesson": Job(lambda n: adding.turn(asked[n], next(new))),
    }
    times = await timed_async(plan.unit_turns, list(jobs.values()))
    for learner in (unchanged, adding):
        await store.forget(learner.learner_id)
    await store.close()
    return dict(zip(jobs, times, strict=True))
