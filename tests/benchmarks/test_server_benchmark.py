"""The benchmark of the web backend works: real servers are asked and learn, and what is missing is told."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from benchmarks.available_stores import Neo4jHere, Place, Places
from benchmarks.plan import Findings
from benchmarks.report import write_report
from benchmarks.server.answers import CHECKPOINTED, measure_answers
from benchmarks.server.first_token import measure_first_token
from benchmarks.server.participants import Setting, setting
from benchmarks.server.percentiles import Percentiles, percentiles
from benchmarks.server.plan import TINY
from benchmarks.server.restart import measure_restart
from benchmarks.server.servers import Wanted, running
from benchmarks.server.store_and_find import measure_store_and_find
from benchmarks.server.workers import measure_workers
from benchmarks.table import Table


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place("SQLite", f"sqlite:///{tmp_path}/bench.db")


@pytest.fixture
async def people(place: Place) -> AsyncIterator[Setting]:
    async with setting([place], TINY.learners, TINY.bullets) as them:
        yield them


async def _bullets(people: Setting, place: Place) -> int:
    store, learners = people.stores[place.url], people.learners[place.url]
    return sum([len((await store.load(learner)).playbook) for learner in learners])


async def test_servers_answer_stream_and_learn_while_they_are_measured(
    place: Place, people: Setting, tmp_path: Path
) -> None:
    findings, before = Findings(), await _bullets(people, place)
    bare, ours = Wanted("bare graph", "bare"), Wanted("SQLite", "ours", place.url)
    wanted = [bare, Wanted(CHECKPOINTED, "checkpointed"), ours]
    async with running(wanted, tmp_path) as (first, kept, last):
        await measure_answers(TINY, people, (first, kept, last), findings)
        await measure_first_token(TINY, people, (first, last), findings)
    answers, tokens = findings.tables
    assert [row[0] for row in answers.rows] == ["bare graph", CHECKPOINTED, "SQLite"]
    assert not any("failed" in cell for row in answers.rows for cell in row)
    assert answers.rows[1][1] == "1.00"
    assert answers.rows[0][4] == ""
    assert answers.rows[2][4].count("/") == 2
    assert [row[0] for row in tokens.rows] == ["bare graph", "SQLite"]
    assert [goal.limit for goal in findings.goals] == [10.0]
    assert await _bullets(people, place) > before


@pytest.mark.heavy
async def test_workers_learn_from_every_turn_that_is_left_to_them(place: Place, people: Setting) -> None:
    findings, before = Findings(), await _bullets(people, place)
    await measure_workers(TINY, people, [place], findings)
    (table,) = findings.tables
    assert [row[0] for row in table.rows] == ["SQLite, the model reflects at once"]
    turns = TINY.learners * TINY.turns_each
    assert before < await _bullets(people, place) <= before + turns


async def test_a_library_that_is_not_installed_is_reported(place: Place) -> None:
    findings = Findings()
    await measure_store_and_find(TINY, Places((place,)), sys.executable, findings)
    (table,) = findings.tables
    told = {row[0].partition(",")[0]: row[1] for row in table.rows}
    assert told["ours"].count("/") == 2
    assert all(cell == "not installed" or cell.count("/") == 2 for cell in told.values())


@pytest.mark.parametrize(
    ("found", "why"),
    [(None, "no Neo4j"), (Neo4jHere("bolt://127.0.0.1:1"), "this Neo4j is not ours to kill")],
)
async def test_a_neo4j_that_is_not_ours_is_never_killed(
    found: Neo4jHere | None, why: str, people: Setting, tmp_path: Path
) -> None:
    findings = Findings()
    await measure_restart(TINY, people, found, tmp_path, findings)
    assert findings.tables[0].rows == [("not tried", why)]


def test_percentiles_are_of_the_ranked_values() -> None:
    found = percentiles([float(n) for n in range(200, 0, -1)])
    assert found == Percentiles(101.0, 191.0, 199.0)
    assert found.over(Percentiles(1.0, 1.0, 9.0)) == Percentiles(100.0, 190.0, 190.0)


def test_a_report_keeps_what_a_person_wrote_below_its_mark(tmp_path: Path) -> None:
    page = tmp_path / "RESULTS.md"
    write_report(page, "Results", "make it", ["a machine"], [Table("One", ("what", "ms"), [("a", "1")])])
    page.write_text(page.read_text("utf-8") + "Why it is so.\n", "utf-8")
    write_report(page, "Results", "make it", ["a machine"], [Table("Two", ("what", "ms"), [("b", "2")])])
    text = page.read_text("utf-8")
    assert "### One" not in text
    assert text.index("- a machine") < text.index("| b | 2 |") < text.index("Why it is so.")
