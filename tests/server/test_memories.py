"""Memories by scope over HTTP: remembered, listed and found, as far as the rights of the token go."""

from __future__ import annotations

from ace_graph import playbooks
from ace_graph.memory.delta import Reset
from ace_graph.server import Overrides
from ace_graph.testing import ScriptedModel
from tests.consolidation.planted import OTHERS, PARAPHRASES, bullets
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
    assert (refused.status_code, "you can't write to any playbook" in refused.json()["error"]) == (409, True)
    assert unknown.status_code == 404
    assert [each.status_code for each in asked] == [403] * 4
    assert (own.status_code, wrong.status_code) == (201, 409)
    held = await playbooks.get_playbook(store, "http", "bob")
    assert [bullet.content for bullet in held.playbook.bullets()] == ["Use /v1"]


async def test_the_own_playbooks_of_a_scope_are_consolidated_each_by_itself() -> None:
    store = CountingStore()
    await store.seed("alice", Reset(bullets=bullets(*PARAPHRASES, tags=("agent:crawler",))))
    await playbooks.create(store, "mine", ["Use /v1"], owner="alice", scope="user")
    await playbooks.create(store, "other", ["Use /v1"], owner="bob", scope="user")
    settings = settings_for(consolidate_async=False)
    done = dict[str, dict[str, list[int]]]()
    async with serving(settings, Overrides(model=ScriptedModel([]), store=store)) as served:
        bodies = {
            "tenant": {"scope": "tenant"},
            "other agent": {"scope": "agent", "agent": "reader"},
            "planned": {"scope": "user", "dryRun": True},
            "agent": {"scope": "agent", "agent": "crawler"},
        }
        for name, body in bodies.items():
            reply = await served.client.post(f"{PATH}/consolidate", json=body)
            each_ = {each["playbook"]: each["report"] for each in reply.json()["playbooks"]}
            done[name] = {book: [report["merged"], report["total"]] for book, report in each_.items()}
        nameless = await served.client.post(f"{PATH}/consolidate", json={"scope": "agent"})
        nothing = await served.client.post(f"{PATH}/consolidate", json={})
    assert done == {
        "tenant": {},
        "other agent": {"default": [0, 3]},
        "planned": {"default": [3, 3], "mine": [0, 1]},
        "agent": {"default": [3, 3]},
    }
    assert (nameless.status_code, nothing.status_code) == (409, 422)


async def test_a_worker_consolidates_a_scope() -> None:
    store = CountingStore()
    await store.seed("alice", Reset(bullets=bullets(*PARAPHRASES, *OTHERS)))
    async with serving(
        settings_for(learning="background"), Overrides(model=ScriptedModel([]), store=store)
    ) as served:
        asked = await served.client.post(f"{PATH}/consolidate", json={"scope": "user"})
        [one] = asked.json()["playbooks"]
        run = await served.client.get(f"/api/playbooks/default/consolidations/{one['run']['runId']}")
    assert (asked.status_code, one["playbook"], one["report"], run.status_code) == (202, "default", None, 200)
