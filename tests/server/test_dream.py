"""A dream over HTTP: made, shown, accepted in parts, refused, and taken back."""

from __future__ import annotations

from ace_graph.server import Overrides
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import CountingStore
from tests.learning.dreamed_runs import HARMFUL, PAGES, live
from tests.server.serving import Json, bearer, serving, settings_for

PATH = "/api/playbooks/default/dream"


async def test_a_dream_is_decided_in_parts_and_taken_back() -> None:
    store = CountingStore()
    await live(store, "alice")
    async with serving(settings_for(), Overrides(model=ScriptedModel([]), store=store)) as served:

        async def bullets() -> list[str]:
            listed = (await served.client.get("/api/playbooks/default")).json()["bullets"]
            return sorted(each["content"] for each in listed)

        before, nothing = await bullets(), (await served.client.get(PATH)).json()
        made = (await served.client.post(PATH)).json()
        unchanged, shown = await bullets(), (await served.client.get(PATH)).json()
        items: dict[str, Json] = {each["kind"]: each for each in made["items"]}
        ids = {kind: item["itemId"] for kind, item in items.items()}
        text = "Ask the Invoice Service for ten pages"
        body = {"items": [ids["add"], ids["archive"]], "texts": {ids["add"]: text}}
        stale = await served.client.post(f"{PATH}/accept", json=body, headers={"If-Match": '"old"'})
        done = (await served.client.post(f"{PATH}/accept", json=body)).json()
        after = await bullets()
        refused = (await served.client.post(f"{PATH}/refuse", json={})).json()
        unknown = await served.client.post(f"{PATH}/accept", json={"items": ["x"]})
        over = await served.client.post(f"{PATH}/accept", json={})
        wrong = await served.client.post(f"{PATH}/accept", json={"items": []})
        foreign = (await served.client.get(PATH, headers=bearer("mallory"))).json()
        back = await served.client.post("/api/playbooks/default/consolidate/undo", json={})
        restored = await bullets()
    assert nothing == foreign == {"dreamId": "", "runs": 0, "items": [], "leftOut": [], "proposalId": None}
    assert (made["runs"], shown, before) == (7, made, unchanged)
    assert items["add"]["text"] == PAGES
    assert items["add"]["runs"] == ["run-0", "run-1", "run-2"]
    assert items["add"]["losses"] == ["name Invoice", "name Service"]
    assert items["merge"]["questions"] == {"pairs": 1, "before": 1, "after": 1}
    assert items["archive"]["was"] == {"gen-00009": HARMFUL}
    assert (done["decided"], done["leftOut"], done["open"]) == (body["items"], [], [ids["merge"]])
    assert after == sorted([*(each for each in before if each != HARMFUL), text])
    assert (refused["decided"], refused["open"]) == ([ids["merge"]], [])
    assert [each.status_code for each in (stale, unknown, over, wrong, back)] == [412, 404, 404, 422, 200]
    assert restored == before
