"""`ace-graph demo` shows what it claims, and leaves nothing behind."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.commands import Commands


def _answer(part: str, learner: str, question: str) -> str:
    """What came between a question and the next blank line."""
    return part.partition(f"{learner}> {question}")[2].partition("\n\n")[0]


def test_the_second_session_uses_what_the_first_one_taught_each_learner(ace: Commands) -> None:
    out = ace.ok("demo").out
    first, _, second = out.partition("Session 2")
    assert "Ada's playbook before: 0 bullets" in first
    assert "Ben's playbook before: 0 bullets" in first
    ada = _answer(second, "ada", "What is 3/4 + 1/6?")
    ben = _answer(second, "ben", "What is 3/4 + 1/6?")
    for text in (ada, ben):
        assert "The answer is 11/12." in text
        assert "verdict success" in text
    assert "Ada, here you are." in ada
    assert "[###########.]" in ada, "the picture she prefers"
    assert "Careful" in ada, "the mistake she keeps making"
    assert not re.search(r"Ada|\[#|Careful", ben), "nothing of Ada's"
    assert "matey" in ben
    assert "matey" not in ada


def test_votes_move_where_the_right_answer_is_known(ace: Commands) -> None:
    first, _, second = ace.ok("demo").out.partition("Session 2")
    row = re.compile(r"│ str-00004 .*│ (\+\d/-\d) │")
    before, after = row.findall(first), row.findall(second)
    assert (before, after) == (["+1/-0"], ["+2/-0"])
    told = _answer(first, "ada", "Call me Ada. I prefer pictures.")
    assert "voted" not in told
    assert "verdict" not in told


def test_an_answer_that_was_corrected_comes_right_in_the_next_session(ace: Commands) -> None:
    first, _, second = ace.ok("demo").out.partition("Session 2")
    before = _answer(first, "ben", "What is 7/8 + 1/2?")
    corrected = _answer(first, "ben", "That's wrong, it should be 1 3/8.")
    after = _answer(second, "ben", "What is 5/6 + 1/2?")
    assert "The answer is 11/8." in before
    assert "your word on the answer before: failure; + str-00002" in corrected
    assert "The answer is 1 1/3." in after
    assert "str-00002" in after, "the lesson is in the prompt"
    praised = _answer(second, "ben", "That's right.")
    assert "your word on the answer before: success" in praised
    tables = second.rpartition("Ben's playbook after")[2]
    assert re.search(r"│ str-00002 .*│ \+1/-0 │", tables)


def test_a_corrected_name_replaces_the_old_one(ace: Commands) -> None:
    tables = ace.ok("demo").out.rpartition("Ada's playbook after")[2]
    assert "call me Countess Ada" in tables
    assert "Call me Ada" not in tables


@pytest.mark.parametrize("variable", ["GEMINI_API_KEY", "NEO4J_URI", "ACE_STORE"])
def test_it_needs_no_key_and_no_server_whatever_is_set(
    ace: Commands, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "neo4j://127.0.0.1:1")
    assert "The answer is 5/6." in ace.ok("demo").out


def test_it_leaves_no_file_and_no_memory_behind(
    ace: Commands, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    out = ace.ok("demo").out
    assert f"{scratch}/ace-graph-demo-" in out
    assert list(scratch.iterdir()) == []
    assert not ace.database.exists()


def test_its_memory_can_be_kept_and_looked_at(ace: Commands) -> None:
    ace.ok("demo", "--keep", "kept.db")
    shown = ace.ok("playbook", "show", "--learner", "ada", "--store", "sqlite:///kept.db").out
    assert "Countess" in shown
    again = ace("demo", "--keep", "kept.db")
    assert (again.code, again.out) == (1, "")
    assert "kept.db" in again.err


def test_as_a_process_without_a_terminal_it_has_no_colours(ace: Commands) -> None:
    done = ace.program("demo")
    assert done.code == 0, done.err
    assert "\x1b" not in done.out
    assert done.err == ""
