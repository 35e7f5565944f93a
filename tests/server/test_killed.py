"""The server is killed: what it had accepted is there once after a restart."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from httpx_sse import connect_sse

from ace_graph.testing import GeminiServer
from tests.plugins.sizes import PATIENT
from tests.plugins.warm_python import WarmPython
from tests.server.process import ServerProcess, server
from tests.server.serving import bearer
from tests.server.test_chat import LESSON

pytestmark = pytest.mark.slow

QUESTION = {"message": "Remember that I like tea. What is 1/2 + 1/3?", "conversationId": "c1"}
SAID = "Learner says: I like tea"
LEARNED = "Convert both fractions to sixths before adding"


def client_of(running: ServerProcess) -> httpx.Client:
    return httpx.Client(base_url=running.url, headers=bearer(), timeout=PATIENT, trust_env=False)


def listen(client: httpx.Client, name: str) -> None:
    """Ask, and hang up at the first event of that name."""
    with connect_sse(client, "POST", "/api/ai/chat/stream", json=QUESTION) as source:
        assert any(event.event == name for event in source.iter_sse())


def stored(client: httpx.Client, *contents: str) -> dict[str, Any]:
    """Return the learner's export once these bullets are in it; a server may still be taking up a turn."""
    found: dict[str, Any] = {}
    for _ in range(int(PATIENT / 0.05)):
        found = client.get("/api/learner/export").json()
        if sorted(b["content"] for b in found["playbook"]["bullets"]) == sorted(contents):
            return found
        time.sleep(0.05)
    raise AssertionError(f"{contents} never came: {found['playbook']['bullets']}")


def asked_again(client: httpx.Client) -> Iterator[httpx.Response]:
    """Ask until the turn that was taken up is closed; it is stored a moment before."""
    for _ in range(int(PATIENT / 0.05)):
        yield client.post("/api/ai/chat", json={"message": "hello", "conversationId": "c1"})
        time.sleep(0.05)


def check_once(found: dict[str, Any]) -> None:
    """One turn was recorded, and each lesson came once."""
    assert len(found["turns"]) == 1
    assert [bullet["seen"] for bullet in found["playbook"]["bullets"]] == [1] * len(
        found["playbook"]["bullets"]
    )


def test_a_server_killed_after_done_has_stored_the_turn(tmp_path: Path, warm_python: WarmPython) -> None:
    with server(tmp_path, warm_python) as running, client_of(running) as client:
        listen(client, "done")
        running.kill()
    with server(tmp_path, warm_python) as running, client_of(running) as client:
        check_once(stored(client, SAID))
        assert running.stop() == 0


def test_a_turn_survives_a_lost_client_and_a_killed_server(tmp_path: Path, warm_python: WarmPython) -> None:
    with GeminiServer() as gemini:
        given = {"ACE_MODEL": "", "GEMINI_API_KEY": "any", "GOOGLE_GEMINI_BASE_URL": gemini.url}
        gemini.hang()
        with server(tmp_path, warm_python, **given) as running, client_of(running) as client:
            listen(client, "bullets")
            while not gemini.requests:
                time.sleep(0.01)
            running.kill()
        gemini.answer("<final>5/6</final>")
        gemini.answer(LESSON)
        with server(tmp_path, warm_python, **given) as running, client_of(running) as client:
            found = stored(client, SAID, LEARNED)
    check_once(found)
    told = [(m["role"], m["content"]) for m in found["conversations"][0]["messages"]]
    assert told == [("user", QUESTION["message"]), ("assistant", "5/6")]


def test_the_server_was_killed_while_it_looked_back(tmp_path: Path, warm_python: WarmPython) -> None:
    with GeminiServer() as gemini:
        given = {"ACE_MODEL": "", "GEMINI_API_KEY": "any", "GOOGLE_GEMINI_BASE_URL": gemini.url}
        given["ACE_LEARNING"] = "inline"
        gemini.answer("<final>5/6</final>")
        gemini.hang()
        with server(tmp_path, warm_python, **given) as running, client_of(running) as client:
            listen(client, "token")
            while len(gemini.requests) < 2:
                time.sleep(0.01)
            running.kill()
        gemini.answer(LESSON)
        with server(tmp_path, warm_python, **given) as running, client_of(running) as client:
            check_once(stored(client, SAID, LEARNED))
            assert len(gemini.requests) == 3, "the answer was not asked for again"
            assert any(reply.status_code != 409 for reply in asked_again(client)), "it is still under way"
