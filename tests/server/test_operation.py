"""What an operator sees of the server: health, numbers, logs with a request's id, and an orderly end."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from ace_graph.base import StoreUnavailable, variable_names
from ace_graph.cli import app as command_line
from ace_graph.cli import install_logging
from ace_graph.server import Overrides, RequestIds, create_app
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import CountingStore
from tests.plugins.sizes import PATIENT
from tests.server.process import server
from tests.server.serving import bearer, serving, settings_for
from tests.server.test_chat import model


async def test_alive_and_ready_are_different_checks() -> None:
    store = CountingStore()
    async with serving(settings_for(), Overrides(model=ScriptedModel([]), store=store)) as served:
        ready = await served.client.get("/readyz")
        store.load_error = StoreUnavailable("no route to db.internal")
        unready = await served.client.get("/readyz")
        alive = await served.client.get("/healthz")
    assert (ready.status_code, ready.json()["status"]) == (200, "ready")
    assert (unready.status_code, unready.json()["checks"]["memory"]) == (503, "failed")
    assert "internal" not in unready.text
    assert (alive.status_code, alive.json()) == (200, {"status": "ok"})


async def test_the_numbers_count_requests_turns_and_tokens_and_name_nobody() -> None:
    async with serving(settings_for(), Overrides(model=model("one"))) as served:
        await served.ask("What is one?", "secret-conversation")
        await served.client.delete("/api/playbook/gen-00099")
        await served.client.get("/nowhere/at/all")
        told = await served.client.get("/metrics")
    assert told.headers["content-type"].startswith("text/plain")
    assert 'ace_http_requests_total{method="POST",route="/api/ai/chat",status="200"} 1.0' in told.text
    assert 'route="/api/playbook/{bullet_id}",status="404"' in told.text
    assert 'route="(none)"' in told.text
    assert 'ace_turns_total{mode="cot",outcome="done"} 1.0' in told.text
    assert re.search(r'ace_model_tokens_total\{direction="input",role="solver"\} [1-9]', told.text)
    assert "ace_turns_under_way 0.0" in told.text
    assert "alice" not in told.text
    assert "secret-conversation" not in told.text


async def test_methods_that_strangers_make_up_are_counted_as_one() -> None:
    async with serving(settings_for(), Overrides(model=ScriptedModel([]))) as served:
        for method in ("PROPFIND", "MKCOL", "LINK"):
            await served.client.request(method, "/healthz")
        told = await served.client.get("/metrics")
    assert 'ace_http_requests_total{method="other",route="/healthz",status="405"} 3.0' in told.text
    assert "MKCOL" not in told.text


async def test_a_path_with_a_slash_too_many_leads_nowhere() -> None:
    async with serving(settings_for(), Overrides(model=ScriptedModel([]))) as served:
        told = await served.client.get("/healthz/", headers={"Host": "evil.example"})
    assert (told.status_code, told.json()["code"]) == (404, "not_found")


async def test_every_response_has_a_request_id_and_keeps_the_clients() -> None:
    async with serving(settings_for(), Overrides(model=ScriptedModel([]))) as served:
        own = await served.client.get("/healthz", headers={"X-Request-Id": "trace-7"})
        forged = await served.client.get("/healthz", headers={"X-Request-Id": "a b\tINFO forged" + "x" * 99})
        refused = await served.client.get("/api/playbook", headers={"authorization": "Bearer x"})
    assert own.headers["x-request-id"] == "trace-7"
    assert re.fullmatch(r"[0-9a-f]{32}", forged.headers["x-request-id"])
    assert refused.json()["requestId"] == refused.headers["x-request-id"]


@pytest.fixture
def json_log(capsys: pytest.CaptureFixture[str]) -> pytest.CaptureFixture[str]:
    """The server's handler, which writes to stderr."""
    logger = logging.getLogger("ace_graph")
    install_logging("INFO", "json")
    for handler in logger.handlers:
        handler.addFilter(RequestIds())
    return capsys


