"""Log lines on stderr: one a record, plain, as text or JSON."""

from __future__ import annotations

import json
import logging

import pytest

from ace_graph.base import Settings
from ace_graph.cli import install_logging, log_content_by_default, log_level
from tests.cli.commands import Commands

logger = logging.getLogger("ace_graph")


@pytest.mark.usefixtures("ace")
def test_a_record_is_one_plain_line_whatever_it_holds(capsys: pytest.CaptureFixture[str]) -> None:
    install_logging("INFO", "text")
    logger.info("[ACE Memory] %s", "x" * 500 + "\nforged line\x1b[31m\u2028and another")
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert len(line.splitlines()) == 1
    assert "x" * 500 + "\\nforged line\\x1b[31m\\u2028and another" in line


@pytest.mark.usefixtures("ace")
@pytest.mark.parametrize("log_format", ["text", "json"])
def test_an_error_is_one_log_line_and_a_traceback_with_debug(
    capsys: pytest.CaptureFixture[str], log_format: str
) -> None:
    for debug in (False, True):
        install_logging("INFO", "json" if log_format == "json" else "text", debug=debug)
        try:
            int("of its own kind")
        except ValueError:
            logger.exception("[ACE Memory] the turn could not be saved")
        said = capsys.readouterr().err
        assert "ValueError: invalid literal" in said.splitlines()[0]
        assert ("Traceback" in said) == debug


@pytest.mark.usefixtures("ace")
def test_json_lines_are_json(capsys: pytest.CaptureFixture[str]) -> None:
    install_logging("INFO", "json")
    logger.warning('[ACE Graph] with "quotes" and ñ\nand a break')
    record = json.loads(capsys.readouterr().err)
    assert (record["level"], record["logger"]) == ("WARNING", "ace_graph")
    assert record["message"] == '[ACE Graph] with "quotes" and ñ\nand a break'
    assert record["time"].endswith("+00:00")


@pytest.mark.usefixtures("ace")
def test_the_level_holds_and_installing_twice_doubles_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    install_logging("INFO", "text")
    install_logging("WARNING", "text")
    logger.info("unseen")
    logger.warning("seen")
    assert capsys.readouterr().err.count("seen") == 1


@pytest.mark.usefixtures("ace")
def test_the_environment_wins_over_a_commands_own_level(monkeypatch: pytest.MonkeyPatch) -> None:
    assert log_level(Settings.load(), "WARNING") == "WARNING"
    monkeypatch.setenv("ACE_LOG_LEVEL", "debug")
    assert log_level(Settings.load(), "WARNING") == "DEBUG"


@pytest.mark.usefixtures("ace")
def test_content_is_shown_unless_the_environment_says_no(monkeypatch: pytest.MonkeyPatch) -> None:
    assert log_content_by_default(Settings.load()).log_content is True
    monkeypatch.setenv("ACE_LOG_CONTENT", "false")
    assert log_content_by_default(Settings.load()).log_content is False


def test_the_log_shows_content_in_run_and_hides_it_on_request(
    ace: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = json.dumps({"messages": [{"role": "user", "content": "What is seven times six?"}]})
    assert "seven times six" in ace.ok("run", stdin=question).err
    monkeypatch.setenv("ACE_LOG_CONTENT", "false")
    monkeypatch.setenv("ACE_LOG_FORMAT", "json")
    hidden = ace.ok("run", stdin=question).err
    assert "seven times six" not in hidden
    assert all(json.loads(line)["logger"] == "ace_graph" for line in hidden.splitlines())
