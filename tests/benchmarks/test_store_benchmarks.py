"""The benchmarks of the stores work: bytes of a commit do not grow, LangGraph's store stands beside ours."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from benchmarks.available_stores import Place, Places
from benchmarks.growth import measure_growth
from benchmarks.langgraph_store import measure_langgraph_store
from benchmarks.many_learners import measure_many_learners
from benchmarks.plan import Findings, Plan
from benchmarks.store_unit import measure_store_unit

PLAN = Plan(sizes=(20, 60), turns=1, questions=5, repeats=2)


async def test_the_bytes_of_a_commit_are_counted_on_files_and_servers(postgres: str, tmp_path: Path) -> None:
    findings = Findings()
    found = [Place("memory", "memory://"), Place("SQLite", f"sqlite:///{tmp_path}/bench.db")]
    await measure_growth(PLAN, Places((*found, Place("PostgreSQL", postgres))), findings)
    (table,) = findings.tables
    assert [row[0] for row in table.rows] == ["SQLite", "PostgreSQL"]
    assert all(int(cell.replace(",", "")) > 1_000 for row in table.rows for cell in row[1:])
    assert [goal.reached for goal in findings.goals] == [True, True]


async def test_langgraphs_store_keeps_and_finds_the_same_texts(postgres: str) -> None:
    findings = Findings()
    await measure_langgraph_store(PLAN, Places((Place("PostgreSQL", postgres),)), findings)
    (table,) = findings.tables
    assert [row[0].partition(",")[0] for row in table.rows] == ["ours", "LangGraph's PostgresStore"] * 2
    assert all(cell.count("/") == 1 for row in table.rows for cell in row[1:])


async def test_calls_are_measured_by_the_number_of_learners(empty_postgres: str) -> None:
    table = await measure_many_learners(empty_postgres, (10, 20), 3, tell=lambda _: None)
    assert table.columns[1:] == ("10 learners", "20 learners", "pages, last over first")
    assert [cell.count(" pages, ") for row in table.rows for cell in row[1:-1]] == [1] * 2 * len(table.rows)
    load, commit = table.rows[:2]
    assert 0 < float(load[1].partition(" ")[0]) < float(commit[1].partition(" ")[0]), "a commit writes"


async def test_a_turn_on_each_store_is_told_in_times_of_a_bare_graph(postgres: str) -> None:
    findings = Findings()
    await measure_store_unit(replace(PLAN, unit_turns=2), Places((Place("PostgreSQL", postgres),)), findings)
    (table,) = findings.tables
    assert [row[0].partition(", ")[0] for row in table.rows] == ["PostgreSQL"] * 4
    assert float(table.rows[0][1]) > 1.0, "our own work comes on top of the bare graph's"


async def test_without_postgres_a_row_says_so(tmp_path: Path) -> None:
    findings = Findings()
    found = Places((Place("SQLite", f"sqlite:///{tmp_path}/bench.db"),))
    await measure_langgraph_store(PLAN, found, findings)
    assert findings.tables[0].rows == [("no PostgreSQL", "", "")]
