"""`ace-graph doctor`: what works, what is missing, what to do; never a secret."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

import pytest

from ace_graph.memory.stores.sql import SCHEMA
from ace_graph.stores import redacted_url
from ace_graph.testing import GeminiServer
from tests.cli.commands import Commands, Json


def _rows(ace: Commands, *args: str, code: int = 0) -> dict[str, list[Json]]:
    done = ace("doctor", "--json", *args)
    assert done.code == code, done.out
    assert done.json["ok"] == (code == 0)
    rows: dict[str, list[Json]] = {}
    for row in done.json["checks"]:
        rows.setdefault(row["check"], []).append(row)
    return rows


def _told(rows: dict[str, list[Json]], status: str) -> list[tuple[str, str]]:
    return [(name, row["fix"]) for name, found in rows.items() for row in found if row["status"] == status]


def test_a_fresh_machine_can_run_with_a_warning_about_the_model(ace: Commands) -> None:
    rows = _rows(ace)
    ((name, fix),) = _told(rows, "warn")
    assert name == "model"
    assert "GEMINI_API_KEY" in fix
    assert _told(rows, "fail") == []
    assert rows["langgraph"][0]["found"] == version("langgraph")
    assert rows["ace-graph"][0]["found"] == version("ace-graph")


def test_the_store_is_tried_and_left_as_it_was(ace: Commands) -> None:
    ace.ok("playbook", "add", "Draw it")
    rows = _rows(ace)
    assert "ace.db, read and written" in rows["store"][0]["found"]
    (found,) = (row["found"] for row in rows["store versions"])
    assert found == f"SQLite {sqlite3.sqlite_version}, schema {SCHEMA}, learners: 1"
    assert len(ace.bullets()) == 1


def test_every_node_of_the_graph_is_there(ace: Commands) -> None:
    found = _rows(ace)["graph"][0]["found"]
    assert found == "router -> planner -> solver -> critic -> ace_learning"


def test_typos_in_env_are_found_with_a_suggestion(ace: Commands) -> None:
    Path(".env").write_text("GEMINI_APIKEY=s3cret\nACE_WHATEVER=1\nOPENAI_API_KEY=x\n", encoding="utf-8")
    done = ace.ok("doctor")
    assert "GEMINI_APIKEY is read by nothing" in done.out
    assert "did you mean GEMINI_API_KEY?" in done.out
    assert "ACE_WHATEVER is read by nothing" in done.out
    assert "OPENAI_API_KEY" not in done.out
    assert "s3cret" not in done.out


def test_typos_in_the_environment_are_found_with_a_suggestion(
    ace: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"ACE_MAX_BULLET": "s3cret", "ace_whatever_else": "1", "GEMINI_APIKEY": "x", "ACE_EMPTY_ONE": ""}
    others = {"NEO4J_AUTH": "neo4j/x", "GEMINI_HOME": "/x", "OPENAI_API_KEY": "x", "ACE_TEST_LONG": "0"}
    for name, value in {**given, **others}.items():
        monkeypatch.setenv(name, value)
    rows = _rows(ace)["environment"]
    assert [(row["status"], row["found"].split()[0], row["fix"]) for row in rows] == [
        ("warn", "ACE_MAX_BULLET", "did you mean ACE_MAX_BULLETS?"),
        ("warn", "GEMINI_APIKEY", "did you mean GEMINI_API_KEY?"),
        ("warn", "ace_whatever_else", "remove it, or look it up in .env.example"),
    ]


@pytest.mark.parametrize("command", [("chat",), ("learner", "list"), ("learner", "forget", "ada", "--yes")])
def test_a_command_tells_typos_once_when_it_starts(ace: Commands, command: tuple[str, ...]) -> None:
    Path(".env").write_text("ACE_LLM_TIMEOUTS=s3cret\n", encoding="utf-8")
    done = ace.program(*command, ACE_STORES="s3cret")
    assert done.code == 0
    told = [line for line in done.err.splitlines() if "is read by nothing" in line]
    assert len(told) == 2
    assert "ACE_LLM_TIMEOUTS in .env is read by nothing: did you mean ACE_LLM_TIMEOUT?" in told[0]
    assert "ACE_STORES in the environment is read by nothing: did you mean ACE_STORE?" in told[1]
    assert "s3cret" not in done.out + done.err


def test_a_clean_env_is_fine(ace: Commands) -> None:
    Path(".env").write_text("ACE_MODEL=offline\n", encoding="utf-8")
    rows = _rows(ace)
    assert (rows[".env"][0]["status"], rows["model"][0]["status"]) == ("ok", "ok")


@pytest.mark.parametrize(
    ("variable", "value", "check", "why"),
    [
        ("ACE_LLM_TIMEOUT", "never", "settings", "ACE_LLM_TIMEOUT"),
        ("ACE_STORE", "mysql://host", "store", "neo4j://host:7687"),
        ("ACE_STORE", "sqlite:///no/such/folder/x.db", "store", "x.db"),
        ("ACE_MODEL", "nonsense", "model", "ACE_MODEL"),
        ("ACE_MODEL", "nobody:model", "model", "nobody"),
        ("ACE_PROMPTS_DIR", "/no/such/folder", "graph", "ACE_PROMPTS_DIR"),
    ],
)
def test_what_stops_the_main_job_fails_and_names_the_setting(
    ace: Commands, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, check: str, why: str
) -> None:
    monkeypatch.setenv(variable, value)
    rows = _rows(ace, code=1)
    (failed,) = (row for row in rows[check] if row["status"] == "fail")
    assert why in failed["found"] + failed["fix"]


def test_a_database_that_can_not_be_written_fails(ace: Commands) -> None:
    ace.ok("playbook", "add", "Draw it")
    with closing(sqlite3.connect(ace.database)) as connection:
        connection.execute(
            "CREATE TRIGGER full BEFORE INSERT ON ace_learners BEGIN SELECT RAISE(ABORT, 'no room'); END"
        )
    done = ace("doctor")
    assert done.code == 1
    assert "no room" in done.out
    assert "can't run" in done.out


def test_a_server_that_is_down_fails_with_the_setting_to_mend(
    ace: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ACE_MEMORY_FILE")
    monkeypatch.setenv("NEO4J_URI", "neo4j://127.0.0.1:1")
    monkeypatch.setenv("NEO4J_PASSWORD", "s3cret")
    done = ace("doctor")
    assert done.code == 1
    assert "NEO4J_URI" in done.out
    assert "s3cret" not in done.out + done.err


def test_a_store_that_forgets_is_worth_a_warning(ace: Commands) -> None:
    assert [row["status"] for row in _rows(ace, "--store", "memory://")["store"]] == ["warn"]


TRIED = (
    "model answers",
    "model streams",
    "model reflects",
    "model calls tools",
    "model cut short",
    "model refuses",
)
LESSON = '{"lessons": [{"content": "Make the denominators equal first."}]}'


@pytest.fixture
def gemini(ace: Commands, monkeypatch: pytest.MonkeyPatch) -> Iterator[GeminiServer]:
    """A local Gemini that the settings name; `ace` is the same test's."""
    with GeminiServer() as server:
        monkeypatch.setenv("GEMINI_API_KEY", "any-s3cret-key")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        yield server
    server.assert_done()


