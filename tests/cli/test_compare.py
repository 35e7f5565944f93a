"""`ace-graph adapt compare`: two playbooks, or two settings, on the same rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ace_graph.testing import GeminiServer
from tests.cli.adaptation_runs import LESSON, apprentice, reflecting, write_rows
from tests.cli.commands import Commands


@pytest.fixture
def gemini(ace: Commands, monkeypatch: pytest.MonkeyPatch) -> Iterator[GeminiServer]:
    with GeminiServer(apprentice) as server:
        monkeypatch.setenv("GEMINI_API_KEY", "any")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        yield server


@pytest.fixture
def playbook(tmp_path: Path) -> Path:
    file = tmp_path / "learned.md"
    file.write_text(f"## sums\n[sum-00001] helpful=2 harmful=0 :: {LESSON}\n")
    return file


def test_both_answers_stand_side_by_side_with_the_comparison(
    ace: Commands, gemini: GeminiServer, playbook: Path, tmp_path: Path
) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", 6)
    done = ace.ok("adapt", "compare", playbook, "none", "--data", rows, "--task", "formula", "--show", "2")
    lines = done.out.splitlines()
    assert lines[:8] == [
        "line 1: What is the total of basket 0?",
        "  right  0.0",
        "  A right  0",
        "  B wrong  about 0",
        "line 2: What is the total of basket 1?",
        "  right  1.0",
        "  A right  1",
        "  B wrong  about 1",
    ]
    assert lines[8:] == [
        f"A = {playbook}: 100.0% (61.0% to 100.0%), 6 of 6",
        "B = none: 0.0% (0.0% to 39.0%), 0 of 6",
        "A against B: +100.0% right answers (+44.8% to +100.0%), only A 6, only B 0, p = 0.0313",
        "A is better on these rows.",
    ]
    assert not ace.database.exists()
    assert not any(map(reflecting, gemini.requests))


def test_json_holds_the_same(ace: Commands, gemini: GeminiServer, playbook: Path, tmp_path: Path) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", 6)
    found = ace.ok("adapt", "compare", "none", playbook, "--data", rows, "--task", "formula", "--json").json
    assert (found["A"]["correct"], found["B"]["correct"], found["A"]["total"]) == (0, 6, 6)
    assert (found["paired"]["only_that"], found["paired"]["difference"]) == (6, -1.0)
    assert found["better"] == "B"
    assert found["rows"][5] == {
        "sample": "line 6",
        "question": "What is the total of basket 5?",
        "target": "5.0",
        "A": {"answer": "about 5", "correct": False, "error": None},
        "B": {"answer": "5", "correct": True, "error": None},
    }
    assert found["A"]["usage"]["solver"]["calls"] == 6


def test_a_difference_that_may_be_chance_makes_neither_better(
    ace: Commands, gemini: GeminiServer, playbook: Path, tmp_path: Path
) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", 5)  # p = 0.0625
    compared = ("adapt", "compare", playbook, "none", "--data", rows, "--task", "formula")
    assert ace.ok(*compared).out.splitlines()[-1].startswith("Neither is shown to be better")
    assert ace.ok(*compared, "--json").json["better"] is None


def test_two_settings_are_compared(ace: Commands, gemini: GeminiServer, tmp_path: Path) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", 3)
    sides = ("GEMINI_MODEL=model-one,ACE_LLM_TEMPERATURE=0.9", "GEMINI_MODEL=model-two,mode=tot,depth=1")
    ace.ok("adapt", "compare", *sides, "--data", rows, "--task", "formula", "--concurrency", "1")
    assert [request.model for request in gemini.requests] == ["model-one"] * 3 + ["model-two"] * 9
    assert '"temperature": 0.9' in gemini.requests[0].text


def test_the_folder_of_an_adaptation_is_a_side(ace: Commands, gemini: GeminiServer, tmp_path: Path) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", 3)
    ace.ok("adapt", "online", "--task", "formula", "--data", rows, "--out", "run")
    found = ace.ok("adapt", "compare", "run", "none", "--data", rows, "--task", "formula", "--json").json
    assert (found["A"]["correct"], found["B"]["correct"]) == (3, 0)


def test_rows_without_targets_show_both_answers_and_judge_none(
    ace: Commands, gemini: GeminiServer, playbook: Path, tmp_path: Path
) -> None:
    (tmp_path / "rows.jsonl").write_text(json.dumps({"context": "What is the total of basket 4?"}) + "\n")
    done = ace.ok("adapt", "compare", playbook, "none", "--data", "rows.jsonl")
    assert done.out.splitlines() == [
        "line 1: What is the total of basket 4?",
        "  A    4",
        "  B    about 4",
        f"A = {playbook}: 1 answers",
        "B = none: 1 answers",
    ]


@pytest.mark.parametrize(
    ("side", "code", "said"),
    [
        ("GEMINI_MODLE=x", 2, "unknown setting 'GEMINI_MODLE'"),
        ("mode=guess", 2, "unknown mode 'guess'"),
        ("depth=99", 2, "depth: "),
        ("ACE_LLM_TIMEOUT=soon", 2, "llm_timeout"),
        ("nowhere.json", 1, "nowhere.json can't be read"),
        ("learner_id=ann", 2, "unknown setting 'learner_id'"),
    ],
)
def test_a_side_that_says_nothing_is_explained(
    side: str, code: int, said: str, ace: Commands, gemini: GeminiServer, tmp_path: Path
) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", 2)
    done = ace("adapt", "compare", side, "none", "--data", rows)
    assert done.code == code
    assert said in done.err


def test_without_a_model_nothing_is_compared(ace: Commands, tmp_path: Path) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", 2)
    done = ace("adapt", "compare", "none", "mode=tot", "--data", rows)
    assert done.code == 1
    assert "ACE_MODEL=offline" in done.err
