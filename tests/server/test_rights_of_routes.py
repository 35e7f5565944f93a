"""Every route against tables: what each right to a playbook allows, and what an operator may do."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from uuid import uuid4

import pytest

from ace_graph import playbooks
from ace_graph.memory.delta.operations import Add
from ace_graph.memory.sharing.right import Right
from ace_graph.server import Overrides, create_app
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import CountingStore
from tests.server.serving import Json, Served, bearer, serving, settings_for, token

BELONGS = Right.OWN + 1
"""More than a right that can be granted: only whose playbook it is."""

UNDER = "/api/playbooks/{playbook_id}"
FIRST, SECOND = "gen-00001", "gen-00002"
TABLE: dict[tuple[str, str], tuple[int, Json | None]] = {
    ("GET", ""): (Right.READ, None),
    ("GET", "/versions"): (Right.READ, None),
    ("GET", "/stats"): (Right.READ, None),
    ("GET", "/export"): (Right.READ, None),
    ("GET", "/history"): (Right.READ, None),
    ("GET", "/diff?from=0&to=1"): (Right.READ, None),
    ("GET", "/archived"): (Right.READ, None),
    ("GET", "/search?words=Use&explain=true"): (Right.READ, None),
    ("GET", "/bullets"): (Right.READ, None),
    ("GET", f"/bullets/{FIRST}"): (Right.READ, None),
    ("GET", "/proposals"): (Right.READ, None),
    ("POST", "/leave"): (Right.READ, None),
    ("POST", "/proposals"): (Right.PROPOSE, {"bullets": [FIRST]}),
    ("PUT", ""): (Right.WRITE, {"bullets": [{"content": "Use /v9"}]}),
    ("POST", "/import"): (Right.WRITE, {"text": "- Use /v9"}),
    ("POST", "/clear"): (Right.WRITE, None),
    ("POST", "/merge"): (Right.WRITE, {"ids": [FIRST, SECOND]}),
    ("POST", "/bullets"): (Right.WRITE, {"content": "Use /v9"}),
    ("PATCH", f"/bullets/{FIRST}"): (Right.WRITE, {"content": "Use /v9"}),
    ("DELETE", f"/bullets/{FIRST}"): (Right.WRITE, None),
    ("POST", f"/bullets/{FIRST}/supersede"): (Right.WRITE, {"by": SECOND}),
    ("POST", f"/bullets/{FIRST}/tag"): (Right.WRITE, {"tag": "helpful"}),
    ("POST", f"/bullets/{FIRST}/quarantine"): (Right.WRITE, {"why": "doubtful"}),
    ("POST", f"/bullets/{FIRST}/release"): (Right.WRITE, None),
    ("POST", "/proposals/x/accept"): (Right.WRITE, {}),
    ("POST", "/proposals/x/refuse"): (Right.WRITE, None),
    ("POST", "/withdraw"): (Right.WRITE, {"by": "bob"}),
    ("GET", "/grants"): (Right.OWN, None),
    ("POST", "/grants"): (Right.OWN, {"kind": "user", "name": "zoe"}),
    ("DELETE", "/grants?kind=user&name=zoe"): (Right.OWN, None),
    ("POST", "/proposals/collect"): (Right.OWN, None),
    ("PATCH", ""): (Right.OWN, {"scope": "user"}),
    ("DELETE", ""): (Right.OWN, None),
    ("POST", f"/bullets/{FIRST}/restore"): (BELONGS, None),
    ("POST", "/rollback"): (BELONGS, {"version": 1}),
    ("POST", "/rescreen"): (BELONGS, {}),
    ("POST", "/curate"): (BELONGS, {"reflections": ["x"]}),
    ("POST", "/consolidate"): (BELONGS, {}),
    ("POST", "/distinct"): (BELONGS, {"ids": [FIRST, SECOND]}),
    ("GET", "/consolidations/x"): (BELONGS, None),
    ("POST", "/consolidate/undo"): (BELONGS, {}),
}

CLOSED_TO_OPERATORS = {
    "/api/ai/chat": {"POST"},
    "/api/ai/chat/stream": {"POST"},
    "/api/ai/chat/stream/{stream_id}": {"GET"},
    "/api/conversations/{conversation_id}": {"PATCH", "DELETE"},
    "/api/feedback": {"POST"},
    UNDER: {"PATCH", "DELETE"},
    f"{UNDER}/consolidate": {"POST"},
    f"{UNDER}/consolidate/undo": {"POST"},
    f"{UNDER}/grants": {"POST", "DELETE"},
    f"{UNDER}/leave": {"POST"},
    f"{UNDER}/proposals": {"POST"},
    f"{UNDER}/proposals/collect": {"POST"},
    f"{UNDER}/proposals/{{proposal_id}}/accept": {"POST"},
    f"{UNDER}/proposals/{{proposal_id}}/refuse": {"POST"},
    f"{UNDER}/withdraw": {"POST"},
    "/api/trajectories": {"POST"},
    "/api/trajectories/reflect": {"POST"},
    "/api/trajectories/trim": {"POST"},
    "/api/trajectories/{trajectory_id}": {"DELETE"},
    "/api/trajectories/{trajectory_id}/complete": {"POST"},
    "/api/trajectories/{trajectory_id}/reflect": {"POST"},
    "/api/trajectories/{trajectory_id}/steps": {"POST"},
}

Giving = Callable[[CountingStore, str], Awaitable[object]]


async def _nothing(_store: CountingStore, _name: str) -> None: ...


def _to_user(relation: str) -> Giving:
    return lambda store, name: playbooks.grant(store, name, "user:bob", relation, owner="alice")


def _to_team(relation: str) -> Giving:
    async def give(store: CountingStore, name: str) -> None:
        await playbooks.grant(store, name, f"team:{name}", relation, owner="alice")
        await playbooks.add_to_team(store, name, ["bob"])

    return give


async def _revoked(store: CountingStore, name: str) -> None:
    await _to_user("owner")(store, name)
    await playbooks.revoke(store, name, "user:bob", owner="alice")


async def _left(store: CountingStore, name: str) -> None:
    await _to_team("owner")(store, name)
    await playbooks.remove_from_team(store, name, ["bob"])


async def _others(store: CountingStore, name: str) -> None:
    for to in ("user:bobby", "user:Bob", f"team:{name}", "team:bob"):
        await playbooks.grant(store, name, to, "owner", owner="alice")


SUBJECTS: dict[str, tuple[Right, Giving]] = {
    "stranger": (Right.NONE, _nothing),
    "revoked": (Right.NONE, _revoked),
    "left the team": (Right.NONE, _left),
    "others are granted": (Right.NONE, _others),
    "viewer": (Right.READ, _to_user("viewer")),
    "contributor": (Right.PROPOSE, _to_user("contributor")),
    "editor": (Right.WRITE, _to_user("editor")),
    "owner": (Right.OWN, _to_user("owner")),
    "viewer by a team": (Right.READ, _to_team("viewer")),
    "editor by a team": (Right.WRITE, _to_team("editor")),
}


def test_the_table_has_every_route_of_a_playbook() -> None:
    document = create_app(settings_for(model="offline")).openapi()
    named = {"/proposals/x/": "/proposals/{proposal_id}/", "/consolidations/x": "/consolidations/{run_id}"}
    listed = set[tuple[str, str]]()
    for method, path in TABLE:
        shape = path.partition("?")[0].replace(FIRST, "{bullet_id}")
        for given, name in named.items():
            shape = shape.replace(given, name)
        listed.add((method, f"{UNDER}{shape}"))
    described = {
        (method.upper(), path)
        for path, operations in document["paths"].items()
        if path.startswith(UNDER)
        for method in operations
    }
    assert listed == described


@asynccontextmanager
async def shared(giving: Giving) -> AsyncGenerator[tuple[Served, CountingStore]]:
    store = CountingStore()
    await store.seed("bob", Add(content="Retry after 429"))
    async with serving(settings_for(), Overrides(model=ScriptedModel([]), store=store)) as served:
        yield served, store


@pytest.mark.parametrize("subject", SUBJECTS)
async def test_a_route_does_what_the_right_allows(subject: str) -> None:
    held, giving = SUBJECTS[subject]
    wrong = dict[tuple[str, str], str]()
    async with shared(giving) as (served, store):
        unknown = await served.client.get(f"/api/playbooks/{uuid4()}", headers=bearer("bob"))
        absent = {**unknown.json(), "requestId": ""}
        for number, ((method, path), (needed, body)) in enumerate(TABLE.items()):
            name = f"api {number}"
            texts = ["Use /v1", "Use gzip for large bodies"]
            playbook_id = await playbooks.create(store, name, texts, owner="alice")
            await giving(store, name)
            before = (await playbooks.get_playbook(store, name, "alice")).snapshot
            reply = await served.client.request(
                method, f"/api/playbooks/{playbook_id}{path}", json=body, headers=bearer("bob")
            )
            said: Json = reply.json() if reply.status_code >= 400 else {}
            if held is Right.NONE:
                right = {**said, "requestId": ""} == absent
            elif held < needed:
                right = (reply.status_code, said["code"]) == (403, "forbidden")
            else:
                right = reply.status_code not in {401, 403, 500} and said.get("error") != absent["error"]
            if held < needed:
                after = (await playbooks.get_playbook(store, name, "alice")).snapshot
                right = right and after == before
            if not right:
                wrong[method, path] = f"{reply.status_code} {said}"
    assert wrong == {}


OPERATOR = {"Authorization": f"Bearer {token('root', staff=True)}", "X-ACE-Learner": "alice"}


async def test_an_operator_reads_all_and_changes_what_bears_a_name() -> None:
    async with serving(
        settings_for(jwt_operator_claim="staff"), Overrides(model=ScriptedModel([]), store=CountingStore())
    ) as served:
        refused = dict[str, set[str]]()
        for path, operations in served.app.openapi()["paths"].items():
            for method in sorted(operations) if path.startswith("/api/") else ():
                where = path.replace("{playbook_id}", "default").replace("{", "").replace("}", "")
                body: Json | None = None if method in {"get", "delete"} else {}
                reply = await served.client.request(method, where, json=body, headers=OPERATOR)
                assert reply.status_code != 500, (method, path, reply.text)
                if reply.status_code == 403:
                    refused.setdefault(path, set()).add(method.upper())
    assert refused == CLOSED_TO_OPERATORS


async def test_every_change_of_an_operator_names_the_operator() -> None:
    store, made = CountingStore(), dict[tuple[str, str], set[str]]()
    async with serving(
        settings_for(jwt_operator_claim="staff"), Overrides(model=ScriptedModel([]), store=store)
    ) as served:
        for number, ((method, path), (_, body)) in enumerate(TABLE.items()):
            if method == "GET":
                continue
            texts = ["Use /v1", "Use gzip for large bodies"]
            playbook_id = await playbooks.create(store, f"api {number}", texts, owner="alice")
            where = f"/api/playbooks/{playbook_id}"
            await served.client.request(method, f"{where}{path}", json=body, headers=OPERATOR)
            versions = (await served.client.get(f"{where}/versions")).json()["versions"]
            made[method, path] = {each["author"] for each in versions[:-1]}
    assert set().union(*made.values()) == {"operator:root"}
    assert sum(map(bool, made.values())) >= 10
