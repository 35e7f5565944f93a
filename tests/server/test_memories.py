"""Memories by scope over HTTP: remembered, listed and found, as far as the rights of the token go."""

from __future__ import annotations

from ace_graph import playbooks
from ace_graph.server import Overrides
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import CountingStore
from tests.server.serving import bearer, serving, settings_for, token

PATH = "/api/memories"


async def _shared(store: CountingStore) -> None:
    await playbooks.create(store, "http", ["Use /v1"], owner="bob")
    await playbooks.grant(store, "http", "team:ops", "editor", owner="bob")
    await playbooks.add_to_team(store, "ops", ["alice"])


async def test_a_memory_is_stored_listed_and_found_in_its_scope() -> None:
    store = CountingStore()
    await _shared(store)
    async with serving(settings_for(), Overrides(model=ScriptedModel([]), store=store)) as served:
        own = await served.client.post(PATH, json={"content": "Pages have 50 rows", "agent": "crawler"})
        body = {"content": "Retry after 429", "kind": "anti_pattern", "scope": "tenant"}
        key = {"Idempotency-Key": "k"}
        told = [await served.client.post(PATH, json=body, headers=key) for _ in range(2)]
        listed = {
            scope: (await served.client.get(PATH, params={"scope": scope, **more})).json()["memories"]
            for scope, more in {"user": {}, "tenant": {}, "agent": {"agent": "crawler"}, "global": {}}.items()
        }
        asked = {"words": "RETRY", "scope": "tenant"}
        (found,) = (await served.client.get(f"{PATH}/search", params=asked)).json()["memories"]
        one_kind = {"scope": "tenant", "kind": "anti_pattern"}
        kinds = (await served.client.get(PATH, params=one_kind)).json()["memories"]
    assert (own.status_code, own.json()["playbook"]) == (201, "default")
    assert [each.json() for each in told] == [{"id": found["id"], "playbook": "bob/http"}] * 2
    assert {scope: [each["content"] for each in each_] for scope, each_ in listed.items()} == {
        "user": ["Pages have 50 rows"],
        "tenant": ["Use /v1", "Retry after 429"],
        "agent": ["Pages have 50 rows"],
        "global": ["Use /v1", "Retry after 429"],
    }
    assert listed["user"][0]["importance"] == 0.8, "a person states it"
    assert [each["content"] for each in kinds] == ["Retry after 429"]


async def test_a_scope_gives_no_right() -> None:
    store = CountingStore()
    await _shared(store)
    settings = settings_for(jwt_operator_claim="staff")
    operator = {"Authorization": f"Bearer {token('root', staff=True)}", "X-ACE-Learner": "alice"}
    body = {"content": "Retry after 429", "scope": "tenant"}
    named = {**body, "playbook": "bob/http"}
    async with serving(settings, Overrides(model=ScriptedModel([]), store=store)) as served:
        none = await served.client.get(PATH, params={"scope": "global"}, headers=bearer("eve"))
        refused = await served.client.post(PATH, json=body, headers=bearer("eve"))
        unknown = await served.client.post(PATH, json=named, headers=bearer("eve"))
        asked = [
            await served.client.get(PATH, params={"scope": "tenant"}, headers=operator),
            await served.client.get(
                f"{PATH}/search", params={"words": "x", "scope": "global"}, headers=operator
            ),
            await served.client.post(PATH, json=body, headers=operator),
            await served.client.post(PATH, json={"content": "x", "playbook": "bob/http"}, headers=operator),
        ]
        own = await served.client.post(PATH, json={"content": "Pages have 50 rows"}, headers=operator)
        wrong = await served.client.get(PATH, params={"scope": "agent"})
    assert none.json() == {"memories": []}
    assert (refused.status_code, "you may write no playbook" in refused.json()["error"]) == (409, True)
    assert unknown.status_code == 404
    assert [each.status_code for each in asked] == [403] * 4
    assert (own.status_code, wrong.status_code) == (201, 409)
    held = await playbooks.get_playbook(store, "http", "bob")
    assert [bullet.content for bullet in held.playbook.bullets()] == ["Use /v1"]
