"""Mutation testing draws a fair sample, reads mutmut's verdicts right and says what survived."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.mutants.mutation import Change, try_mutants, verdicts
from benchmarks.mutants.reasons import REASONS, read_reasons, reason_for
from benchmarks.mutants.report import page, score_table
from benchmarks.mutants.sample import draw, group_of, module_of
from benchmarks.mutants.selection import Reached, trial_of
from benchmarks.mutants.tree import BUDGET, mutated_paths
from tests.packaging.repository import ROOT

BIG, SMALL, LONE = (
    [f"ace_graph.memory.window.x_f__mutmut_{n}" for n in range(700)],
    [f"ace_graph.learning.reflection.x_f__mutmut_{n}" for n in range(300)],
    ["ace_graph.memory.stores.sql.sqlite.xǁSQLiteStoreǁload__mutmut_1"],
)
EVERY = [*BIG, *SMALL, *LONE]


def test_every_module_has_its_share_of_the_sample() -> None:
    sample = draw(EVERY, 100, seed=1)
    counts = Counter(map(module_of, sample))
    assert counts["ace_graph.memory.stores.sql.sqlite"] == 1
    assert (counts["ace_graph.memory.window"], counts["ace_graph.learning.reflection"]) == (69, 30)
    assert len(set(sample)) == len(sample) == 100
    assert set(sample) <= set(EVERY)


def test_the_seed_decides_the_sample_and_the_order_does_not() -> None:
    assert draw(EVERY, 100, 1) == draw(reversed(EVERY), 100, 1)
    assert draw(EVERY, 100, 1) != draw(EVERY, 100, 2)
    assert draw(EVERY, 5_000, 1) == sorted(EVERY)


def test_a_module_belongs_to_one_group() -> None:
    groups = [group_of(f"ace_graph.{module}.x_f__mutmut_1") for module in (
        "memory.text", "memory.formats.lmb", "memory.stores.sqlite", "learning.adaptation.course",
    )]  # fmt: skip
    assert groups == ["memory core", "formats", "stores", "learning"]


def test_verdicts_come_from_the_exit_codes(tmp_path: Path) -> None:
    codes = {"a": 1, "b": 0, "d": 33, "e": -24, "f": -11, "g": 3}
    (tmp_path / "verdicts-first.jsonl").write_text("".join(f"{json.dumps(pair)}\n" for pair in codes.items()))
    assert list(verdicts(tmp_path).values()) == [
        "killed", "survived", "no tests", "timeout", "odd", "killed",
    ]  # fmt: skip
    assert verdicts(tmp_path / "nowhere") == {}


def test_the_tests_of_the_room_come_first_as_far_as_the_budget_goes() -> None:
    took = {
        "tests/memory/test_a.py::slow": 2.0,
        "tests/memory/test_a.py::quick": 1.0,
        "tests/memory/test_a.py::x[\\u20ac]": 1.0,
        "tests/cli/test_b.py::quick": 0.5,
        "tests/cli/test_b.py::long": BUDGET,
    }
    reached = Reached(tests_of={"ace_graph.memory.window.x_f": list(took)}, took=took)
    tests = trial_of("ace_graph.memory.window.x_f__mutmut_1", reached).tests
    assert [test.rpartition(":")[2] for test in tests] == ["quick", "slow", "quick"]
    again = trial_of("ace_graph.memory.window.x_f__mutmut_1", reached, second=True).tests
    assert len(again) == len(took)


def test_tests_that_fail_without_a_mutant_judge_none(tmp_path: Path) -> None:
    (tmp_path / "verdicts-first.jsonl").write_text('["a", 1]\n["control:a", 1]\n')
    with pytest.raises(RuntimeError, match="fail without a mutant"):
        try_mutants(tmp_path, ["a", "control:a"])
    (tmp_path / "verdicts-first.jsonl").write_text('["a", 1]\n["b", 0]\n["c", 33]\n["control:a", 0]\n')
    (tmp_path / "verdicts-second.jsonl").write_text('["b", 1]\n["c", 0]\n["control:a", 0]\n')
    try_mutants(tmp_path, ["a", "b", "c", "control:a"])
    assert verdicts(tmp_path) == {"a": "killed", "b": "killed", "c": "survived", "control:a": "survived"}


def test_uncovered_and_odd_mutants_lower_the_score() -> None:
    tried = dict(zip(BIG, ["killed", "timeout", "survived", "no tests", "odd"], strict=False))
    (_, _, core, everything) = score_table(tried, EVERY)  # type: ignore[arg-type]  # pyright: ignore  # literals
    assert core == "| memory core | 700 | 5 | 2 | 1 | 1 | 0.400 | 0.118 to 0.769 | 0.90 |"
    assert everything.startswith("| all | 1001 | 5 | 2 |")


def test_a_survivor_is_listed_with_its_change_and_its_reason(tmp_path: Path) -> None:
    path = tmp_path / "reasons.toml"
    path.write_text('[[reason]]\nwhy = "no way to tell"\nmodule = "ace_graph.memory.window"\nline = "^a <"\n')
    reasons = read_reasons(path)
    known, unknown = BIG[:2]
    changes = {known: Change("a < b", "a <= b"), unknown: Change("c < d", "c <= d")}
    text = page({known: "survived", unknown: "survived"}, changes, reasons, EVERY, ["a machine"], 1)
    without, _, explained = text.partition("## Survivors with a reason: 1")
    assert "## Survivors without a reason: 1" in without
    assert "`memory.window: f, 1`" in without
    assert "+ c <= d" in without
    assert "### No way to tell: 1" in explained
    assert "- a < b" in explained
    assert reason_for(SMALL[0], changes[known], reasons) is None, "of another module"


def test_the_reasons_can_be_read_and_say_something() -> None:
    reasons = read_reasons(REASONS)
    assert all(len(reason.why) > 10 and (reason.line.pattern or reason.new.pattern) for reason in reasons)


@pytest.mark.parametrize(
    ("given", "there"),
    [
        ("memory/window.py", "ace_graph/memory/window.py"),
        ("ace_graph/learning/reflection.py", "ace_graph/learning/reflection.py"),
    ],
)
def test_a_file_is_found_in_the_copy_without_links(given: str, there: str) -> None:
    assert mutated_paths([given]) == [there]


def test_the_last_run_reached_its_goals_and_explains_what_survived() -> None:
    """The committed page. A survivor is explained by a reason, or by the test that was written since."""
    text = REASONS.with_name("RESULTS.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.split("|")] for line in text.splitlines() if line.startswith("| ")]
    scores = {row[1]: (float(row[7]), float(row[9])) for row in rows if row[1] in ("memory core", "learning")}
    assert {group: goal for group, (_, goal) in scores.items()} == {"memory core": 0.9, "learning": 0.8}
    assert [group for group, (score, goal) in scores.items() if score < goal] == []
    assert "## Survivors without a reason: 0\n" in text
    assert sum(int(row[2]) for row in rows if row[1] == "all") > 20_000
    table = ROOT / "docs" / "capabilities.md"
    claim = next(line for line in table.read_text(encoding="utf-8").splitlines() if line.startswith("| B8 |"))
    tried = next(row[3] for row in rows if row[1] == "all")
    killed = [f"{scores[group][0]:.3f}".removeprefix("0") for group in ("memory core", "learning")]
    assert [told for told in (f"{tried} mutants", *killed) if told not in claim] == []
