"""What a commit of one bullet writes, by the size of the memory: it must not grow with it.

SQLite: bytes that this process gives to files. PostgreSQL and Neo4j: bytes that go to the server, counted by
a proxy. A server's own log is not measured here.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median

from benchmarks.available_stores import Place, Places
from benchmarks.goals import Goal
from benchmarks.own_memory import OwnMemory
from benchmarks.plan import Findings, Plan
from benchmarks.table import Table
from tests.memory.stores.neo4j.counting_proxy import counted

__all__ = ["measure_growth"]

_COMMITS = 15
_MOST = 1.1
_COUNTERS = Path("/proc/self/io")


async def measure_growth(plan: Plan, found: Places, findings: Findings) -> None:
    """Add the table, and a goal for each store."""
    rows: list[tuple[str, ...]] = []
    for place in found.all:
        if place.url.startswith("memory"):
            continue
        written = [await _bytes_of_a_commit(place, size) for size in plan.sizes]
        if min(written) == 0:  # the system does not say
            continue
        rows.append((place.name, *(f"{each:,.0f}" for each in written)))
        what = f"bytes of a commit at {plan.sizes[-1]:,} bullets over {plan.sizes[0]:,}, {place.name}"
        findings.goals.append(Goal(what, written[-1] / written[0], _MOST, "times"))
    columns = ("store", *(f"{size:,} bullets" for size in plan.sizes))
    note = (
        f"Bytes, the median of {_COMMITS} commits that add one bullet: written to files by SQLite, sent to "
        "the server by the others. The rare commit that folds effects into a new base writes the whole "
        "memory; the median leaves it out."
    )
    findings.tables.append(Table("Bytes of a commit", columns, rows, note))


async def _bytes_of_a_commit(place: Place, size: int) -> float:
    async with _metered(place) as (through, count):
        memory = await OwnMemory.with_texts(through, size, _COMMITS)
        sizes: list[int] = []
        for n in range(_COMMITS):
            before = count()
            await memory.keep(n)
            sizes.append(count() - before)
        await memory.close()
    return median(sizes)


@asynccontextmanager
async def _metered(place: Place) -> AsyncGenerator[tuple[Place, Callable[[], int]]]:
    """The place, and a function that returns the bytes that went there so far."""
    if place.url.startswith("sqlite"):
        yield place, _bytes_written
        return
    async with counted(place.url) as traffic:
        yield Place(place.name, traffic.uri), lambda: traffic.to_server


def _bytes_written() -> int:
    """What this process has given to files so far; 0 where the system does not say. Sockets don't count."""
    if not _COUNTERS.exists():
        return 0
    fields = dict(line.split(": ") for line in _COUNTERS.read_text("ascii").splitlines())
    return int(fields["wchar"])
