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
    assert "Ada's memory: 0 bullets" in first
    assert "Ben's memory: 0 bullets" in first
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
    out = ace.ok("demo").out
    told = _answer(out, "ada", "Call me Ada. I prefer pictures.")
    assert "voted" not in told
    assert "verdict" not in told
    assert "then add the tops only. (helped 2 times)" in out.partition("What Ada's memory says")[2]


def test_what_was_wrong_is_corrected(ace: Commands) -> None:
    first, _, second = ace.ok("demo").out.partition("Session 2")
    assert "12 × 12 = 144, not 124" in _answer(first, "ben", "Remember that 12 x 12 is 124.")
    corrected = _answer(second, "ben", "That's wrong, I'm in 6th grade.")
    assert "your word on the answer before: failure" in corrected
    assert "replaces pro-00002" in corrected
    ada, _, ben = second.partition("What Ada's memory says")[2].partition("What Ben's memory says")
    assert "Ben said: I'm in 6th grade" in ben
    assert "5th grade" not in ben
    assert "Ada said: call me Countess Ada" in ada
    assert "Call me Ada" not in ada


def test_a_word_is_explained_once_where_it_first_comes(ace: Commands) -> None:
    out = ace.ok("demo").out
    assert out.count("a bullet is one line of memory") == out.count("a vote counts for a bullet") == 1
    assert "a bullet is one line" in _answer(out, "ada", "Call me Ada. I prefer pictures.")
    assert "a vote counts" in _answer(out, "ada", "What is 1/2 + 1/3?")


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
