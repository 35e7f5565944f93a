"""The web backend goes on with the conversations of version 0.1, and with what its servers left undone."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncGenerator
from pathlib import Path

import httpx
import pytest

from ace_graph.server import Overrides
from ace_graph.testing import ScriptedModel
from tests.server.serving import HandClock, Json, Served, bearer, serving, settings_for, until
from tests.upgrade.old import ADA, BJOERN, DATA, EXPORTS, differences

NOTHING = json.dumps({"lessons": []})
CUT_OFF, UNSAVED = "What is 2/3 + 1/3?", "Learner says: I like tea"
A_YEAR = 366 * 86_400


@pytest.fixture
def model() -> ScriptedModel:
    """It answers the turn that was cut off, and one more."""
    answers = ["<final>It is 1.</final>", "<final>Take turns.</final>"]
    return ScriptedModel(solver=answers, reflector=[NOTHING] * 2)


@pytest.fixture
async def served(tmp_path: Path, model: ScriptedModel) -> AsyncGenerator[Served]:
    """A server of today on copies of both files, a year later; nothing is too old to be kept."""
    shutil.copyfile(DATA / "memory.db", tmp_path / "ace.db")
    shutil.copyfile(DATA / "memory-conversations.db", tmp_path / "ace-conversations.db")
    settings = settings_for(tmp_path, trace_days=0, record_days=0, server_worker=False)
    clock = HandClock()
    clock.move(A_YEAR)
    async with serving(settings, Overrides(model=model), clock) as running:
        yield running


async def test_what_servers_of_0_1_left_is_done(served: Served) -> None:
    """The turn that was cut off is answered, what could not be stored is stored, each once."""
    exported = json.loads((EXPORTS / "bjoern.sqlite.learner.json").read_text("utf-8"))
    done: Json = {}

    async def settled() -> bool:
        done.update(await _export(served, BJOERN))
        return len(done["turns"]) == len(exported["turns"]) + 2

    await until(settled)
    assert [bullet["content"] for bullet in done["playbook"]["bullets"]].count(UNSAVED) == 1
    assert [turn["task"] for turn in done["turns"]].count(CUT_OFF) == 1
    *before, cut_off = exported["conversations"]
    *now, answered = done["conversations"]
    assert differences(before, now) == []
    assert cut_off["id"] == answered["id"] == "cut-off"
    assert answered["messages"] == [
        {"role": "user", "content": CUT_OFF},
        {"role": "assistant", "content": "It is 1."},
    ]


async def test_a_conversation_of_0_1_goes_on(served: Served, model: ScriptedModel) -> None:
    """The model reads what was said before; whose it is has not changed."""
    await until(lambda: model.calls_of("reflector"))
    (plans, chores) = json.loads((EXPORTS / "ada.sqlite.learner.json").read_text("utf-8"))["conversations"]
    assert differences([plans, chores], (await _export(served, ADA))["conversations"]) == []
    reply = await served.post("What is next?", "plans", ADA)
    assert reply.json()["answer"] == "Take turns."
    read = "\n".join(message.text for message in model.calls_of("solver")[-1].messages)
    assert all(message["content"] in read for message in plans["messages"] if message["role"] == "user")
    (goes_on, untouched) = (await _export(served, ADA))["conversations"]
    assert goes_on["messages"][:-2] == plans["messages"]
    assert untouched["messages"] == chores["messages"]


async def test_a_learner_of_0_1_is_forgotten_with_all_conversations(served: Served) -> None:
    gone = await served.client.delete("/api/learner", headers=bearer(ADA))
    assert gone.json() == {"forgotten": True, "conversations": 2}
    assert (await _export(served, ADA))["conversations"] == []
    assert len((await _export(served, BJOERN))["conversations"]) == 3


async def _export(served: Served, learner: str) -> Json:
    """Return a learner's export; one at a time is made."""
    reply: httpx.Response = await served.client.get("/api/learner/export", headers=bearer(learner))
    assert reply.status_code == 200, reply.text
    return reply.json()
