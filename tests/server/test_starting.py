"""A service that can't do its work says so at its start, in one sentence; its log is of one kind."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.plugins.neo4j_server import Neo4jServer
from tests.plugins.sizes import PATIENT
from tests.plugins.warm_python import WarmPython, cold_python
from tests.server.process import environment, server

pytestmark = pytest.mark.slow

CODE = "from ace_graph.cli.main import app; app(prog_name='ace-graph')"


def ended(
    warm_python: WarmPython, folder: Path, *args: str, **given: str
) -> subprocess.CompletedProcess[str]:
    """Run a command of ours to its end, which must come by itself."""
    return subprocess.run(
        warm_python("-c", CODE, *args),
        cwd=folder,
        env=environment(folder, **given),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENT,
        check=False,
    )


def said(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Return the lines that are no records of the log."""
    return [line for line in done.stderr.splitlines() if not line.startswith("{")]


def test_unusable_conversations_end_the_server_with_one_sentence(
    tmp_path: Path, warm_python: WarmPython
) -> None:
    (tmp_path / "a-file").touch()
    given = {"ACE_CONVERSATIONS": str(tmp_path / "a-file" / "c.db"), "ACE_LOG_FORMAT": "json"}
    done = ended(warm_python, tmp_path, "serve", "--port", "0", **given)
    (line,) = said(done)
    assert (done.returncode, line.startswith("ace-graph: conversations can't be kept in")) == (1, True), done
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", [("serve",), ("mcp", "--http")], ids=" ".join)
def test_a_port_that_is_taken_is_one_sentence(
    tmp_path: Path, warm_python: WarmPython, command: tuple[str, ...]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = ended(warm_python, tmp_path, *command, "--port", port, ACE_LOG_FORMAT="json")
    (line,) = said(done)
    assert (done.returncode, line) == (
        1,
        f"ace-graph: port {port} of 127.0.0.1 is in use: stop the program that has it, "
        "or choose another with --port",
    )


def test_an_address_of_another_machine_is_one_sentence(tmp_path: Path, warm_python: WarmPython) -> None:
    given = {"ACE_LOG_FORMAT": "json", "ACE_JWT_SECRET": "s" * 32}
    for host, advice in (("192.0.2.7", "check --host and --port"), ("no.such.host.invalid", "check --host")):
        done = ended(warm_python, tmp_path, "serve", "--host", host, "--port", "0", **given)
        (line,) = said(done)
        assert (done.returncode, advice in line) == (1, True), line


def test_the_log_names_the_places_and_no_password(tmp_path: Path, warm_python: WarmPython) -> None:
    places = {
        "ACE_STORE": "bolt://me:pw1@127.0.0.1:1",
        "ACE_CONVERSATIONS": "postgresql://me:pw2@127.0.0.1:1/x",
    }
    done = ended(warm_python, tmp_path, "serve", "--port", "0", **places)
    assert "memory=bolt://127.0.0.1:1 conversations=postgresql://127.0.0.1:1/x" in done.stderr
    assert "pw1" not in done.stderr
    assert "pw2" not in done.stderr


@pytest.mark.slow
def test_a_refused_login_ends_server_and_worker_at_their_start(
    locked_neo4j: Neo4jServer, tmp_path: Path, warm_python: WarmPython
) -> None:
    given = {"ACE_STORE": locked_neo4j.uri, "NEO4J_USERNAME": "neo4j", "NEO4J_PASSWORD": "not this one"}
    for command in (("serve", "--port", "0"), ("worker",)):
        done = ended(warm_python, tmp_path, *command, **given, ACE_LOG_FORMAT="json")
        (told,) = said(done)
        assert (done.returncode, told.startswith("ace-graph: ")) == (1, True), done
        assert "NEO4J_PASSWORD" in told
        assert "Traceback" not in done.stderr


def test_every_line_of_a_worker_is_a_record_and_says_what_it_works_with(tmp_path: Path) -> None:
    process = subprocess.Popen(
        cold_python("-c", CODE, "worker"),
        cwd=tmp_path,
        env=environment(tmp_path, ACE_LOG_FORMAT="json"),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    with process, process.stderr as lines:
        first = json.loads(lines.readline())["message"]
        os.kill(process.pid, signal.SIGTERM)
        rest = [json.loads(line)["message"] for line in lines]
    assert first == "[ACE Worker] model=offline store=SQLite: at work"
    assert rest == ["[ACE Worker] stopped: nothing was pending"]
    assert process.returncode == 0


def test_the_address_of_the_page_is_told_where_there_is_one(tmp_path: Path, warm_python: WarmPython) -> None:
    with server(tmp_path, warm_python) as started:
        page = httpx.get(f"{started.url}/", follow_redirects=True, trust_env=False)
        assert started.stop() == 0
    assert page.headers["Content-Type"].startswith("text/html")
    assert [line.rpartition(" ")[2] for line in started.lines if "the page is at" in line] == [
        f"{started.url}/"
    ]
    with server(tmp_path, warm_python, ACE_SERVER_PAGE="false") as started:
        assert started.stop() == 0
    assert [line for line in started.lines if "the page is at" in line] == []


def test_the_address_of_the_page_can_be_opened(tmp_path: Path, warm_python: WarmPython) -> None:
    with server(tmp_path, warm_python, host="0.0.0.0") as started:
        assert started.stop() == 0
    (line,) = [line for line in started.lines if "the page is at" in line]
    assert "http://127.0.0.1:" in line
