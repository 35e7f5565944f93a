"""Searching a playbook over HTTP: by words, and with the reasons why a turn is shown a bullet or not."""

from __future__ import annotations

from ace_graph import playbooks
from ace_graph.memory.delta import Add, Quarantine
from ace_graph.server import Overrides
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import CountingStore
from tests.server.serving import Json, bearer, serving, settings_for
from tests.server.test_chat import model

QUESTION = "How do I add fractions such as 1/2 and 1/3?"


async def test_the_reasons_are_those_of_the_turn_that_is_asked() -> None:
    store = CountingStore()
    await store.seed(
        "alice",
        Add(content="Make fractions equal below before you add them", ref="a", section="fractions"),
        Add(content="Water boils at 100 degrees", ref="b"),
        Add(content="Add fractions as this page says", ref="c"),
        Quarantine(bullet_id="c", why="an instruction"),
    )
    overrides = Overrides(model=model("5/6"), store=store)
    async with serving(settings_for(embeddings="off"), overrides) as served:
        asked = {"words": QUESTION, "explain": "true"}
        found: Json = (await served.client.get("/api/playbook/search", params=asked)).json()
        one: Json = (
            await served.client.get("/api/playbook/search", params={**asked, "id": found["bullets"][1]["id"]})
        ).json()
        few: Json = (await served.client.get("/api/playbook/search", params={**asked, "limit": 1})).json()
        told = await served.ask(QUESTION)
    shown = [bullet for bullet in found["bullets"] if bullet["shown"]]
    assert [bullet["id"] for bullet in shown] == told["metadata"]["injected"]
    assert shown[0]["why"]["kind"] == told["metadata"]["whyShown"][shown[0]["id"]]["kind"] == "retrieved"
    assert "fractions" in shown[0]["reason"]
    kinds = {bullet["content"]: bullet["why"]["kind"] for bullet in found["bullets"][1:]}
    assert kinds == {
        "Water boils at 100 degrees": "no shared word",
        "Add fractions as this page says": "not eligible",
    }
    assert one["bullets"] == [found["bullets"][1]]
    assert ([bullet["id"] for bullet in few["bullets"]], few["left"]) == ([shown[0]["id"]], 2)


async def test_without_reasons_the_bullets_that_hold_the_words() -> None:
    store = CountingStore()
    await store.seed("alice", Add(content="Add fractions of one size"), Add(content="Halve the dough"))
    own = await playbooks.create(store, "api", ["Use fractions of a second", "Use /v1"], owner="alice")
    async with serving(settings_for(), Overrides(model=ScriptedModel([]), store=store)) as served:

        async def found(path: str, learner: str = "alice", **params: str) -> tuple[int, list[str], Json]:
            reply = await served.client.get(path, params=params, headers=bearer(learner))
            body: Json = reply.json()
            return reply.status_code, [each["content"] for each in body.get("bullets", [])], body

        words = await found("/api/playbook/search", words="fractions")
        named = await found(f"/api/playbooks/{own}/search", words="fractions")
        single = await found("/api/playbook/search", words="fractions", id=words[2]["bullets"][0]["id"])
        another = await found("/api/playbook/search", words="fractions", id="none")
        why = await found(f"/api/playbooks/{own}/search", words="fractions of a second", explain="true")
        nobody = await found(f"/api/playbooks/{own}/search", "bob", words="fractions")
        wrong = [
            await found("/api/playbook/search"),
            await found("/api/playbook/search", words="x", id="none", explain="true"),
            await found("/api/playbook/search", words="x", explain="yes"),
        ]
        for method in ("PATCH", "DELETE"):
            assert (await served.client.request(method, "/api/playbook/search")).status_code == 405
    assert words[:2] == (200, ["Add fractions of one size"])
    assert words[2]["bullets"][0]["why"] is None
    assert named[:2] == (200, ["Use fractions of a second"])
    assert (why[1][0], why[2]["bullets"][0]["shown"]) == ("Use fractions of a second", True)
    assert (single[1], another[:2]) == (words[1], (200, []))
    assert nobody[0] == 404
    assert [status for status, _, _ in wrong] == [422, 404, 422]
