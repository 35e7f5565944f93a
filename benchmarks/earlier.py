"""This commit beside an earlier one: runs of both alternate, each with its own package and benchmarks.

The goals are those for commit 46b8010; the commit that wrote RESULTS.md last shows what changed since then.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TypeAlias

from benchmarks.commands import command, run_command, write_lines
from benchmarks.goals import Goal
from benchmarks.plan import Findings, Plan
from benchmarks.table import Table
from benchmarks.timing import number

__all__ = ["costs_of", "measure_earlier"]

_HERE = Path(__file__).parents[1]
_BASE = "46b8010"
_RESULTS = "benchmarks/RESULTS.md"
_IMPORT = "import, 1,000 lines"
_GOALS = {
    "retrieve, 1,000": 0.5,
    "retrieve, 10,000": 0.5,
    "retrieve by meaning, 1,000": 0.5,
    "8 attached playbooks over none, PostgreSQL": 0.5,
    "8 attached playbooks over none, Neo4j": 0.5,
    _IMPORT: 0.1,
}
"""At most so many times what the commit `_BASE` takes of the processor."""
_CELLS = {
    "retrieve": ("Retrieval", 2),
    "retrieve by meaning": ("Retrieval", 4),
    "resolve and apply": ("Resolve and apply a delta of one bullet", 2),
    "8 attached playbooks over none": ("Attached playbooks", 4),
}
"""What is compared: a table's title, and which of its cells has milliseconds of the processor."""

_Costs: TypeAlias = dict[str, float]
_Runs: TypeAlias = Sequence[tuple[_Costs, _Costs]]
"""Pairs: what each thing took with the earlier commit, and with this one, in milliseconds."""


def measure_earlier(plan: Plan, findings: Findings) -> None:
    """Add a table for each earlier commit; a line that says so where there is no history of git."""
    for commit in dict.fromkeys((_BASE, _git("log", "-1", "--format=%h", "--", _RESULTS).strip())):
        with tempfile.TemporaryDirectory(prefix="ace-earlier-") as name:
            folder = Path(name)
            if not _check_out(commit, folder):
                findings.tables.append(Table(f"Beside {commit or 'an earlier commit'}", ("no history",), []))
                continue
            runs = [(_run(folder, plan), _run(_HERE, plan)) for _ in range(plan.earlier_runs)]
            for costs, checkout in zip(runs[0], (folder, _HERE), strict=True):
                costs[_IMPORT] = _import(checkout, plan)
        findings.tables.append(_table(commit, runs, plan))
        if commit == _BASE:
            findings.goals += [
                Goal(f"{what}, over {_BASE}", _ratio(runs, what), most, "times")
                for what, most in _GOALS.items()
                if what in _shared(runs)
            ]


def _check_out(commit: str, folder: Path) -> bool:
    """Put the files of a commit into a folder; False where there is no such commit."""
    if not commit or not _git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"):
        return False
    packed = folder / "commit.tar"
    _git("archive", "--output", str(packed), commit)
    subprocess.run(["tar", "-xf", packed, "-C", folder], check=True)
    packed.unlink()
    return True


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], capture_output=True, text=True, cwd=_HERE).stdout


def _run(folder: Path, plan: Plan) -> _Costs:
    """Return what each thing but the import takes with the package in `folder`."""
    with tempfile.TemporaryDirectory(prefix="ace-bench-") as name:
        told, store = Path(name, "told.json"), f"sqlite:///{name}/ace.db"
        probe = [sys.executable, "-P", str(_HERE / "benchmarks" / "probe.py"), str(told)]
        run_command([*probe, "quick" if plan.quick else ""], folder)
        costs = costs_of(json.loads(told.read_text("utf-8")))
        listing = command("playbook", "list", "--store", store)
        costs["playbook list"] = min(run_command(listing, folder) for _ in range(5)) * 1000
    return costs


def costs_of(tables: Mapping[str, tuple[Sequence[str], Sequence[Sequence[str]]]]) -> _Costs:
    """Return what is compared of the tables that `benchmarks.probe` wrote."""
    return {
        f"{what}, {row[0]}": float(row[cell].replace(",", ""))
        for what, (title, cell) in _CELLS.items()
        for row in tables[title][1]
        if row[cell]
    }


def _import(folder: Path, plan: Plan) -> float:
    """Return what 1,000 of unlike lines take, the program's start shared among all."""
    with tempfile.TemporaryDirectory(prefix="ace-bench-") as name:
        lines, store = Path(name, "lines.md"), f"sqlite:///{name}/ace.db"
        write_lines(lines, plan.import_lines)
        words = command("playbook", "import", str(lines), "--store", store, "--json")
        return run_command(words, folder, ACE_MAX_BULLETS="100000") / plan.import_lines * 1_000_000


def _table(commit: str, runs: _Runs, plan: Plan) -> Table:
    rows = [
        (
            what,
            number(_ratio(runs, what)),
            number(median(now[what] for _, now in runs if what in now)),
            number(median(then[what] for then, _ in runs if what in then)),
        )
        for what in _shared(runs)
    ]
    note = (
        "Milliseconds of the processor, and what this commit takes over the earlier one: medians of "
        f"{len(runs)} pairs of runs, in turns. One import, of {plan.import_lines:,} unlike lines, no cap."
    )
    return Table(f"Beside {commit}", ("what", "ratio", "now", "then"), rows, note)


def _shared(runs: _Runs) -> list[str]:
    then, now = runs[0]
    return [what for what in now if what in then]


def _ratio(runs: _Runs, what: str) -> float:
    return median(now[what] / then[what] for then, now in runs if what in now)
