"""`ace-graph doctor`: what works, what is missing, what to do; never a secret."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

import pytest

from ace_graph.memory.stores.sqlite.migrations import MIGRATIONS
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
    assert found == f"SQLite {sqlite3.sqlite_version}, schema {MIGRATIONS[-1][0]}, learners: 1"
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


def test_asking_the_model_shows_whether_the_key_works(ace: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    with GeminiServer() as server:
        monkeypatch.setenv("GEMINI_API_KEY", "any-s3cret-key")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        assert "gemini-2.5-flash" in _rows(ace)["model"][0]["found"]
        assert server.requests == []
        server.answer("4")
        assert _rows(ace, "--ask")["model answers"][0]["status"] == "ok"
        server.fail(401, "bad key any-s3cret-key")
        done = ace("doctor", "--ask")
    assert done.code == 1
    assert "fail   model answers" in done.out
    assert "s3cret" not in done.out + done.err


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