async def test_log_lines_are_json_with_the_requests_id_and_without_content(
    json_log: pytest.CaptureFixture[str],
) -> None:
    async with serving(settings_for(), Overrides(model=model("the zebra answer"))) as served:
        headers = {**bearer(), "X-Request-Id": "r-1"}
        asked = {"message": "Remember that I like zebras."}
        await served.client.post("/api/ai/chat?x=zebra", json=asked, headers=headers)
    lines = [json.loads(line) for line in json_log.readouterr().err.splitlines()]
    mine = [line for line in lines if line.get("request_id") == "r-1"]
    told = [line["message"] for line in mine]
    assert any(text.startswith("[ACE Server] POST /api/ai/chat 200") for text in told)
    assert any("Loaded 0 bullets" in text for text in told), "the turn's own lines belong to the request"
    assert any("[ACE Memory][Delta Add]" in text for text in told)
    assert "zebra" not in str(lines)


async def test_an_unknown_path_or_method_is_answered_with_short_json() -> None:
    async with serving(settings_for(), Overrides(model=ScriptedModel([]))) as served:
        missing = await served.client.get("/api/nothing")
        wrong = await served.client.put("/api/playbook")
        page = await served.client.get("/docs")
    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")
    assert (wrong.status_code, wrong.json()["code"]) == (405, "method")
    assert "allow" in wrong.headers
    assert page.status_code == 404


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in variable_names():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ACE_MEMORY_FILE", str(tmp_path / "ace.db"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_without_a_secret_it_listens_nowhere_but_here(
    here: Path, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACE_MODEL", "offline")
    done = CliRunner().invoke(command_line, ["serve", "--host", host, "--port", "0"])
    assert done.exit_code == 1
    assert "ACE_JWT_SECRET" in done.stderr
    assert not list(here.iterdir())


def test_without_a_model_it_does_not_start(here: Path) -> None:
    done = CliRunner().invoke(command_line, ["serve", "--port", "0"])
    assert done.exit_code == 1
    assert "GEMINI_API_KEY" in done.stderr
    assert not list(here.iterdir())


@pytest.mark.slow
def test_the_log_has_the_address_the_mode_and_an_orderly_end(tmp_path: Path) -> None:
    with server(tmp_path, ACE_JWT_SECRET="", ACE_LOG_FORMAT="json") as running:
        asked = {"message": "Call me Ada. What is 1/2 + 1/3?"}
        told = httpx.post(f"{running.url}/api/ai/chat", json=asked, trust_env=False, timeout=PATIENT)
        code = running.stop()
    assert told.json()["answer"].endswith("The answer is 5/6.")
    assert code == 0
    lines = [json.loads(line)["message"] for line in running.lines]
    assert any("development mode" in line for line in lines)
    assert any("stopping" in line for line in lines)


async def test_behind_a_proxy_that_adds_a_prefix_the_token_counts_as_ever() -> None:
    app = create_app(settings_for(), Overrides(model=ScriptedModel([])))
    proxied = httpx.ASGITransport(app, root_path="/tutor")
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=proxied, base_url="http://localhost") as client,
    ):
        known = await client.get("/tutor/api/playbook", headers=bearer())
        stranger = await client.get("/tutor/api/playbook")
    assert (known.status_code, stranger.status_code) == (200, 401)


FORGER = 'bob found=true request=- [ACE Audit] action=forget learner="alice" \n\u2028"\\'


async def test_no_learners_id_forges_a_log_line_or_a_part_of_one(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "ace_graph")
    async with serving(settings_for(), Overrides(model=model("one"))) as served:
        assert (await served.post("What is one?", learner=FORGER)).status_code == 200
        await served.client.get("/api/learner/export", headers=bearer(FORGER))
        await served.client.delete("/api/learner", headers=bearer(FORGER))
        await served.client.delete("/api/learner", headers=bearer("ada"))
    lines = [record.getMessage() for record in caplog.records if record.name == "ace_graph"]
    assert all(line.isascii() and line.isprintable() for line in lines if "learner=" in line)
    audited = [line for line in lines if "[ACE Audit]" in line]
    quoted = json.dumps(FORGER).replace("[", "\\u005b")
    assert [line.partition(" found=")[0] for line in (audited[0], audited[2])] == [
        "[ACE Audit] action=export learner=" + quoted.partition(" found=")[0],
        '[ACE Audit] action=forget learner="ada"',
    ]
    named = [line for line in lines if "learner=" in line and 'learner="ada"' not in line]
    assert len(named) == 3, "loaded, exported, forgotten"
    for line in named:
        told = line.partition("learner=")[2]
        assert json.JSONDecoder().raw_decode(told)[0] == FORGER
