"""Public test sets: `python -m benchmarks.public fact-consolidation --data FILE ... [--reworded SEED]`.

Nothing is downloaded, and no data is in the repository: FILE is a published file. Prints a table, and writes
nothing.

Sets: fact-consolidation (MemoryAgentBench, MIT by its dataset card).
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from rich.console import Console

from benchmarks.machine import describe_machine
from benchmarks.public.fact_consolidation import ask_all, read_facts, row
from benchmarks.table import Table

COLUMNS = ("file", "found", "first", "outdated as true", "lines", "tokens")


def main() -> None:
    """Ask the questions of each file, and print what the prompts held."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.public", description=__doc__)
    parser.add_argument("name", choices=("fact-consolidation",), help="the test set")
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="published files of the set")
    parser.add_argument("--reworded", type=int, metavar="SEED", help="tell the facts in other words, too")
    given = parser.parse_args()
    rows = list[list[str]]()
    for path in given.data:
        try:
            held = read_facts(path, given.reworded)
        except (OSError, ValueError) as error:
            sys.exit(f"benchmarks.public: {error}")
        rows.append(row(path.stem, asyncio.run(ask_all(held))))
    note = "; ".join(describe_machine())
    Table("FactConsolidation, prompts of the graph", COLUMNS, rows, note).show(Console())


if __name__ == "__main__":
    main()
