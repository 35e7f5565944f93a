"""A learner consolidates their own playbooks over HTTP, looks first, and takes it back."""

from __future__ import annotations

from ace_graph.memory.delta.operations import Reset
from ace_graph.server import Overrides
from ace_graph.testing import ScriptedModel
from tests.consolidation.planted import OTHERS, PARAPHRASES, bullets
from tests.graph.conftest import CountingStore
from tests.server.serving import bearer, serving, settings_for

PATH = "/api/playbooks/default/consolidate"


async def test_a_playbook_is_consolidated_and_restored() -> None:
    store = CountingStore()
    await store.seed("alice", Reset(bullets=bullets(*PARAPHRASES, *OTHERS)))
    async with serving(settings_for(), Overrides(model=ScriptedModel([]), store=store)) as served:
        before = (await served.client.get("/api/playbooks/default")).json()["bullets"]
        planned = (await served.client.post(PATH, json={"dry_run": True})).json()
        unchanged = (await served.client.get("/api/playbooks/default")).json()["bullets"]
        done = (await served.client.post(PATH, json={})).json()
        foreign = await served.client.post(f"{PATH}/undo", json={}, headers=bearer("mallory"))
        back = await served.client.post(f"{PATH}/undo", json={"run_id": done["run_id"]})
        again = await served.client.post(f"{PATH}/undo", json={})
        after = (await served.client.get("/api/playbooks/default")).json()["bullets"]
        wrong = await served.client.post(PATH, json={"keep_above": 2})
    assert before == unchanged == after
    assert planned["run_id"] is None
    assert [each["ids"] for each in planned["groups"]] == [each["ids"] for each in done["groups"]]
    assert (done["merged"], done["preserved"], done["untouched"], done["total"]) == (3, 0, 2, 5)
    assert len(back.json()["restored"]) == 3
    assert [foreign.status_code, again.status_code, wrong.status_code] == [409, 409, 422]
