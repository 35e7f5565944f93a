"""The benchmarks of the stores work: bytes of a commit do not grow, LangGraph's store stands beside ours."""

from __future__ import annotations

from pathlib import Path

from benchmarks.available_stores import Place, Places
from benchmarks.growth import measure_growth
from benchmarks.langgraph_store import measure_langgraph_store
from benchmarks.plan import Findings, Plan

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


async def test_without_postgres_a_row_says_so(tmp_path: Path) -> None:
    findings = Findings()
    found = Places((Place("SQLite", f"sqlite:///{tmp_path}/bench.db"),))
    await measure_langgraph_store(PLAN, found, findings)
    assert findings.tables[0].rows == [("no PostgreSQL", "", "")]
