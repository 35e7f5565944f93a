"""A temporary chat over HTTP: no statement of any database is about the learner or the message."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, cast

import pytest

from ace_graph.server import Overrides
from ace_graph.testing import ScriptedModel
from tests.server.serving import HeldModel, Served, bearer, serving, settings_for, until

OFF = {"memory": "off"}


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the SQL of every connection that is opened, with its values, as SQLite runs it."""
    noted: list[str] = []
    connect = sqlite3.connect

    def noting(*given: object, **more: object) -> sqlite3.Connection:
        connection = cast("sqlite3.Connection", cast("Any", connect)(*given, **more))  # Any: passed on
        connection.set_trace_callback(noted.append)
        return connection

    monkeypatch.setattr(sqlite3, "connect", noting)
    return noted


@pytest.fixture
async def served(statements: list[str], tmp_path: Path) -> AsyncGenerator[Served]:
    replies = [f"<final>{number}</final>" for number in range(4)]
    overrides = Overrides(model=ScriptedModel(solver=replies, reflector=['{"lessons": []}'] * 4))
    settings = settings_for(tmp_path, conversations=str(tmp_path / "conversations.db"))
    async with serving(settings, overrides) as running:
        yield running


async def test_no_statement_is_about_a_temporary_chat(served: Served, statements: list[str]) -> None:
    history = [{"role": "user", "content": "A pelican"}, {"role": "assistant", "content": "Hello pelican"}]
    statements.clear()
    told = await served.ask("Remember that my pelican is called Kim.", **OFF, conversationHistory=history)
    body = {"message": "And the pelican?", **OFF}
    streamed = await served.client.post("/api/ai/chat/stream", json=body, headers=bearer("alice"))
    about = [each for each in statements if "alice" in each or "pelican" in each or told["turnId"] in each]
    assert about == []
    assert (told["metadata"]["memory"], "conversationId" in told) == ("off", False)
    assert told["metadata"]["scratch"]["ace_delta"]["num_new_bullets"] == 0
    assert '"memory":"off"' in streamed.text.replace(" ", "")
    assert "conversationId" not in streamed.text

    await served.ask("What is a pelican?", "c1")
    assert any("alice" in each for each in statements), "the same turn with its memory is about her"
    assert any("pelican" in each for each in statements)


async def test_nothing_of_a_temporary_chat_is_listed_afterwards(served: Served) -> None:
    told = await served.ask("Call me Ann.", **OFF)
    for path in ("/api/conversations", "/api/trajectories", "/api/playbook", "/api/learner/export"):
        found = await served.client.get(path)
        assert "Ann" not in found.text, path
        assert told["turnId"] not in found.text, path
    vote = await served.client.post("/api/feedback", json={"turnId": told["turnId"], "verdict": "good"})
    assert vote.status_code == 404


@pytest.mark.parametrize("more", [{"conversationId": "c1"}, {"playbooks": ["api"]}])
async def test_what_is_stored_is_refused_in_a_temporary_chat(served: Served, more: dict[str, object]) -> None:
    found = await served.client.post("/api/ai/chat", json={"message": "hi", **OFF, **more})
    assert found.status_code == 422
    assert "conversationHistory" in found.json()["error"]


async def test_the_history_of_a_temporary_chat_comes_with_the_message(tmp_path: Path) -> None:
    model = ScriptedModel(solver=["<final>Kim</final>"])
    history = [{"role": "user", "content": "My cat is Kim"}, {"role": "assistant", "content": "Noted"}]
    async with serving(settings_for(tmp_path), Overrides(model=model)) as served:
        await served.ask("Who is my cat?", **OFF, conversationHistory=history)
    assert "My cat is Kim" in str(model.calls_of("solver")[0].messages)


async def test_a_failed_temporary_turn_leaves_nothing(tmp_path: Path, statements: list[str]) -> None:
    model = ScriptedModel(solver=[ValueError("broken"), "<final>again</final>"])
    settings = settings_for(tmp_path, conversations=str(tmp_path / "conversations.db"))
    async with serving(settings, Overrides(model=model)) as served:
        statements.clear()
        failed = await served.client.post("/api/ai/chat", json={"message": "A pelican", **OFF})
        assert failed.status_code >= 500
        assert [each for each in statements if "alice" in each or "pelican" in each] == []
        assert (await served.ask("A pelican", **OFF))["answer"] == "again"


async def test_a_temporary_turn_that_a_stop_ends_is_to_be_sent_again() -> None:
    model = HeldModel(solver=["<final>a long answer</final>"])
    settings = settings_for(server_grace=0)
    async with serving(settings, Overrides(model=model)) as served:
        body = {"message": "hi", **OFF}
        async with served.client.stream("POST", "/api/ai/chat/stream", json=body) as events:
            await until(model.begun.is_set)
            await served.app.state.services.turns.drain(0)
            text = "".join([line async for line in events.aiter_lines()])
    _, _, told = text.rpartition("event: error")
    assert json.loads(told.partition("data: ")[2])["code"] == "stopping"
