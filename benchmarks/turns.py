"""A whole turn beside a bare five-node graph with the same model: what is left is our own work.

The stub model answers at once in both graphs, so no time of a model is counted.
"""

# LangGraph leaves type arguments of its own signatures open.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from functools import partial

from langchain_core.messages import HumanMessage

from ace_graph.agent.embeddings.static_vectors import find_static_vectors
from ace_graph.memory.policy import Policy
from benchmarks.available_stores import ROOMY, Place, Places, seeded
from benchmarks.corpus import lessons, questions
from benchmarks.goals import Goal
from benchmarks.learner import Learner, with_graph
from benchmarks.plan import Findings, Plan
from benchmarks.stub import StubModel, bare_graph
from benchmarks.table import Table
from benchmarks.timing import Job, Times, number, timed_async

__all__ = ["measure_turns"]

UNCHANGED, ADDED, AT_CAP, ELSEWHERE = (
    "content unchanged",
    "one bullet added",
    "one added at the cap",
    "unchanged here, changed by another process",
)
BY_MEANING = ", by meaning"
"""The same with the extra `embeddings`: its goals are those of the turn without."""

_SERVERS = {UNCHANGED: 12.0, ADDED: 16.0, ELSEWHERE: 16.0}
_GOALS = {
    "SQLite": {UNCHANGED: 7.0, ADDED: 9.0, ELSEWHERE: 9.0},
    "PostgreSQL": _SERVERS,
    "Neo4j": _SERVERS,
}
"""Milliseconds at 1,000 bullets."""
_FACTORS = {1_000: 1.0, 10_000: 1.5}


async def measure_turns(plan: Plan, found: Places, findings: Findings) -> None:
    """Add one table per size."""
    for size in plan.sizes:
        names, jobs, opened = ["bare graph"], [Job(_bare(plan))], list[Learner]()
        for place in found.all:
            for by_meaning in (False, True) if find_static_vectors() is not None else (False,):
                for what, job, made in await _scenarios(place, size, plan, by_meaning=by_meaning):
                    names.append(f"{place.name}, {what}{BY_MEANING if by_meaning else ''}")
                    jobs.append(job)
                    opened += made
        times = await timed_async(plan.turns, jobs)
        findings.tables.append(_table(size, names, times))
        findings.goals += _goals(size, names, times)
        for one in opened:
            await one.store.forget(one.learner_id)
            await one.store.close()


def _bare(plan: Plan) -> Callable[[int], Awaitable[object]]:
    graph, asked = bare_graph(StubModel()), questions(plan.questions)
    return lambda n: graph.ainvoke({"messages": [HumanMessage(asked[n])], "plan": {}, "verdict": ""})


async def _scenarios(
    place: Place, size: int, plan: Plan, *, by_meaning: bool
) -> list[tuple[str, Job, list[Learner]]]:
    asked, new = questions(plan.questions), iter(lessons(4 * (plan.turns + 10)))
    opened = partial(_opened, place, size, by_meaning=by_meaning)
    plain, adding, capped = await opened(), await opened(), await opened(Policy(max_bullets=size))
    scenarios = [
        (UNCHANGED, Job(lambda n: plain.turn(asked[n], None)), [plain]),
        (ADDED, Job(lambda n: adding.turn(asked[n], next(new))), [adding]),
        (AT_CAP, Job(lambda n: capped.turn(asked[n], next(new))), [capped]),
    ]
    if place.url != "memory://":
        reader = await opened()
        writer = with_graph(place.open(), reader.learner_id)
        job = Job(lambda n: reader.turn(asked[n], None), prepare=lambda n: writer.turn(asked[n], next(new)))
        scenarios.append((ELSEWHERE, job, [reader, writer]))
    return scenarios


async def _opened(place: Place, size: int, policy: Policy = ROOMY, *, by_meaning: bool) -> Learner:
    store = place.open(policy)
    learner = with_graph(store, await seeded(store, size), by_meaning=by_meaning)
    if by_meaning:  # the vectors of a playbook are made once in a process
        await learner.turn(questions(1)[0], None)
    return learner


def _table(size: int, names: list[str], times: list[Times]) -> Table:
    rows = [(names[0], times[0].told(), "", number(times[0].cpu_p50), "")]
    for name, own in zip(names[1:], times[1:], strict=True):
        more = own.over(times[0])
        rows.append((name, own.told(), more.told(), number(own.cpu_p50), number(more.cpu_p50)))
    columns = ("turn", "p50 / p95", "our own work p50 / p95", "cpu", "our own")
    note = (
        "Milliseconds. Our own work is what a turn takes longer than the bare graph's in the same round. "
        "`By meaning`: with the extra `embeddings`."
    )
    return Table(f"A turn at {size:,} bullets", columns, rows, note)


def _goals(size: int, names: list[str], times: list[Times]) -> Iterator[Goal]:
    for name, own in zip(names, times, strict=True):
        place, _, what = name.partition(", ")
        limit = _GOALS.get(place, {}).get(what.removesuffix(BY_MEANING))
        if limit is not None and size in _FACTORS:
            what = f"our own work in a turn, {name}, {size:,} bullets"
            yield Goal(what, own.over(times[0]).p50, limit * _FACTORS[size])
