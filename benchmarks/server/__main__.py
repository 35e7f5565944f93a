"""Runs the benchmarks of the web backend, prints their tables, and writes benchmarks/server/RESULTS.md.

BENCH_RIVALS names a Python in whose environment langmem and mem0 are installed beside this project; without
it this one is asked. What it does not have is told to be missing.

In quick mode, and for a part, the file is not written. What a person wrote below its mark stays.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from benchmarks.available_stores import Place, Places, places
from benchmarks.goals import goals_table
from benchmarks.machine import describe_machine, load_now
from benchmarks.plan import Findings
from benchmarks.report import write_report
from benchmarks.server.answers import CHECKPOINTED, measure_answers
from benchmarks.server.first_token import measure_first_token, measure_learning_modes
from benchmarks.server.other_memories import KINDS
from benchmarks.server.participants import Setting, setting
from benchmarks.server.plan import FULL, QUICK, ServerPlan
from benchmarks.server.restart import measure_restart
from benchmarks.server.server_process import Options
from benchmarks.server.servers import Wanted, running
from benchmarks.server.store_and_find import installed, measure_store_and_find
from benchmarks.server.workers import measure_workers

RESULTS = Path(__file__).parent / "RESULTS.md"
PARTS = ("answers", "modes", "workers", "rivals", "restart")


def main() -> None:
    """Read the arguments, measure, report."""
    options = _options()
    os.environ["LANGSMITH_TRACING"] = "false"
    plan, findings, console = QUICK if options.quick else FULL, Findings(), Console(width=140)
    parts: list[str] = options.only or list(PARTS)
    began, load_before = time.monotonic(), load_now()
    with places() as found:

        def machine() -> list[str]:
            return [
                *describe_machine(found.servers),
                "Clients, servers, workers and databases share these cores and speak over loopback",
                f"Load average {load_before:.1f} at the start and {load_now():.1f} at the end; "
                f"it took {time.monotonic() - began:.0f} s",
            ]

        def told() -> None:
            """A run that is cut short leaves what it has."""
            if not options.quick and not options.only:
                tables = (goals_table(findings.goals), *findings.tables)
                write_report(RESULTS, "Results of the web backend", "make bench-server", machine(), tables)

        asyncio.run(measure(parts, plan, found, findings, console, told))
        lines = machine()
    goals_table(findings.goals).show(console)
    for line in lines:
        console.print(line, highlight=False)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.server")
    quick = os.environ.get("QUICK", "") not in ("", "0")
    parser.add_argument("--quick", action="store_true", default=quick, help="about a minute; or QUICK=1")
    parser.add_argument("--only", nargs="+", choices=PARTS, help="only these parts")
    return parser.parse_args()


async def measure(
    parts: list[str],
    plan: ServerPlan,
    found: Places,
    findings: Findings,
    console: Console,
    told: Callable[[], None],
) -> None:
    """Run the parts one after the other; show the tables of each as soon as it has ended, and call `told`."""
    shared = tuple(place for place in found.all if place.url != "memory://")
    python, shown = os.environ.get("BENCH_RIVALS") or sys.executable, 0
    most = max(*plan.clients, plan.learners, plan.restart_clients)
    with tempfile.TemporaryDirectory(prefix="ace-bench-server-") as name:
        folder = Path(name)
        async with setting(shared, most, plan.bullets) as them:
            for part in parts:
                await _part(part, plan, found, shared, them, python, folder, findings)
                for table in findings.tables[shown:]:
                    table.show(console)
                shown = len(findings.tables)
                told()


async def _part(
    part: str,
    plan: ServerPlan,
    found: Places,
    shared: tuple[Place, ...],
    them: Setting,
    python: str,
    folder: Path,
    findings: Findings,
) -> None:
    if part == "answers":
        async with running(_servers(plan, shared, python), folder) as servers:
            await measure_answers(plan, them, servers, findings)
            await measure_first_token(plan, them, servers, findings)
    elif part == "modes":
        await measure_learning_modes(plan, them, shared, folder, findings)
    elif part == "workers":
        await measure_workers(plan, them, shared, findings)
    elif part == "rivals":
        await measure_store_and_find(plan, found, python, findings)
    else:
        await measure_restart(plan, them, found.neo4j, folder, findings)


def _servers(plan: ServerPlan, shared: tuple[Place, ...], python: str) -> list[Wanted]:
    bare = Wanted("bare graph", "bare")
    kept = Wanted(CHECKPOINTED, "checkpointed")
    ours = [Wanted(f"ours, {place.name}", "ours", place.url) for place in shared]
    filled = Options(strangers=plan.rival_clients, texts=plan.bullets)
    theirs = [
        Wanted(f"bare graph, {kind}", kind, options=filled, python=python)
        for kind in KINDS
        if installed(kind, python)
    ]
    return [bare, kept, *ours, *theirs]


if __name__ == "__main__":
    main()
