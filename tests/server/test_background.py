"""Learning after the answer: by the server's own worker, by another one, and after a failure."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from ace_graph.base import Settings
from ace_graph.memory import Snapshot, Version
from ace_graph.server import Overrides
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import CountingStore
from tests.server.serving import Json, Served, bearer, serving, settings_for, until
from tests.server.test_chat import LESSON, NO_LESSON, model

LEARNED = "Convert both fractions to sixths before adding"


def in_background(folder: Path | None = None, **given: object) -> Settings:
    """Return settings as a server has them where ACE_LEARNING says nothing."""
    return settings_for(folder, learning=None, **given)


async def contents(served: Served) -> list[str]:
    return [b["content"] for b in (await served.client.get("/api/playbook")).json()["bullets"]]


async def waiting(served: Served) -> list[str]:
    told = (await served.client.get("/metrics")).text
    return [line for line in told.splitlines() if line.startswith("ace_learning_")]


async def test_by_default_the_answer_comes_first_and_the_servers_worker_learns() -> None:
    async with serving(in_background(), Overrides(model=model("5/6", lesson=LESSON))) as served:
        told = await served.ask("Remember that I like tea. What is 1/2 + 1/3?")

        async def learned() -> bool:
            return LEARNED in await contents(served)

        await until(learned)
        assert sorted(await contents(served)) == sorted([LEARNED, "Learner says: I like tea"])
    scratch = told["metadata"]["scratch"]
    assert scratch["pending"] is True
    assert scratch["ace_delta"]["num_new_bullets"] == 1, "what the learner said is stored with the turn"


class Remembering(CountingStore):
    """Notes what each load knew before."""

    def __init__(self) -> None:
        super().__init__()
        self.known: list[Version | None] = []

    async def load(self, learner_id: str, known: Snapshot | None = None) -> Snapshot:
        self.known.append(known and known.version)
        return await super().load(learner_id, known)


async def test_the_next_turn_knows_what_the_servers_worker_has_learned() -> None:
    store, scripted = Remembering(), model("5/6", "7/12", lesson=LESSON)
    async with serving(in_background(), Overrides(model=scripted, store=store)) as served:
        await served.ask("What is 1/2 + 1/3?")

        async def learned() -> bool:
            return await contents(served) == [LEARNED]

        await until(learned)
        newest, before = (await store.now("alice")).version, len(store.known)
        await served.ask("What is 1/3 + 1/4?")
    assert store.known[before] == newest


async def test_what_a_server_left_pending_another_one_learns_once(tmp_path: Path) -> None:
    settings = in_background(tmp_path, server_worker=False)
    async with serving(settings, Overrides(model=model("5/6"))) as served:
        await served.ask("What is 1/2 + 1/3?", "c1")
        now, store = datetime.now(UTC), served.app.state.services.store
        leased = await store.claim("db-host-7:4711:worker", now, 30.0)
        export: Json = (await served.client.get("/api/learner/export")).json()
        assert await store.fail(leased, "stopped", now)
        assert await waiting(served) == ["ace_learning_pending 1.0", "ace_learning_dead 0.0"]
        assert await contents(served) == []
    assert len(export["pending"]) == 1
    assert "db-host-7" not in json.dumps(export), "who works on it is the operator's"
    scripted = ScriptedModel(reflector=[LESSON])
    async with serving(in_background(tmp_path), Overrides(model=scripted)) as served:

        async def learned() -> bool:
            return await contents(served) == [LEARNED]

        await until(learned)
        assert await waiting(served) == ["ace_learning_pending 0.0", "ace_learning_dead 0.0"]
    scripted.assert_done()


async def test_forgetting_deletes_pending_items(tmp_path: Path) -> None:
    settings = in_background(tmp_path, server_worker=False)
    async with serving(settings, Overrides(model=model("5/6"))) as served:
        await served.ask("What is 1/2 + 1/3?", "c1")
        await served.client.delete("/api/learner")
        assert await waiting(served) == ["ace_learning_pending 0.0", "ace_learning_dead 0.0"]
        assert (await served.client.get("/api/learner/export")).json()["pending"] == []


async def test_trajectories_are_filtered_and_paged() -> None:
    async with serving(in_background(), Overrides(model=model("one", "two", "three"))) as served:
        for question in ("What is one?", "What is two?", "What is three?"):
            await served.ask(question)

        async def tasks(**query: str | int) -> list[str]:
            reply = await served.client.get("/api/trajectories", params=query)
            assert reply.status_code == 200, reply.text
            return [turn["task"] for turn in reply.json()["trajectories"]]

        assert await tasks() == ["What is three?", "What is two?", "What is one?"]
        assert await tasks(limit=1, skip=1) == ["What is two?"]
        assert await tasks(status="failure") == []
        assert len(await tasks(agent="ace_graph", since="2020-01-01T00:00:00Z")) == 3
        assert await tasks(until="2020-01-01T00:00:00Z") == []
        other = await served.client.get("/api/trajectories", headers=bearer("bob"))
        wrong = await served.client.get("/api/trajectories", params={"status": "banana"})
        no_month = await served.client.get("/api/trajectories", params={"since": "2026-13-31T12:00:00Z"})
    assert (other.json(), wrong.status_code) == ({"trajectories": []}, 422)
    assert no_month.json()["error"] == "since must be a time, written as 2026-01-31T12:00:00Z"


async def test_bad_feedback_on_an_answer_is_learned_from_again() -> None:
    scripted = ScriptedModel(solver=["<final>5/7</final>"], reflector=[NO_LESSON, LESSON])
    async with serving(in_background(), Overrides(model=scripted)) as served:
        told = await served.ask("What is 1/2 + 1/3?")

        async def looked_back() -> bool:
            return len(scripted.calls_of("reflector")) == 1

        await until(looked_back)
        vote = {"turnId": told["turnId"], "verdict": "bad", "text": "it is 5/6"}
        assert (await served.client.post("/api/feedback", json=vote)).status_code == 200

        async def learned() -> bool:
            return LEARNED in await contents(served)

        await until(learned)
    assert "it is 5/6" in "".join(m.text for m in scripted.calls_of("reflector")[1].messages)
