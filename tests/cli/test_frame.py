"""What all commands have in common: help, version, errors, exit codes, `.env`."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest

from tests.cli.commands import Commands, all_commands


@pytest.mark.parametrize("command", sorted(all_commands()))
def test_every_command_explains_itself(ace: Commands, command: str) -> None:
    done = ace.ok(*command.split(), "--help")
    assert "Usage:" in done.out
    assert len(done.out.split()) > 20


def test_help_shows_the_extra_that_serve_needs(ace: Commands) -> None:
    assert "'.[server]'" in ace.ok("serve", "--help").out, "rich takes [...] for its own markup"


def test_the_version_is_the_packages(ace: Commands) -> None:
    assert ace.ok("--version").out == f"ace-graph {version('ace-graph')}\n"


@pytest.mark.parametrize(
    "wrong",
    ["nonsense", "playbook show --nonsense", "playbook edit x", "playbook diff a b", "playbook rollback -1"],
)
def test_wrong_usage_is_exit_code_2(ace: Commands, wrong: str) -> None:
    done = ace(*wrong.split())
    assert (done.code, done.out) == (2, "")
    assert done.err


@pytest.mark.parametrize("learner", ["", "x" * 257, "a\x00b"], ids=["empty", "too long", "NUL"])
def test_an_impossible_learner_is_wrong_usage(ace: Commands, learner: str) -> None:
    done = ace("playbook", "show", "--learner", learner)
    assert (done.code, done.out) == (2, "")
    assert "learner_id" in done.err


@pytest.mark.parametrize("learner", ["a/b", "o'neil", 'say "hi"', "two\nlines", "名前", "%41:x", "x" * 256])
def test_an_odd_learner_has_a_playbook_like_any_other(ace: Commands, learner: str) -> None:
    ace.ok("playbook", "add", "Draw it", "--learner", learner)
    assert [bullet["content"] for bullet in ace.bullets(learner)] == ["Draw it"]
    assert ace.bullets() == []


def test_an_error_is_one_sentence_and_debug_adds_the_traceback(ace: Commands) -> None:
    plain = ace("playbook", "show", "--store", "mysql://x")
    assert plain.code == 1
    assert plain.err.count("\n") == 1
    assert plain.err.startswith("ace-graph: mysql:// is not a kind of store")
    for args in (["--debug", "playbook", "show"], ["playbook", "show", "--debug"]):
        debugged = ace(*args, "--store", "mysql://x")
        assert debugged.code == 1
        assert "Traceback" in debugged.err
        assert plain.err in debugged.err


def test_debug_after_two_dashes_is_text(ace: Commands) -> None:
    ace.ok("playbook", "add", "--", "--debug")
    assert [bullet["content"] for bullet in ace.bullets()] == ["--debug"]


def test_a_damaged_database_is_named_and_left_as_it_is(ace: Commands) -> None:
    ace.database.write_bytes(b"this is no database at all, but long enough to be read as one" * 100)
    done = ace("playbook", "show")
    assert done.code == 1
    assert "ace.db" in done.err
    assert "Traceback" not in done.err
    assert ace.database.read_bytes().startswith(b"this is no database")


def test_env_in_the_current_folder_is_read(ace: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ACE_MEMORY_FILE")
    Path(".env").write_text("ACE_MEMORY_FILE=from-env.db\n", encoding="utf-8")
    ace.ok("playbook", "add", "Draw it")
    assert Path("from-env.db").is_file()
    monkeypatch.setenv("ACE_MEMORY_FILE", str(ace.database))
    assert ace.bullets() == [], "a variable of the environment wins"


def test_without_any_setting_memory_is_in_the_users_data_folder(
    ace: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ACE_MEMORY_FILE")
    monkeypatch.setenv("XDG_DATA_HOME", str(ace.folder / "data"))
    monkeypatch.setenv("HOME", str(ace.folder))
    ace.ok("playbook", "add", "Draw it", "--learner", "ada")
    ace.ok("playbook", "add", "Say it", "--learner", "ben")
    assert [bullet["content"] for bullet in ace.bullets("ada")] == ["Draw it"]
    assert [bullet["content"] for bullet in ace.bullets("ben")] == ["Say it"]
    assert len(list(ace.folder.rglob("ace.db"))) == 1


def test_a_wrong_setting_is_named_and_its_value_is_not_shown(
    ace: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACE_MAX_BULLETS", "s3cret-ish")
    done = ace("playbook", "show")
    assert done.code == 1
    assert "ACE_MAX_BULLETS" in done.err
    assert "s3cret-ish" not in done.err
