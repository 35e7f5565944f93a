"""A learner consolidates their own playbooks over HTTP, looks first, takes it back; a worker does it."""

from __future__ import annotations

import asyncio

import pytest

from ace_graph import playbooks
from ace_graph.memory.delta import Reset
from ace_graph.server import Overrides
from ace_graph.testing import ScriptedModel
from tests.consolidation.planted import OTHERS, PARAPHRASES, bullets
from tests.graph.conftest import CountingStore
from tests.plugins.sizes import PATIENT
from tests.server.serving import HandClock, bearer, serving, settings_for

PATH = "/api/playbooks/default/consolidate"


async def test_a_playbook_is_consolidated_and_restored() -> None:
    store = CountingStore()
    await store.seed("alice", Reset(bullets=bullets(*PARAPHRASES, *OTHERS)))
    settings = settings_for(learning="background", consolidate_async=False)
    async with serving(settings, Overrides(model=ScriptedModel([]), store=store)) as served:
        before = (await served.client.get("/api/playbooks/default")).json()["bullets"]
        planned = (await served.client.post(PATH, json={"dryRun": True})).json()
        unchanged = (await served.client.get("/api/playbooks/default")).json()["bullets"]
        done = (await served.client.post(PATH, json={})).json()
        foreign = await served.client.post(f"{PATH}/undo", json={}, headers=bearer("mallory"))
        back = await served.client.post(f"{PATH}/undo", json={"runId": done["runId"]})
        again = await served.client.post(f"{PATH}/undo", json={})
        after = (await served.client.get("/api/playbooks/default")).json()["bullets"]
        wrong = await served.client.post(PATH, json={"keepAbove": 2})
    assert before == unchanged == after
    assert planned["runId"] is None
    assert [each["ids"] for each in planned["groups"]] == [each["ids"] for each in done["groups"]]
    assert (done["merged"], done["preserved"], done["untouched"], done["total"]) == (3, 0, 2, 5)
    assert len(back.json()["restored"]) == 3
    assert [foreign.status_code, again.status_code, wrong.status_code] == [409, 409, 422]


@pytest.mark.parametrize("later", [True, False])
async def test_a_scope_and_the_switch_for_preservation_hold_at_once_and_for_a_worker(later: bool) -> None:
    planted = bullets(*PARAPHRASES, importance=0.9, tags=("http",))
    clock, store = HandClock(), CountingStore()
    await store.seed("alice", Reset(bullets=planted))
    settings = settings_for(learning="background", consolidate_async=later)
    merged = list[int]()
    async with serving(settings, Overrides(model=ScriptedModel([]), store=store), clock) as served:
        for body in ({}, {"preserve": False, "tag": ["other"]}, {"preserve": False, "type": ["procedural"]}):
            done = await served.client.post(PATH, json=body)
            if later:
                async with asyncio.timeout(PATIENT):
                    while (run := await served.client.get(done.headers["Location"])).json()[
                        "status"
                    ] != "done":
                        clock.move(1.0)
                done = run
            merged.append(sum(len(group["ids"]) for group in done.json()["groups"]))
    assert merged == [0, 0, 3]


async def test_a_worker_consolidates_and_the_run_can_be_asked_for() -> None:
    clock, store = HandClock(), CountingStore()
    await store.seed("alice", Reset(bullets=bullets(*PARAPHRASES, *OTHERS)))
    overrides = Overrides(model=ScriptedModel([]), store=store)
    async with serving(settings_for(learning="background"), overrides, clock) as served:
        planned = await served.client.post(PATH, json={"dryRun": True})
        asked = await served.client.post(PATH, json={})
        where = asked.headers["Location"]
        foreign = await served.client.get(where, headers=bearer("mallory"))
        unknown = await served.client.get("/api/playbooks/default/consolidations/unknown")
        waiting = (await served.client.get(where)).json()
        async with asyncio.timeout(PATIENT):
            while (done := (await served.client.get(where)).json())["status"] != "done":
                clock.move(1.0)
        back = await served.client.post(f"{PATH}/undo", json={"runId": done["runId"]})
    assert [planned.status_code, asked.status_code] == [200, 202]
    assert asked.json() == {"runId": done["runId"], "status": "pending", "groups": [], "error": None}
    assert [foreign.status_code, unknown.status_code] == [404, 404]
    assert waiting["status"] in ("pending", "running", "done")
    assert [each["ids"] for each in done["groups"]] == [each["ids"] for each in planned.json()["groups"]]
    assert len(back.json()["restored"]) == 3


async def test_a_run_of_another_playbook_is_as_unknown_as_none() -> None:
    clock, store = HandClock(), CountingStore()
    await store.seed("alice", Reset(bullets=bullets(*PARAPHRASES, *OTHERS)))
    named = await playbooks.create(store, "api", ["Use /v1"], owner="alice")
    other = await playbooks.create(store, "shop", ["Use /v1"], owner="alice")
    overrides = Overrides(model=ScriptedModel([]), store=store)
    async with serving(settings_for(learning="background"), overrides, clock) as served:

        async def status(playbook_id: str, run: str) -> int:
            found = await served.client.get(f"/api/playbooks/{playbook_id}/consolidations/{run}")
            return found.status_code

        run = (await served.client.post(f"/api/playbooks/{named}/consolidate", json={})).json()["runId"]
        waiting = [await status(each, run) for each in (named, other, "default")]
        own = f"/api/playbooks/{named}/consolidations/{run}"
        async with asyncio.timeout(PATIENT):
            while (await served.client.get(own)).json()["status"] != "done":
                clock.move(1.0)
        ended = [await status(each, run) for each in (named, other, "default")]
    assert (waiting, ended) == ([200, 404, 404], [200, 404, 404])
