"""Sharing over HTTP: grants, what others may do, teams in tokens, and playbooks of others in a chat."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from httpx import Response

from ace_graph import playbooks
from ace_graph.memory.delta import Add
from ace_graph.server import Overrides
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import CountingStore
from tests.learning.reflected_runs import add_runs
from tests.server.serving import Json, Served, bearer, serving, settings_for, token
from tests.server.test_chat import model

PATH = "/api/playbooks"


@asynccontextmanager
async def shared_store(teams_claim: str | None = None) -> AsyncGenerator[tuple[Served, CountingStore, str]]:
    """A server, with a playbook of alice that bob may read."""
    store = CountingStore()
    bullets = [Add(content="Use /v1"), Add(content="Learner says: I am Al", section="profile")]
    playbook_id = await playbooks.create(store, "api", bullets, owner="alice")
    overrides = Overrides(model=ScriptedModel([]), store=store)
    async with serving(settings_for(jwt_teams_claim=teams_claim), overrides) as served:
        yield served, store, f"{PATH}/{playbook_id}"


async def call(served: Served, learner: str, method: str, path: str, body: Json | None = None) -> Response:
    return await served.client.request(method, path, json=body, headers=bearer(learner))


async def grant(served: Served, path: str, to: str, relation: str = "viewer") -> Response:
    kind, _, name = to.partition(":")
    body = {"kind": kind, "name": name, "relation": relation}
    return await call(served, "alice", "POST", f"{path}/grants", body)


def in_teams(learner: str, *teams: object, groups: object = None) -> dict[str, str]:
    return {"Authorization": f"Bearer {token(learner, groups=groups or list(teams))}"}


async def test_a_grant_opens_a_playbook_until_it_is_revoked() -> None:
    async with shared_store() as (served, _, path):
        before = await call(served, "bob", "GET", path)
        unknown = await call(served, "bob", "GET", f"{PATH}/00000000-0000-0000-0000-000000000000")
        made = await grant(served, path, "user:bob")
        shown = await call(served, "bob", "GET", path)
        listed = (await call(served, "bob", "GET", f"{PATH}?which=shared")).json()
        own = (await call(served, "bob", "GET", PATH)).json()
        grants = (await call(served, "alice", "GET", f"{path}/grants")).json()
        revoked = await call(served, "alice", "DELETE", f"{path}/grants?kind=user&name=bob")
        again = await call(served, "alice", "DELETE", f"{path}/grants?kind=user&name=bob")
        after = await call(served, "bob", "GET", path)
    errors = [{**reply.json(), "requestId": ""} for reply in (before, unknown, after)]
    assert [reply.status_code for reply in (before, unknown, after)] == [404, 404, 404]
    assert errors[0] == errors[1] == errors[2]
    assert (made.status_code, made.json()["name"], made.json()["by"]) == (201, "bob", "alice")
    assert [bullet["content"] for bullet in shown.json()["bullets"]] == ["Use /v1"]
    assert [(each["owner"], each["name"], each["right"]) for each in listed["playbooks"]] == [
        ("alice", "api", "read")
    ]
    assert (own["playbooks"], grants["next"]) == ([], None)
    assert [(each["kind"], each["name"]) for each in grants["grants"]] == [("user", "bob")]
    assert (revoked.status_code, again.status_code) == (204, 404)


async def test_an_editors_text_in_quarantine_is_named_in_the_reply() -> None:
    async with shared_store() as (served, _, path):
        await grant(served, path, "user:bob", "editor")
        body = {"content": "See https://example.org/a for the details"}
        added = await call(served, "bob", "POST", f"{path}/bullets", body)
        own = await call(served, "alice", "GET", f"{path}/bullets?status=quarantined")
    assert (added.status_code, added.json()["quarantined"]) == (201, [added.json()["id"]])
    assert [each["id"] for each in own.json()["bullets"]] == [added.json()["id"]]


async def test_a_key_of_one_user_is_none_of_another() -> None:
    async with shared_store() as (served, _, path):
        await grant(served, path, "user:bob", "editor")
        body, key = {"content": "Retry after 429"}, {"Idempotency-Key": "k"}
        replies = [
            await served.client.post(f"{path}/bullets", json=body, headers=bearer(who) | key)
            for who in ("alice", "bob", "alice", "bob")
        ]
    assert [each.status_code for each in replies] == [201] * 4
    alices, bobs, *again = (each.json() for each in replies)
    assert (len(alices["added"]), bobs["added"], bobs["reinforced"]) == (1, [], alices["added"])
    assert again == [alices, bobs]


async def test_a_refused_proposal_names_the_reason() -> None:
    async with shared_store() as (served, store, path):
        await grant(served, path, "user:bob", "contributor")
        (target,) = (await call(served, "bob", "GET", path)).json()["bullets"]
        await store.seed("bob", Add(content="Send requests to version two", ref="a"))
        (bullet,) = (await store.load("bob")).playbook.bullets()
        unknown = await call(served, "bob", "POST", f"{path}/proposals", {"bullets": ["gen-77777"]})
        body = {"bullets": [bullet.id], "replaces": target["id"]}
        made = (await call(served, "bob", "POST", f"{path}/proposals", body)).json()["proposalId"]
        await call(served, "alice", "PATCH", f"{path}/bullets/{target['id']}", {"content": "Use /v1 or /v2"})
        stale = await call(served, "alice", "POST", f"{path}/proposals/{made}/accept", {})
    assert (unknown.status_code, stale.status_code) == (409, 409)
    assert "gen-77777: unknown id" in unknown.text
    assert f"{target['id']} was changed since this was proposed" in stale.text


async def test_every_change_by_a_viewer_is_forbidden() -> None:
    async with shared_store() as (served, _, path):
        await grant(served, path, "user:bob")
        before = (await call(served, "alice", "GET", path)).headers["ETag"]
        replies = [
            await call(served, "bob", method, path + under, body)
            for method, under, body in (
                ("PUT", "", {"bullets": [{"content": "Use /v2"}]}),
                ("PUT", "", {"bullets": [{"content": "Use /v2"}], "merge": True}),
                ("DELETE", "", None),
                ("POST", "/rollback", {"version": 1}),
                ("POST", "/consolidate", {}),
                ("POST", "/consolidate/undo", {}),
                ("POST", "/curate", {"reflections": ["x"]}),
                ("GET", "/grants", None),
                ("POST", "/grants", {"kind": "user", "name": "eve"}),
                ("DELETE", "/grants?kind=user&name=bob", None),
            )
        ]
        after = (await call(served, "alice", "GET", path)).headers["ETag"]
    assert {(reply.status_code, reply.json()["code"]) for reply in replies} == {(403, "forbidden")}
    assert before == after


async def test_an_editor_replaces_what_they_see() -> None:
    async with shared_store() as (served, _, path):
        await grant(served, path, "user:bob", "editor")
        body: Json = {"bullets": [{"content": "Use /v2"}]}
        done = await call(served, "bob", "PUT", path, body)
        stale = await served.client.put(path, json=body, headers={**bearer("bob"), "If-Match": '"old"'})
        seen = (await call(served, "bob", "GET", path)).json()["bullets"]
        owners = (await call(served, "alice", "GET", path)).json()["bullets"]
        versions = (await call(served, "bob", "GET", f"{path}/versions")).json()["versions"]
        curated = await call(served, "bob", "POST", f"{path}/curate", {"reflections": ["x"]})
    assert (done.status_code, done.json()["label"], stale.status_code) == (200, "2.0", 412)
    assert [bullet["content"] for bullet in seen] == ["Use /v2"]
    assert {bullet["content"] for bullet in owners} == {"Use /v2", "Learner says: I am Al"}
    assert {each["reason"] for each in versions} == {""}
    assert curated.status_code == 403


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"kind": "user", "name": "bob", "relation": "admin"}, 422),
        ({"kind": "group", "name": "bob"}, 422),
        ({"kind": "user", "name": ""}, 422),
        ({"name": "bob"}, 422),
        ({"kind": "user", "name": "alice"}, 409),
        ({"kind": "team", "name": " ops"}, 409),
        ({"kind": "team", "name": "ops\u200b"}, 409),
        ({}, 422),
    ],
)
async def test_a_wrong_grant_is_refused(body: Json, status: int) -> None:
    async with shared_store() as (served, _, path):
        reply = await call(served, "alice", "POST", f"{path}/grants", body)
        grants = (await call(served, "alice", "GET", f"{path}/grants")).json()["grants"]
        memory = await call(
            served, "alice", "POST", f"{PATH}/default/grants", {"kind": "user", "name": "bob"}
        )
        last = await call(served, "alice", "DELETE", f"{path}/grants?kind=user&name=alice")
    assert (reply.status_code, grants, memory.status_code, last.status_code) == (status, [], 409, 409)


async def test_teams_come_from_the_table_or_from_the_token() -> None:
    async with shared_store() as (served, store, path):
        await grant(served, path, "team:ops")
        await playbooks.add_to_team(store, "ops", ["bob"])
        by_table = await call(served, "bob", "GET", path)
        claimed = await served.client.get(path, headers=in_teams("eve", "ops"))
    assert (by_table.status_code, claimed.status_code) == (200, 404)
    async with shared_store("groups") as (served, store, path):
        await served.client.post(
            f"{path}/grants", json={"kind": "team", "name": "ops"}, headers=in_teams("alice")
        )
        await playbooks.add_to_team(store, "ops", ["bob"])
        statuses = [
            (await served.client.get(path, headers=headers)).status_code
            for headers in (
                in_teams("eve", "staff", "ops"),
                bearer("bob"),
                in_teams("bob"),
                in_teams("bob", "op"),
                in_teams("bob", "Ops"),
                in_teams("bob", groups="ops"),
                in_teams("bob", groups={"ops": True}),
                in_teams("bob", ["ops"]),
            )
        ]
    assert statuses == [200, 404, 404, 404, 404, 404, 404, 404]


async def test_a_tenant_playbook_is_offered_to_the_tokens_teams() -> None:
    async with shared_store("groups") as (served, _, _):
        body = {"name": "all", "scope": "tenant", "visibility": "shared", "bullets": [{"content": "Use /v3"}]}
        made = await served.client.post(PATH, json=body, headers=in_teams("alice", "acme"))
        path = f"{PATH}/{made.json()['playbookId']}"
        same = await served.client.get(path, headers=in_teams("bob", "acme"))
        others = [
            (await served.client.get(path, headers=headers)).status_code
            for headers in (in_teams("bob", "acme-corp"), in_teams("bob"), bearer("bob"))
        ]
        written = await served.client.put(path, json={"bullets": []}, headers=in_teams("bob", "acme"))
    assert (made.status_code, same.status_code, others, written.status_code) == (201, 200, [404] * 3, 403)


async def test_a_chat_reads_a_shared_playbook_and_never_writes_it() -> None:
    store = CountingStore()
    rule = "Adding fractions needs a common denominator first"
    playbook_id = await playbooks.create(store, "maths", [rule], owner="alice")
    await playbooks.grant(store, "maths", "team:ops", owner="alice")
    before = await playbooks.get_playbook(store, "maths", "alice")
    asked = {"message": "adding fractions 1/2 + 1/3", "playbooks": ["alice/maths"]}
    replies = list[Response]()
    overrides = Overrides(model=model("5/6"), store=store)
    async with serving(settings_for(jwt_teams_claim="groups"), overrides) as served:
        for headers in (in_teams("bob", "ops"), in_teams("bob", "op"), bearer("bob")):
            replies.append(await served.client.post("/api/ai/chat", json=asked, headers=headers))
        unknown = {**asked, "playbooks": ["alice/none"]}
        replies.append(await served.client.post("/api/ai/chat", json=unknown, headers=in_teams("bob", "ops")))
    assert [reply.status_code for reply in replies] == [200, 404, 404, 404]
    assert replies[0].json()["metadata"]["injected"] == ["alice/maths:gen-00001"]
    assert (await playbooks.get_playbook(store, "maths", "alice")).snapshot == before.snapshot
    assert (await store.playbooks.entry(playbook_id)) == before.entry


async def test_a_proposer_sees_what_became_of_their_proposals() -> None:
    async with shared_store() as (served, store, path):
        await grant(served, path, "user:bob", "contributor")
        await store.seed("bob", Add(content="Retry after 429", ref="a"), Add(content="Use gzip", ref="b"))
        for bullet in (await store.load("bob")).playbook.bullets():
            await call(served, "bob", "POST", f"{path}/proposals", {"bullets": [bullet.id]})
        waiting = (await call(served, "alice", "GET", f"{path}/proposals")).json()["proposals"]
        first = waiting[0]["proposalId"]
        why = {"reason": "we say this already"}
        await call(served, "alice", "POST", f"{path}/proposals/{first}/refuse", why)
        seen = (await call(served, "bob", "GET", f"{path}/proposals?state=refused")).json()["proposals"]
        by_owner = (await call(served, "alice", "GET", f"{path}/proposals?state=all")).json()["proposals"]
        await call(served, "alice", "DELETE", f"{path}/grants?kind=user&name=bob")
        after = (await call(served, "bob", "GET", "/api/proposals")).json()["proposals"]
        others = (await call(served, "eve", "GET", "/api/proposals")).json()["proposals"]
        wrong = await call(served, "alice", "GET", f"{path}/proposals?state=open")
    assert [(each["state"], each["reason"], each["decidedBy"]) for each in seen] == [
        ("refused", why["reason"], "")
    ]
    assert [(each["state"], each["decidedBy"]) for each in by_owner] == [
        ("refused", "alice"),
        ("pending", ""),
    ]
    lost = "who proposed this may not propose any more"
    assert {(each["state"], each["reason"]) for each in after} == {
        ("refused", why["reason"]),
        ("refused", lost),
    }
    assert (others, wrong.status_code) == ([], 422)


async def test_an_editor_cannot_curate_with_their_own_reflections() -> None:
    async with shared_store() as (served, store, path):
        await grant(served, path, "user:bob", "editor")
        ids = await add_runs(store, "bob", ["Use /v9"] * 2)
        reply = await call(served, "bob", "POST", f"{path}/curate", {"reflections": ids})
    assert reply.status_code == 403


async def test_a_finding_is_proposed_and_decided() -> None:
    async with shared_store() as (served, store, path):
        await grant(served, path, "user:bob", "contributor")
        await grant(served, path, "user:eve", "viewer")
        ids = [
            await store.seed("bob", Add(content="Retry after 429", ref="a")),
            await store.seed("bob", Add(content="Learner says: I am Bob", section="profile", ref="b")),
        ]
        bullets = [bullet.id for bullet in (await store.load("bob")).playbook.bullets()]
        made = await call(served, "bob", "POST", f"{path}/proposals", {"bullets": bullets[:1]})
        private = await call(served, "bob", "POST", f"{path}/proposals", {"bullets": bullets})
        by_viewer = await call(served, "eve", "POST", f"{path}/proposals", {"bullets": bullets[:1]})
        one = f"{path}/proposals/{made.json()['proposalId']}"
        by_bob = [
            (await call(served, "bob", "POST", under, body)).status_code
            for under, body in (
                (f"{one}/accept", {}),
                (f"{one}/refuse", None),
                (f"{path}/withdraw", {"by": "bob"}),
                (f"{path}/proposals/collect", None),
            )
        ]
        strangers = await call(served, "mallory", "GET", f"{path}/proposals")
        of_eve = (await call(served, "eve", "GET", f"{path}/proposals")).json()
        listed = (await call(served, "alice", "GET", f"{path}/proposals")).json()["proposals"]
        accepted = await call(served, "alice", "POST", f"{one}/accept", {"texts": ["Retry 3 times"]})
        refused = await call(served, "alice", "POST", f"{one}/refuse")
        seen = [b["content"] for b in (await call(served, "bob", "GET", path)).json()["bullets"]]
        collected = await call(served, "alice", "POST", f"{path}/proposals/collect")
        withdrawn = await call(served, "alice", "POST", f"{path}/withdraw", {"by": "bob"})
    assert len(ids) == 2
    assert (made.status_code, private.status_code, by_viewer.status_code) == (201, 409, 403)
    assert (by_bob, strangers.status_code, of_eve) == ([403] * 4, 404, {"proposals": []})
    assert [(each["by"], each["texts"]) for each in listed] == [("bob", ["Retry after 429"])]
    assert (accepted.status_code, refused.status_code, seen) == (200, 404, ["Use /v1", "Retry 3 times"])
    assert (collected.json(), withdrawn.json()["removed"]) == ({"proposals": []}, accepted.json()["bullets"])
