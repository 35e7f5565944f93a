"""What is compared with an earlier commit is in the tables of this one; commands are told over an import."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from benchmarks.attached import measure_attached
from benchmarks.available_stores import Place, Places
from benchmarks.commands import measure_commands
from benchmarks.core import measure_core
from benchmarks.earlier import costs_of
from benchmarks.plan import Findings, Plan

PLAN = Plan(sizes=(20,), turns=1, questions=5, repeats=2, starts=1)


async def test_each_cell_that_is_compared_has_its_milliseconds(tmp_path: Path) -> None:
    findings = Findings()
    await measure_attached(PLAN, Places((Place("SQLite", f"sqlite:///{tmp_path}/bench.db"),)), findings)
    measured = findings.tables.pop()
    await asyncio.to_thread(measure_core, PLAN, findings)  # it runs a loop of its own
    costs = costs_of({table.title: (table.columns, table.rows) for table in (*findings.tables, measured)})
    assert {"retrieve, 20", "resolve and apply, a new one, 20 bullets"} < costs.keys()
    assert {"resolve and apply, a new one at the cap, 20 bullets"} < costs.keys()
    assert "8 attached playbooks over none, SQLite" in costs
    assert costs["retrieve, 20"] > 0


@pytest.mark.heavy
def test_commands_are_told_over_an_import_of_langgraph() -> None:
    findings = Findings()
    measure_commands(PLAN, findings)
    (table,) = findings.tables
    ratios = {row[0]: float(row[1]) for row in table.rows}
    assert ratios["import langgraph.graph (not ours)"] == 1.0
    assert 0 < ratios["python -c pass"] < ratios["ace-graph playbook list"]
    assert [goal.unit for goal in findings.goals] == ["times"]
