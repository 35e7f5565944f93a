"""Answers a second, and how long an answer takes: a bare graph, ours, and the bare graph with other memories.

The clients, the servers and Neo4j share the machine's cores.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from benchmarks.goals import Goal
from benchmarks.plan import Findings
from benchmarks.server.clients import Load, connected, load
from benchmarks.server.learners import everything_learned
from benchmarks.server.other_memories import KINDS
from benchmarks.server.participants import Setting
from benchmarks.server.percentiles import Percentiles, percentiles
from benchmarks.server.plan import ServerPlan
from benchmarks.server.servers import Server
from benchmarks.table import Table
from benchmarks.timing import number

__all__ = ["CHECKPOINTED", "measure_answers"]

CHECKPOINTED = "bare graph, LangGraph's SQLite checkpointer"
_COLUMNS = (
    "server",
    "over the checkpointer",
    "answers a second",
    "p50 / p95 / p99, ms",
    "added",
    "cpu ms an answer",
    "learned after, s",
)
_OVER = {"SQLite": 1.6, "PostgreSQL": 2.0, "Neo4j": 2.6}
"""Processor time of an answer and its learning, over that of the bare graph with LangGraph's checkpointer."""
_TAIL = {"SQLite": 2.0, "PostgreSQL": 2.0, "Neo4j": 2.5}
"""The 99th percentile over the median, of one client."""
_NOTE = (
    "`Over the checkpointer`: processor time of an answer over that of the bare graph with LangGraph's "
    "SQLite checkpointer. `Added` is each percentile above that of the bare graph. The processor time is "
    "that of the server's process, which is disturbed least by what else runs; ours holds the learning of "
    "the same turns too. `Learned after`: until the lessons of all turns were stored, counted from the last "
    "answer."
)


async def measure_answers(
    plan: ServerPlan, setting: Setting, servers: Sequence[Server], findings: Findings
) -> None:
    """Add a table for each number of clients. The first server is the bare graph."""
    for clients in plan.clients:
        loads: dict[str, list[Load]] = defaultdict(list)
        waits: dict[str, list[float]] = defaultdict(list)
        for _ in range(plan.rounds):
            for server in servers:
                if server.wanted.kind in KINDS and clients > plan.rival_clients:
                    continue
                store = setting.store_of(server)
                async with connected(server, setting.learners_of(server)[:clients]) as them:
                    loads[server.name].append(await load(server, them, plan.answers))
                if store is not None:
                    waits[server.name].append(await everything_learned(store))
        findings.tables.append(_table(clients, loads, waits, plan))
        if clients == 1:
            findings.goals += _goals(loads)


def _cpu_ms(some: Sequence[Load]) -> float:
    """Processor time of an answer."""
    return sum(one.cpu_seconds for one in some) / sum(len(one.answers) for one in some) * 1000


def _goals(loads: dict[str, list[Load]]) -> Iterator[Goal]:
    kept = _cpu_ms(loads[CHECKPOINTED])
    for name, some in loads.items():
        place = name.removeprefix("ours, ")
        if place in _OVER:
            own = percentiles([answer.ms for one in some for answer in one.answers])
            what = f"an answer over HTTP and its learning, {place}"
            yield Goal(f"{what}, over LangGraph's checkpointer", _cpu_ms(some) / kept, _OVER[place], "times")
            yield Goal(f"{what}, p99 over p50", own.p99 / own.p50, _TAIL[place], "times")


def _table(
    clients: int, loads: dict[str, list[Load]], waits: dict[str, list[float]], plan: ServerPlan
) -> Table:
    base: Percentiles | None = None
    kept = _cpu_ms(loads[CHECKPOINTED])
    rows: list[tuple[str, ...]] = []
    for name, some in loads.items():
        answers = [answer for one in some for answer in one.answers]
        own = percentiles([answer.ms for answer in answers])
        rate = len(answers) / sum(one.seconds for one in some)
        cpu = _cpu_ms(some)
        failed = sum(one.failed for one in some)
        told = own.told() + (f" ({failed} failed)" if failed else "")
        added = "" if base is None else own.over(base).told()
        waited = number(max(waits[name])) if name in waits else ""
        rows.append((name, number(cpu / kept), number(rate), told, added, number(cpu), waited))
        base = base or own
    title = f"Answers over HTTP, {clients} client{'s' if clients > 1 else ''}, {plan.bullets} bullets each"
    asked = f"{plan.rounds * max(clients, plan.answers)} answers of each server. "
    return Table(title, _COLUMNS, rows, asked + _NOTE)
