"""What eight attached playbooks cost a turn: the same learner with and without them, in turns."""

from __future__ import annotations

from ace_graph import playbooks
from benchmarks.available_stores import ROOMY, Place, Places, seeded
from benchmarks.corpus import lessons, questions
from benchmarks.learner import Learner, with_graph
from benchmarks.plan import Findings, Plan
from benchmarks.table import Table
from benchmarks.timing import Job, Times, number, timed_async

__all__ = ["measure_attached", "with_attached"]

PLAYBOOKS = 8
BULLETS = 200


async def measure_attached(plan: Plan, found: Places, findings: Findings) -> None:
    """Add one table with a row for each store."""
    rows: list[tuple[str, ...]] = []
    for place in found.all:
        without, attached = await _timed(place, plan)
        more = attached.over(without)
        told = (without.told(), attached.told(), more.told(), number(more.cpu_p50))
        rows.append((place.name, *told))
    columns = ("store", "none p50 / p95", f"{PLAYBOOKS} attached", "they cost", "cpu")
    note = f"Milliseconds of a turn of a learner with {BULLETS} bullets; each playbook has as many."
    findings.tables.append(Table("Attached playbooks", columns, rows, note))


async def with_attached(learner: Learner) -> Learner:
    """Return the same learner with new playbooks attached."""
    texts = lessons(BULLETS * PLAYBOOKS)
    names = tuple(f"playbook {n}" for n in range(PLAYBOOKS))
    for n, name in enumerate(names):
        part = texts[n * BULLETS : (n + 1) * BULLETS]
        await playbooks.create(learner.store, name, part, owner=learner.learner_id)
    return Learner(learner.graph, learner.store, learner.learner_id, names)


async def _timed(place: Place, plan: Plan) -> tuple[Times, Times]:
    store = place.open(ROOMY)
    without = with_graph(store, await seeded(store, BULLETS))
    attached = await with_attached(without)
    asked = questions(plan.questions)
    jobs = [Job(lambda n: without.turn(asked[n])), Job(lambda n: attached.turn(asked[n]))]
    alone, together = await timed_async(plan.turns, jobs)
    await store.forget(without.learner_id)
    await store.close()
    return alone, together
