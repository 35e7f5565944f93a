"""`ace-graph playbook diff --data`: two versions on the same rows, and how turns with each ended."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ace_graph.testing import GeminiServer
from tests.cli.adaptation_runs import LESSON, apprentice, reflecting, write_rows
from tests.cli.commands import Commands

SHOP = ("--name", "shop")


@pytest.fixture
def gemini(ace: Commands, monkeypatch: pytest.MonkeyPatch) -> Iterator[GeminiServer]:
    with GeminiServer(apprentice) as server:
        monkeypatch.setenv("GEMINI_API_KEY", "any")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        yield server


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "rows.jsonl", 6)


def _two_versions(ace: Commands, *name: str) -> None:
    """1.0 without the lesson, 1.1 with it."""
    if name:
        ace.ok("playbook", "create", name[-1])
    ace.ok("playbook", "add", "Name the unit of a total", *name)
    ace.ok("playbook", "add", LESSON, "--section", "sums", *name)


def test_two_versions_answer_the_same_rows(ace: Commands, gemini: GeminiServer, rows: Path) -> None:
    _two_versions(ace, *SHOP)
    before = ace.ok("playbook", "show", "--details", *SHOP, "--json").json
    done = ace.ok("playbook", "diff", "1.2", "2", *SHOP, "--data", rows, "--task", "formula", "--show", "1")
    assert done.out.splitlines() == [
        "line 1: What is the total of basket 0?",
        "  right  0.0",
        "  A right  0",
        "  B wrong  about 0",
        "A = version 1.2: 100.0% (61.0% to 100.0%), 6 of 6",
        "B = version 2: 0.0% (0.0% to 39.0%), 0 of 6",
        "A against B: +100.0% right answers (+44.8% to +100.0%), only A 6, only B 0, p = 0.0313",
        "A is better on these rows.",
        "No turn of learner local has read shop yet.",
    ]
    assert ace.ok("playbook", "show", "--details", *SHOP, "--json").json == before, (
        "nothing is learned or stored"
    )
    assert not any(map(reflecting, gemini.requests))


def test_the_versions_of_the_memory_are_compared(ace: Commands, gemini: GeminiServer, rows: Path) -> None:
    _two_versions(ace)
    found = ace.ok("playbook", "diff", "0", "1.1", "--data", rows, "--task", "formula", "--json").json
    assert (found["A"]["correct"], found["B"]["correct"]) == (0, 6)
    assert (found["paired"]["only_that"], found["paired"]["difference"]) == (6, -1.0)
    assert found["observed"] is None


def test_turns_with_each_version_are_observed(
    ace: Commands, gemini: GeminiServer, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _two_versions(ace, *SHOP)
    for number, truth in enumerate(("0", "1", "5")):
        asked = {
            "messages": [{"role": "user", "content": f"What is the total of basket {number}?"}],
            "scratch": {"playbooks": ["shop"], "ground_truth": truth},
            "learner_id": "local",
        }
        ace.ok("run", stdin=json.dumps(asked))
    done = ace.ok("playbook", "diff", "1", "1.2", *SHOP, "--data", rows, "--show", "0")
    assert done.out.splitlines()[-2:] == [
        "Observed in 3 turns of learner local, not randomised:",
        "  1.2: 3 turns, 2 of 3 judged a success: 66.7% (20.8% to 93.9%)",
    ]
    found = ace.ok("playbook", "diff", "1", "1.2", *SHOP, "--data", rows, "--json").json["observed"]
    assert found["randomised"] is False
    (version,) = found["versions"]
    assert (version["label"], version["turns"], version["judged"], version["succeeded"]) == ("1.2", 3, 3, 2)


@pytest.mark.parametrize(
    ("versions", "code", "said"),
    [
        (("1.0", "1"), 2, "1.0 and 1 are the same version"),
        (("2", "2"), 2, "2 and 2 are the same version"),
        (("1.0", "9.9"), 1, "there is no version 9.9: choose one of 1 (1.0), 2 (1.1), 3 (1.2)"),
        (("77", "1.0"), 1, "version 77 is not kept: choose one of 1 (1.0), 2 (1.1), 3 (1.2)"),
        (("latest", "1.0"), 1, "there is no version latest"),
    ],
    ids=["a label and its number", "a number twice", "an unknown label", "an unknown number", "a word"],
)
def test_versions_that_can_not_be_compared(
    versions: tuple[str, str], code: int, said: str, ace: Commands, gemini: GeminiServer, rows: Path
) -> None:
    _two_versions(ace, *SHOP)
    done = ace("playbook", "diff", *versions, *SHOP, "--data", rows)
    assert (done.code, done.out) == (code, "")
    assert said in done.err
    assert gemini.requests == []


def test_files_and_playbooks_that_can_not_be_compared(
    ace: Commands, gemini: GeminiServer, tmp_path: Path
) -> None:
    _two_versions(ace, *SHOP)
    (tmp_path / "empty.jsonl").write_text("")
    empty = ace("playbook", "diff", "1.0", "1.1", *SHOP, "--data", "empty.jsonl")
    assert (empty.code, "has no row that can be used (it is empty)" in empty.err) == (1, True)
    missing = ace("playbook", "diff", "1.0", "1.1", *SHOP, "--data", "nowhere.jsonl")
    assert (missing.code, "check the path" in missing.err) == (1, True)
    unknown = ace("playbook", "diff", "1.0", "1.1", "--name", "nothing", "--data", "empty.jsonl")
    assert (unknown.code, "there is no playbook 'nothing'" in unknown.err) == (1, True)
    assert gemini.requests == []


def test_who_may_read_a_playbook_may_compare_its_versions(
    ace: Commands, gemini: GeminiServer, rows: Path
) -> None:
    _two_versions(ace, *SHOP)
    shared = ("--name", "local/shop", "--as", "bob", "--data", rows, "--task", "formula", "--json")
    refused = ace("playbook", "diff", "1.1", "1.2", *shared)
    assert (refused.code, "there is no playbook 'local/shop'" in refused.err) == (1, True)
    assert gemini.requests == []
    ace.ok("share", "grant", "shop", "--to", "user:bob")
    found = ace.ok("playbook", "diff", "1.1", "1.2", *shared).json
    assert (found["A"]["correct"], found["B"]["correct"]) == (0, 6)
    assert found["observed"]["versions"] == [], "the turns of others are nobody's business"


def test_without_a_model_no_version_is_asked(ace: Commands, rows: Path) -> None:
    _two_versions(ace, *SHOP)
    done = ace("playbook", "diff", "1.0", "1.1", *SHOP, "--data", rows)
    assert (done.code, "ACE_MODEL=offline" in done.err) == (1, True)
