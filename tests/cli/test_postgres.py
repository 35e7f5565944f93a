"""The command line with its memory in PostgreSQL."""

from __future__ import annotations

import pytest

from ace_graph.memory.stores.sql import SCHEMA
from tests.cli.commands import Commands


@pytest.fixture
def stored(ace: Commands, empty_postgres: str, monkeypatch: pytest.MonkeyPatch) -> Commands:
    """The commands, with their memory in a new database."""
    monkeypatch.delenv("ACE_MEMORY_FILE")
    monkeypatch.setenv("ACE_STORE", empty_postgres)
    return ace


def test_the_commands_work_on_postgresql(stored: Commands) -> None:
    stored.ok("playbook", "add", "Draw the fractions first", "--learner", "ada")
    told = stored.ok("doctor").out
    line = next(line for line in told.splitlines() if "store versions" in line)
    assert "PostgreSQL " in line
    assert f"schema {SCHEMA}" in line
    assert line.endswith("learners: 1")
    stored.ok("chat", "--learner", "ada", stdin="Call me Ann. I prefer pictures.\n")
    second = stored.ok("chat", "--learner", "ada", stdin="What is 1/2 + 1/3?\n").out
    assert "Ann" in second
    assert "[#####.]" in second
    assert "Draw the fractions first" in stored.ok("learner", "export", "ada").out
    stored.ok("learner", "forget", "ada", "--yes")
    assert stored.bullets("ada") == []


def test_a_server_that_is_away_is_told_in_one_sentence(ace: Commands) -> None:
    done = ace("playbook", "show", "--learner", "ada", "--store", "postgresql://me:hunter2@127.0.0.1:9/ace")
    assert (done.code, done.out) == (1, "")
    assert "PostgreSQL at 127.0.0.1:9 can't be reached (connection refused)" in done.err
    assert "hunter2" not in done.err
    assert "Traceback" not in done.err
