"""Operators: who may reach another learner's memory, what of it, and how the learner sees it."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import httpx
import pytest

from ace_graph import playbooks
from ace_graph.memory.delta import Add
from ace_graph.server import Overrides
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import CountingStore
from tests.server.serving import SECRET, Json, bearer, serving, settings_for, token
from tests.server.test_chat import model

CLAIM = "https://ace.example/operator"


def operator(learner: str, subject: str = "root", claim: object = True) -> Mapping[str, str]:
    """Return the headers of an operator who asks for this learner."""
    given = token(subject, secret=SECRET, **{CLAIM: claim})
    return {"Authorization": f"Bearer {given}", "X-ACE-Learner": learner}


async def test_without_the_claim_nobody_reaches_another_learner() -> None:
    store, replies = CountingStore(), list[httpx.Response]()
    async with serving(
        settings_for(jwt_operator_claim=CLAIM), Overrides(model=ScriptedModel([]), store=store)
    ) as served:
        for value in (None, False, "true", 1, ["true"]):
            headers = operator("alice", claim=value)
            replies += [
                await served.client.get("/api/playbook", headers=headers),
                await served.client.post("/api/playbook", json={"content": "x"}, headers=headers),
                await served.client.delete("/api/learner", headers=headers),
            ]
    assert [(reply.status_code, reply.json()["code"]) for reply in replies] == [(403, "forbidden")] * 15
    assert store.calls.loads == 0


async def test_an_operators_own_teams_open_nothing_in_a_learners_place() -> None:
    store = CountingStore()
    shared = await playbooks.create(store, "api", ["Use /v1"], owner="ada")
    await playbooks.grant(store, "api", "team:ops", "editor", owner="ada")
    path, settings = (
        f"/api/playbooks/{shared}",
        settings_for(jwt_operator_claim=CLAIM, jwt_teams_claim="groups"),
    )
    claims = {CLAIM: True, "groups": ["ops"]}
    own = {"Authorization": f"Bearer {token('root', secret=SECRET, **claims)}"}
    async with serving(settings, Overrides(model=ScriptedModel([]), store=store)) as served:
        found = list[int]()
        for headers in (own, {**own, "X-ACE-Learner": "alice"}):
            found.append((await served.client.get(path, headers=headers)).status_code)
            body = {"content": "Use /v2"}
            found.append(
                (await served.client.post(f"{path}/bullets", json=body, headers=headers)).status_code
            )
            listed = await served.client.get("/api/playbooks?which=shared", headers=headers)
            found.append(shared in listed.text)
    assert found == [200, 201, True, 404, 404, False]


async def test_without_the_setting_no_claim_makes_an_operator() -> None:
    async with serving(settings_for(), Overrides(model=ScriptedModel([]))) as served:
        reply = await served.client.get("/api/playbook", headers=operator("alice"))
        own = await served.client.get("/api/playbook", headers={"X-ACE-Learner": "alice"})
    assert (reply.status_code, own.status_code) == (403, 403)


async def test_the_learner_sees_who_changed_what(caplog: pytest.LogCaptureFixture) -> None:
    store = CountingStore()
    await store.seed("alice", Add(content="Fractions need a common denominator", ref="a"))
    settings = settings_for(jwt_operator_claim=CLAIM)
    with caplog.at_level(logging.INFO, logger="ace_graph"):
        async with serving(settings, Overrides(model=ScriptedModel([]), store=store)) as served:
            headers = {**operator("alice"), "X-Request-Id": "r-7"}
            (bullet,) = (await served.client.get("/api/playbook", headers=headers)).json()["bullets"]
            patch = {"content": "Fractions need one common denominator"}
            changed = await served.client.patch(f"/api/playbook/{bullet['id']}", json=patch, headers=headers)
            history: list[Json] = (await served.client.get("/api/playbook/history")).json()["versions"]
            export: Json = (await served.client.get("/api/learner/export")).json()
            others = (await served.client.get("/api/playbook", headers=bearer("root"))).json()["bullets"]
    assert changed.status_code == 200
    assert history[0]["author"] == "operator:root"
    assert [each["author"] for each in export["history"]["entries"]].count("operator:root") == 1
    assert export["playbook"]["bullets"][0]["content"] == patch["content"]
    assert others == [], "the operator's own memory stays as it was"
    (line,) = [each for each in caplog.messages if "action=operate" in each and "PATCH" in each]
    assert 'operator="root" learner="alice" allowed=true' in line
    assert f"/api/playbook/{bullet['id']}" in line
    assert "request=r-7" in line


async def test_an_operator_never_speaks_for_the_learner() -> None:
    store = CountingStore()
    async with serving(
        settings_for(jwt_operator_claim=CLAIM), Overrides(model=model("4"), store=store)
    ) as served:
        turn = (await served.ask("What is 2 + 2?", "lesson"))["turnId"]
        feedback = {"turnId": turn, "verdict": "bad"}
        refused = [
            await served.client.post("/api/ai/chat", json={"message": "x"}, headers=operator("alice")),
            await served.client.post("/api/ai/chat/stream", json={"message": "x"}, headers=operator("alice")),
            await served.client.get("/api/ai/chat/stream/x", headers=operator("alice")),
            await served.client.post("/api/feedback", json=feedback, headers=operator("alice")),
        ]
        read = await served.client.get("/api/conversations/lesson", headers=operator("alice"))
        (record,) = (await served.client.get("/api/trajectories")).json()["trajectories"]
    assert [reply.status_code for reply in refused] == [403] * 4
    assert "learner" in refused[0].json()["error"]
    assert len(read.json()["messages"]) == 2
    assert record["feedback"] == []


async def test_what_others_share_with_the_learner_is_out_of_reach() -> None:
    store = CountingStore()
    shared = await playbooks.create(store, "api", ["Use /v1"], owner="carol")
    await playbooks.grant(store, "api", "user:alice", "editor", owner="carol")
    own = await playbooks.create(store, "api", ["Use /v2"], owner="alice")
    settings = settings_for(jwt_operator_claim=CLAIM)
    async with serving(settings, Overrides(model=ScriptedModel([]), store=store)) as served:
        by_alice = await served.client.get(f"/api/playbooks/{shared}")
        body = {"content": "Use /v9"}
        read = await served.client.get(f"/api/playbooks/{shared}", headers=operator("alice"))
        write = await served.client.post(
            f"/api/playbooks/{shared}/bullets", json=body, headers=operator("alice")
        )
        named = await served.client.post(
            f"/api/playbooks/{own}/bullets", json=body, headers=operator("alice")
        )
    assert by_alice.status_code == 200
    assert (read.status_code, write.status_code, named.status_code) == (403, 403, 201)


async def test_the_header_holds_any_learner_id_and_only_one() -> None:
    store = CountingStore()
    name = "Ünïcödé 100% 🦦"
    await store.seed(name, Add(content="Retry after 429"))
    settings = settings_for(jwt_operator_claim=CLAIM)
    async with serving(settings, Overrides(model=ScriptedModel([]), store=store)) as served:
        escaped = "%C3%9Cn%C3%AFc%C3%B6d%C3%A9%20100%25%20%F0%9F%A6%A6"
        found = await served.client.get("/api/playbook", headers=operator(escaped))
        twice = [*operator("alice").items(), ("X-ACE-Learner", "bob")]
        ambiguous = await served.client.get("/api/playbook", headers=twice)
        empty = await served.client.get("/api/playbook", headers=operator(""))
        long = await served.client.get("/api/playbook", headers=operator("alice", "x" * 120))
    assert [bullet["content"] for bullet in found.json()["bullets"]] == ["Retry after 429"]
    assert (ambiguous.status_code, empty.status_code, long.status_code) == (422, 422, 403)


async def test_the_keys_of_an_operator_are_not_the_keys_of_the_learner() -> None:
    settings = settings_for(jwt_operator_claim=CLAIM)
    async with serving(settings, Overrides(model=ScriptedModel([]), store=CountingStore())) as served:
        key = {"Idempotency-Key": "k"}
        first = await served.client.post("/api/playbook", json={"content": "Check units"}, headers=key)
        asked = {"content": "Draw a sketch first"}
        headers = {**operator("alice"), **key}
        other = [await served.client.post("/api/playbook", json=asked, headers=headers) for _ in range(2)]
        bullets = (await served.client.get("/api/playbook")).json()["bullets"]
    assert [first.status_code, *(reply.status_code for reply in other)] == [201, 201, 201]
    assert other[0].json() == other[1].json()
    assert len(bullets) == 2


async def test_an_operator_finds_a_learner_and_nobody_else_sees_the_list(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = CountingStore()
    for name in ("Ada", "ada-2", "bob", "zoë"):
        await store.seed(name, Add(content="Retry after 429"))
    await playbooks.create(store, "api", ["Use /v1"], owner="adam")
    root = bearer("root") | {"Authorization": operator("x")["Authorization"]}
    settings = settings_for(jwt_operator_claim=CLAIM)
    found = list[list[str]]()
    async with serving(settings, Overrides(model=ScriptedModel([]), store=store)) as served:
        for query in ("", "?search=AD", "?search=Ë", "?search=nobody", "?limit=2", "?limit=2&after=ada-2"):
            with caplog.at_level(logging.INFO, logger="ace_graph"):
                reply = await served.client.get(f"/api/learners{query}", headers=root)
            assert reply.status_code == 200
            found.append([each["learnerId"] for each in reply.json()["learners"]])
        paged = (await served.client.get("/api/learners?search=ad&limit=2", headers=root)).json()
        rest = (
            await served.client.get(f"/api/learners?search=ad&after={paged['next']}", headers=root)
        ).json()
        refused = [
            await served.client.get("/api/learners", headers=headers)
            for headers in (bearer("alice"), operator("alice"), operator("alice", claim=False))
        ]
        unsigned = await served.client.get("/api/learners", headers={"Authorization": ""})
        wrong = await served.client.get("/api/learners?limit=501", headers=root)
    assert found == [
        ["Ada", "ada-2", "adam", "bob", "zoë"],
        ["Ada", "ada-2", "adam"],
        ["zoë"],
        [],
        ["Ada", "ada-2"],
        ["adam", "bob"],
    ]
    assert [each["learnerId"] for each in rest["learners"]] == ["adam"]
    assert rest["next"] is None
    assert rest["learners"][0]["version"] is None
    assert [reply.status_code for reply in refused] == [403, 403, 403]
    assert (unsigned.status_code, wrong.status_code) == (401, 422)
    assert any(
        'operator="root" learner="" allowed=true asked="GET /api/learners"' in m for m in caplog.messages
    )


async def test_without_tokens_there_is_no_operator_and_no_list() -> None:
    settings = settings_for(jwt_secret=None)
    async with serving(settings, Overrides(model=ScriptedModel([]), store=CountingStore())) as served:
        reply = await served.client.get("/api/learners")
    assert reply.status_code == 403
