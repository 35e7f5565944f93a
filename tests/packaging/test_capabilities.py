"""The check of docs/capabilities.md finds what it is there to find."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.repository import ROOT

TABLE = (ROOT / "docs" / "capabilities.md").read_text(encoding="utf-8")
CLASS, NAME = "tests.packaging.test_capabilities", "test_the_table_has_every_row_once"
HERE = f"{CLASS.replace('.', '/')}.py::{NAME}"
CASE = f'<testcase classname="{CLASS}" name="{NAME}{{}}">{{}}</testcase>'
RESULTS = "<testsuites><testsuite>{}</testsuite></testsuites>"


def _check(tmp_path: Path, table: str, *cases: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "table.md").write_text(table, encoding="utf-8")
    (tmp_path / "junit.xml").write_text(RESULTS.format("".join(cases)), encoding="utf-8")
    options = ["--table", tmp_path / "table.md", "--results", tmp_path / "junit.xml"]
    return subprocess.run(
        [sys.executable, ROOT / "dev" / "check_capabilities.py", *options],
        check=False,
        capture_output=True,
        text=True,
    )


def _with_proof(row: str, proof: str) -> str:
    """The committed table with every row open but one."""
    blank = re.sub(r"^(\| [BCN]\d+ \|[^|]*\|)[^|]*\|$", r"\1 open |", TABLE, flags=re.MULTILINE)
    return re.sub(rf"^\| {row} \|.*$", f"| {row} | x | {proof} |", blank, flags=re.MULTILINE)


def test_the_table_has_every_row_once() -> None:
    kinds = ("| C", "| N", "| B")
    rows = [line.split("|")[1].strip() for line in TABLE.splitlines() if line.startswith(kinds)]
    counts = {"C": 172, "N": 93, "B": 71}
    assert sorted(rows) == sorted(f"{kind}{n}" for kind, last in counts.items() for n in range(1, last + 1))


@pytest.mark.parametrize(
    ("cases", "complaint"),
    [
        ([CASE.format("", "")], ""),
        ([CASE.format("[a]", ""), CASE.format("[b]", "")], ""),
        ([CASE.format("[a]", ""), CASE.format("[b]", "<failure/>")], "was skipped or failed"),
        ([CASE.format("", "<skipped/>")], "was skipped or failed"),
        ([], "did not run"),
    ],
    ids=["passed", "passed with each parameter", "failed with one parameter", "skipped", "absent"],
)
def test_a_named_test_must_have_run_and_passed(tmp_path: Path, cases: list[str], complaint: str) -> None:
    done = _check(tmp_path, _with_proof("C91", f"`{HERE}`"), *cases)
    assert done.returncode == bool(complaint), done.stdout
    assert complaint in done.stdout


def test_missing_and_duplicate_rows_and_bad_proofs_are_found(tmp_path: Path) -> None:
    table = _with_proof("C2", "surely").replace("| C1 |", "| C3 |")
    done = _check(tmp_path, table)
    assert done.returncode == 1
    assert "C1: the row is missing" in done.stdout
    assert "C3: the row is there 2 times" in done.stdout
    assert "'surely' is neither" in done.stdout


def test_without_results_the_tests_must_at_least_exist(tmp_path: Path) -> None:
    (tmp_path / "table.md").write_text(_with_proof("C91", f"{HERE}<br>{HERE}_not"), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, ROOT / "dev" / "check_capabilities.py", "--table", tmp_path / "table.md"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stdout.splitlines()[:-1] == [f"C91: pytest finds no {HERE}_not"]
