"""Checks docs/capabilities.md: every row once, and each test named there exists (and passed).

    python dev/check_capabilities.py                          the tests exist, by pytest's own collection
    python dev/check_capabilities.py --results FILE           they ran and passed, by the JUnit file of a run

Exit 0 when all of it holds, 1 with a line for each thing that does not.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "docs" / "capabilities.md"
ROWS = (
    *(f"C{n}" for n in range(1, 173)),
    *(f"N{n}" for n in range(1, 94)),
    *(f"B{n}" for n in range(1, 72)),
)
_ROW = re.compile(r"^\|\s*([BCN]\d+)\s*\|[^|]*\|([^|]*)\|\s*$", re.MULTILINE)
_OPEN = "open"


def read_table(text: str) -> list[tuple[str, list[str]]]:
    """Each row's id with the node ids that it names; none for a row that is open."""
    rows: list[tuple[str, list[str]]] = []
    for row, proof in _ROW.findall(text):
        names = [name.strip(" `") for name in re.split(r"<br>|,", proof)]
        rows.append((row, [] if names == [_OPEN] else names))
    return rows


def passed_and_not(results: Path) -> tuple[set[str], set[str]]:
    """Of a JUnit file: the tests of which every case passed, and the others, as `module.path::test_name`."""
    passed: set[str] = set()
    others: set[str] = set()
    for case in ET.parse(results).iter("testcase"):  # noqa: S314 - a file that our own run wrote
        name = f"{case.get('classname', '')}::{case.get('name', '').partition('[')[0]}"
        bad = any(child.tag in {"skipped", "failure", "error"} for child in case)
        (others if bad else passed).add(name)
    return passed - others, others


def as_case(node_id: str) -> str:
    """`tests/a/test_b.py::Class::test_c` as a JUnit file names it."""
    path, *names = node_id.partition("[")[0].split("::")
    module = path.removesuffix(".py").replace("/", ".")
    return "::".join([".".join([module, *names[:-1]]), *names[-1:]])


def collected(node_ids: set[str]) -> set[str]:
    """The tests that pytest finds in the files of these node ids, without their parameters."""
    files = sorted({node_id.partition("::")[0] for node_id in node_ids})
    there = [name for name in files if (ROOT / name).is_file()]
    if not there:
        return set()
    done = subprocess.run(  # noqa: S603 - fixed arguments, files of this repository
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *there],
        cwd=ROOT,
        env={**os.environ, "ACE_TEST_HEAVY": "1"},
        check=False,
        capture_output=True,
        text=True,
    )
    return {line.partition("[")[0] for line in done.stdout.splitlines() if "::" in line}


def row_problems(rows: list[tuple[str, list[str]]]) -> Iterator[str]:
    """What is wrong with the rows themselves: missing, doubled, unknown, or with an odd proof."""
    counts = Counter(row for row, _ in rows)
    yield from (f"{row}: the row is missing" for row in ROWS if not counts[row])
    yield from (f"{row}: the row is there {count} times" for row, count in counts.items() if count > 1)
    yield from (f"{row}: there is no such capability" for row in counts if row not in ROWS)
    for row, names in rows:
        odd = [name for name in names if not re.fullmatch(r"tests/\S+\.py::\S+", name)]
        yield from (f"{row}: '{name}' is neither a test's node id nor `{_OPEN}`" for name in odd)


def test_problems(rows: list[tuple[str, list[str]]], results: Path | None) -> Iterator[str]:
    """What is wrong with the tests that the rows name."""
    named = {name for _, names in rows for name in names}
    passed, others = passed_and_not(results) if results else (set[str](), set[str]())
    found = set[str]() if results else collected(named)
    for row, names in rows:
        for name in names:
            if not results and name.partition("[")[0] not in found:
                yield f"{row}: pytest finds no {name}"
            elif results and as_case(name) in others:
                yield f"{row}: {name} was skipped or failed"
            elif results and as_case(name) not in passed:
                yield f"{row}: {name} did not run"


def main() -> int:
    """Prints what is wrong, or how many rows are proved; returns the exit code."""
    parser = argparse.ArgumentParser(description="Check docs/capabilities.md against the tests.")
    parser.add_argument("--results", type=Path, help="the JUnit file of a test run")
    parser.add_argument("--table", type=Path, default=TABLE)
    options = parser.parse_args()
    if options.results and not options.results.is_file():
        parser.exit(1, f"{options.results} is missing: run `make test HEAVY=1` first\n")
    rows = read_table(options.table.read_text(encoding="utf-8"))
    problems = [*row_problems(rows), *test_problems(rows, options.results)]
    proved = sum(bool(names) for _, names in rows)
    sys.stdout.write("".join(f"{problem}\n" for problem in problems))
    sys.stdout.write(f"{options.table.name}: {len(rows)} rows, {proved} proved, {len(rows) - proved} open\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