def test_asking_the_model_makes_six_calls_and_names_the_cost(
    ace: Commands, gemini: GeminiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACE_PRICES", "gemini-2.5-flash=1/2")
    assert "gemini-2.5-flash" in _rows(ace)["model"][0]["found"]
    assert gemini.requests == []
    gemini.answer("4")
    gemini.answer("one, two, three, four, five, six")
    gemini.answer(LESSON)
    gemini.answer(call=("calculator", {"expression": "4711 * 815"}))
    gemini.answer("one, two", finish_reason="MAX_TOKENS")
    gemini.block("SAFETY")
    rows = _rows(ace, "--ask")
    assert [rows[name][0]["status"] for name in TRIED] == ["ok"] * 6
    assert "1 lesson" in rows["model reflects"][0]["found"]
    assert "4711 * 815" in rows["model calls tools"][0]["found"]
    assert "cut at the model's token limit" in rows["model cut short"][0]["found"]
    assert "SAFETY" in rows["model refuses"][0]["found"]
    assert rows["model cost"][0]["found"] == "6 calls, 50 tokens in, 25 out: 0.000100 by ACE_PRICES"
    assert [each.method for each in gemini.requests].count("streamGenerateContent") == 1
    limits = [each.body.get("generationConfig") for each in gemini.requests]
    assert [isinstance(each, dict) and each.get("maxOutputTokens") for each in limits].count(16) == 1


def test_what_failed_is_named_and_what_to_do(ace: Commands, gemini: GeminiServer) -> None:
    gemini.answer("4")
    gemini.fail(404, "no such model for streams any-s3cret-key")
    gemini.answer("I have learned nothing.")
    gemini.answer("It is 3839465.")
    gemini.answer("one, two")
    gemini.answer("", finish_reason="OTHER")
    done = ace("doctor", "--ask")
    assert done.code == 1
    told = {line.partition(":")[0][7:]: line.split()[0] for line in done.out.splitlines()}
    assert [told[name] for name in TRIED] == ["ok", "fail", "fail", "fail", "fail", "warn"]
    assert "no lessons are learned from turns" in done.out
    assert "half an answer can pass for a whole one" in done.out
    assert "no price for google_genai:gemini-2.5-flash in ACE_PRICES" in done.out
    assert "s3cret" not in done.out + done.err


def test_a_model_without_tools_runs_all_the_same(ace: Commands, gemini: GeminiServer) -> None:
    gemini.answer("4")
    gemini.answer("one, two, three, four, five, six")
    gemini.answer(LESSON)
    gemini.answer("It is 3839465.")
    gemini.answer("one, two", finish_reason="MAX_TOKENS")
    gemini.answer("I can't help with that.")
    done = ace("doctor", "--ask")
    assert done.code == 1
    assert done.out.splitlines()[-1] == "The agent can run, without what failed."
    assert 'in its own words: "I can\'t help with that."' in done.out


def test_a_key_that_is_refused_is_asked_with_once(ace: Commands, gemini: GeminiServer) -> None:
    gemini.fail(401, "bad key any-s3cret-key")
    done = ace("doctor", "--ask")
    assert done.code == 1
    assert "fail   model answers" in done.out
    assert "model streams" not in done.out
    assert "s3cret" not in done.out + done.err
    assert len(gemini.requests) == 1


def test_the_offline_tutor_is_asked_what_it_can_answer(ace: Commands) -> None:
    rows = _rows(ace, "--ask")
    assert [rows[name][0]["status"] for name in TRIED] == ["ok"] * 6
    assert "not tried" in rows["model refuses"][0]["found"]
    assert rows["model cost"][0]["found"].startswith("4 calls, ")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("sqlite:////srv/ace.db", "sqlite:////srv/ace.db"),
        ("neo4j://host:7687", "neo4j://host:7687"),
        ("neo4j://user:pass@host:7687", "neo4j://host:7687"),
        ("bolt://host?password=hidden&x=1", "bolt://host?password=***&x=1"),
    ],
)
def test_a_shown_url_has_no_login(url: str, shown: str) -> None:
    assert redacted_url(url) == shown
