"""Runs the benchmarks, prints their tables, and writes benchmarks/RESULTS.md.

In quick mode, and for a part, the file is not written. What a person wrote below its mark stays.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import time
from pathlib import Path

from rich.console import Console

from benchmarks.attached import measure_attached
from benchmarks.available_stores import Places, places
from benchmarks.commands import measure_commands
from benchmarks.consolidation import measure_consolidation
from benchmarks.core import measure_core
from benchmarks.earlier import measure_earlier
from benchmarks.footprint import measure_footprint
from benchmarks.goals import goals_table
from benchmarks.growth import measure_growth
from benchmarks.langgraph_store import measure_langgraph_store
from benchmarks.machine import describe_machine, load_now
from benchmarks.plan import FULL, QUICK, Findings, Plan
from benchmarks.report import write_report
from benchmarks.store_unit import measure_store_unit
from benchmarks.stores import measure_stores
from benchmarks.unit import measure_unit
from benchmarks.windows import measure_windows
from benchmarks.writers import measure_writers

RESULTS = Path(__file__).parent / "RESULTS.md"
PARTS = (
    "unit",
    "store-unit",
    "earlier",
    "core",
    "windows",
    "commands",
    "attached",
    "consolidation",
    "stores",
    "growth",
    "langgraph",
    "writers",
    "footprint",
)


def main() -> None:
    """Read the arguments, measure, report."""
    options = _options()
    os.environ["LANGSMITH_TRACING"] = "false"
    plan, findings, console = QUICK if options.quick else FULL, Findings(), Console(width=140)
    parts: list[str] = options.only or list(PARTS)
    began, load_before = time.monotonic(), load_now()
    with places() as found:
        _measure(parts, plan, found, findings, console)
        machine = describe_machine(found.servers)
    machine.append(
        f"Load average {load_before:.1f} at the start and {load_now():.1f} at the end; "
        f"it took {time.monotonic() - began:.0f} s"
    )
    goals = goals_table(findings.goals)
    goals.show(console)
    for line in machine:
        console.print(line, highlight=False)
    if not options.quick and not options.only:
        write_report(RESULTS, "Results", "make bench", machine, (goals, *findings.tables))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measures this project.")
    quick = os.environ.get("QUICK", "") not in ("", "0")
    parser.add_argument("--quick", action="store_true", default=quick, help="under a minute; or QUICK=1")
    parser.add_argument("--only", nargs="+", choices=PARTS, help="only these parts")
    return parser.parse_args()


def _measure(parts: list[str], plan: Plan, found: Places, findings: Findings, console: Console) -> None:
    shown = 0
    for part in parts:
        if part == "core":
            measure_core(plan, findings)
        elif part == "windows":
            measure_windows(plan, findings)
        elif part == "footprint":
            measure_footprint(plan, findings)
        elif part == "commands":
            measure_commands(plan, findings)
        elif part == "earlier":
            measure_earlier(plan, findings)
        elif part == "unit":
            asyncio.run(measure_unit(plan, findings))
        else:
            measure = {
                "store-unit": measure_store_unit,
                "attached": measure_attached,
                "consolidation": measure_consolidation,
                "stores": measure_stores,
                "growth": measure_growth,
                "langgraph": measure_langgraph_store,
                "writers": measure_writers,
            }[part]
            asyncio.run(measure(plan, found, findings))
        for table in findings.tables[shown:]:
            table.show(console)
        shown = len(findings.tables)


if __name__ == "__main__":
    main()
