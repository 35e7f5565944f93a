"""Files of tasks: every good row is read, every bad one reported, and size does not matter."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from ace_graph.base import DatasetError
from ace_graph.training import TASKS, RowFile
from tests.plugins.sizes import sized

QA, FINER = TASKS["qa"], TASKS["finer"]


def write(path: Path, *lines: bytes | str | Mapping[str, object]) -> Path:
    def line(value: bytes | str | Mapping[str, object]) -> bytes:
        text = json.dumps(value) if isinstance(value, Mapping) else value
        return text.encode() if isinstance(text, str) else text

    path.write_bytes(b"".join(line(each) + b"\n" for each in lines))
    return path


def test_rows_are_samples_named_by_their_lines(tmp_path: Path) -> None:
    file = write(
        tmp_path / "a.jsonl",
        {"context": "q1", "target": "a, b"},
        "",
        {"context": "q2", "target": 2.5, "id": 7},
    )
    rows = RowFile(file, FINER)
    assert [(r.id, r.question, r.target, r.units) for r in rows] == [
        ("line 1", "q1", "a, b", 2),
        ("line 3", "q2", "2.5", 1),
    ]
    assert [r.question for r in rows[1:]] == ["q2"]
    assert rows.report() is None


def test_a_row_may_ask_for_the_form_of_its_target(tmp_path: Path) -> None:
    row = {"context": "q", "target": "1 3/8"}
    asked = RowFile(write(tmp_path / "a.jsonl", {**row, "form": "same"}, {**row, "form": "nice"}, row), QA)
    assert [each.form for each in asked] == ["same", "any"]
    assert [str(problem) for problem in asked.problems] == ['line 2: the form is neither "any" nor "same"']
    plain = RowFile(write(tmp_path / "b.jsonl", row, row), QA)
    assert plain.digest != asked.digest


def test_lines_that_cannot_be_used_are_left_out_and_reported(tmp_path: Path) -> None:
    file = write(
        tmp_path / "a.jsonl",
        {"context": "good", "target": "1"},
        '{"context": "torn',
        {"context": "no target"},
        {"target": "no context"},
        {"context": 5, "target": "1"},
        {"context": "empty", "target": " "},
        {"context": "bool", "target": True},
        "[1, 2]",
        b'{"context": "\xff", "target": "1"}',
        {"context": "\ud800", "target": "1"},
        "[" * 100_000,
        {"context": "long", "target": "x" * 10_001},
        b'{"context": "' + b"x" * 10_500_000 + b'", "target": "1"}',
        {"context": "good too", "target": "2"},
    )
    rows = RowFile(file, QA)
    assert [r.id for r in rows] == ["line 1", "line 14"]
    assert [str(p) for p in rows.problems] == [
        "line 2: it is not JSON",
        "line 3: the target is missing",
        "line 4: the context is missing",
        "line 5: the context is not text",
        "line 6: the target is empty",
        "line 7: the target is neither text nor number",
        "line 8: it is not a JSON object",
        "line 9: it is not UTF-8",
        "line 10: the context holds a lone surrogate",
        "line 11: it is not JSON",
        "line 12: the target is too long",
        "line 13: it is longer than 10 MB",
    ]
    assert rows.skipped == 12
    told = rows.report() or ""
    assert "12 of 14 rows can't be used: line 2: it is not JSON; line 3: the target is missing" in told


def test_a_byte_order_mark_and_line_ends_do_not_matter(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(b'\xef\xbb\xbf{"context": "q", "target": "1"}\r\n{"context": "r", "target": "2"}')
    rows = RowFile(file, QA)
    assert [r.question for r in rows] == ["q", "r"]


@pytest.mark.parametrize("content", ["", "\n\n", "not json\n", '{"context": "no target"}\n'])
def test_a_file_without_a_usable_row_is_an_error(content: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(content)
    with pytest.raises(DatasetError, match="no row that can be used"):
        RowFile(tmp_path / "a.jsonl", QA)


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="No such file or directory: check the path"):
        RowFile(tmp_path / "b.jsonl", QA)


def test_a_limit_reads_no_further(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", *({"context": f"q{n}", "target": "1"} for n in range(5)), "broken")
    rows = RowFile(file, QA, limit=3)
    assert (len(rows), rows.skipped) == (3, 0)
    longer = RowFile(file, QA, limit=4)
    assert rows.digest != longer.digest


def test_without_targets_questions_are_enough(tmp_path: Path) -> None:
    rows = RowFile(write(tmp_path / "a.jsonl", {"context": "q"}), QA, targets=False)
    assert (rows[0].question, rows[0].target) == ("q", None)


_READ = """
import resource, sys
from pathlib import Path
from ace_graph.training import TASKS, RowFile
from tests.plugins.sizes import sized
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
rows = RowFile(Path(sys.argv[1]), TASKS["qa"])
print(len(rows), rows[187_654].question, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.slow
def test_many_rows_need_little_memory(tmp_path: Path) -> None:
    rows = sized(250_000, 1_000_000)
    file = tmp_path / "large.jsonl"
    with file.open("w") as out:
        for n in range(rows):
            out.write(f'{{"context":"q{n}","target":"{n}"}}\n')
    done = subprocess.run(
        [sys.executable, "-c", _READ, str(file)], check=True, capture_output=True, text=True
    )
    length, question, kilobytes = done.stdout.split()
    assert (length, question) == (str(rows), "q187654")
    assert int(kilobytes) < rows // 20, "16 bytes a row"
