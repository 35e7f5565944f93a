"""Every route against tables: what each right to a playbook allows, and what an operator may do."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import get_args
from uuid import uuid4

import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.routing import Mount

from ace_graph import playbooks
from ace_graph.hosts.mcp_server import http_app
from ace_graph.memory import Right
from ace_graph.memory.delta import Add, Reset
from ace_graph.playbooks import open_playbook
from ace_graph.server import Act, Identity, Overrides, create_app, operator_may
from ace_graph.stores import open_store
from ace_graph.testing import ScriptedModel
from ace_graph.testing.conformance import rewriting, write
from tests.consolidation.planted import PARAPHRASES, bullets
from tests.graph.conftest import CountingStore
from tests.learning.reflected_runs import add_run
from tests.mcp_server.clients import over_http
from tests.plugins.heavy import some_heavy
from tests.plugins.sizes import HEAVY
from tests.server.serving import Json, Served, bearer, listening, serving, settings_for, token

BELONGS = Right.OWN + 1
"""More than a right that can be granted: only whose playbook it is."""

UNDER = "/api/playbooks/{playbook_id}"
FIRST, SECOND = "gen-00001", "gen-00002"
TABLE: dict[tuple[str, str], tuple[int, Json | None]] = {
    ("GET", ""): (Right.READ, None),
    ("GET", "/versions"): (Right.READ, None),
    ("GET", "/changes"): (Right.READ, None),
    ("GET", "/stats"): (Right.READ, None),
    ("GET", "/audit"): (Right.READ, None),
    ("GET", "/export"): (Right.READ, None),
    ("GET", "/history"): (Right.READ, None),
    ("GET", "/diff?from=0&to=1"): (Right.READ, None),
    ("GET", "/archived"): (Right.READ, None),
    ("GET", "/search?words=Use&explain=true"): (Right.READ, None),
    ("GET", "/bullets"): (Right.READ, None),
    ("GET", f"/bullets/{FIRST}"): (Right.READ, None),
    ("GET", "/proposals"): (Right.READ, None),
    ("POST", "/leave"): (Right.READ, None),
    ("POST", "/show-use"): (Right.READ, {"shown": True}),
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
    ("GET", "/dream"): (BELONGS, None),
    ("POST", "/dream"): (Right.PROPOSE, None),
    ("POST", "/dream/accept"): (BELONGS, {}),
    ("POST", "/dream/refuse"): (BELONGS, {}),
    ("POST", "/consolidate"): (BELONGS, {}),
    ("POST", "/distinct"): (BELONGS, {"ids": [FIRST, SECOND]}),
    ("GET", "/consolidations/x"): (BELONGS, None),
    ("POST", "/consolidate/undo"): (BELONGS, {}),
}

API_ACTS: dict[tuple[str, str], Act] = {
    ("POST", "/api/ai/chat"): "converse",
    ("POST", "/api/ai/chat/stream"): "converse",
    ("GET", "/api/ai/chat/stream/{stream_id}"): "converse",
    ("PATCH", "/api/conversations/{conversation_id}"): "converse",
    ("DELETE", "/api/conversations/{conversation_id}"): "converse",
    ("POST", "/api/feedback"): "judge",
    ("POST", "/api/memories/consolidate"): "consolidate",
    ("PATCH", UNDER): "own",
    ("DELETE", UNDER): "own",
    ("POST", f"{UNDER}/consolidate"): "consolidate",
    ("POST", f"{UNDER}/dream"): "consolidate",
    ("POST", f"{UNDER}/consolidate/undo"): "consolidate",
    ("POST", f"{UNDER}/grants"): "share",
    ("DELETE", f"{UNDER}/grants"): "share",
    ("POST", f"{UNDER}/leave"): "share",
    ("POST", f"{UNDER}/show-use"): "share",
    ("POST", f"{UNDER}/proposals"): "share",
    ("POST", f"{UNDER}/proposals/collect"): "share",
    ("POST", f"{UNDER}/proposals/{{proposal_id}}/accept"): "share",
    ("POST", f"{UNDER}/proposals/{{proposal_id}}/refuse"): "share",
    ("POST", f"{UNDER}/withdraw"): "share",
    ("POST", "/api/trajectories"): "record",
    ("POST", "/api/trajectories/reflect"): "record",
    ("POST", "/api/trajectories/trim"): "record",
    ("DELETE", "/api/trajectories/{trajectory_id}"): "record",
    ("POST", "/api/trajectories/{trajectory_id}/complete"): "record",
    ("POST", "/api/trajectories/{trajectory_id}/reflect"): "record",
    ("POST", "/api/trajectories/{trajectory_id}/steps"): "record",
    ("DELETE", "/api/learner"): "forget",
}
"""What a route does with a memory; else GET reads, and the others change."""

PAGE_ACTS: dict[tuple[str, str], Act] = {
    ("POST", "/chat/temporary"): "converse",
    ("POST", "/chat/temporary/stream"): "converse",
    ("POST", "/chat/send"): "converse",
    ("POST", "/chat/stream"): "converse",
    ("POST", "/chat/{conversation_id}/rename"): "converse",
    ("POST", "/chat/{conversation_id}/delete"): "converse",
    ("POST", "/chat/{conversation_id}/feedback"): "judge",
    ("POST", "/playbooks/{playbook_id}/people"): "share",
    ("POST", "/playbooks/{playbook_id}/people/remove"): "share",
    ("POST", "/playbooks/{playbook_id}/leave"): "share",
    ("POST", "/playbooks/{playbook_id}/delete"): "own",
    ("POST", "/playbooks/{playbook_id}/propose"): "share",
    ("POST", "/privacy/learning"): "converse",
    ("POST", "/privacy/delete"): "forget",
    ("POST", "/review/dream"): "consolidate",
    ("POST", "/review/proposals"): "share",
    ("POST", "/review/playbooks/{playbook_id}/proposals/{proposal_id}"): "share",
    ("POST", "/runs/{run_id}/retry"): "record",
}

TOOL_ACTS: dict[str, tuple[Act, Json]] = {
    "remember": ("change", {"statement": "Name the unit of every number."}),
    "recall": ("read", {"question": "Which unit has every number?"}),
    "forget": ("change", {"bullet_id": "x"}),
    "feedback": ("judge", {"verdict": "success", "trajectory_id": "x"}),
    "learn": ("record", {"transcript": "User: What is 2 + 2?"}),
    "memory_search": ("read", {}),
    "playbook_list": ("read", {}),
    "playbook_show": ("read", {}),
    "playbook_search": ("read", {"words": "Use"}),
    "playbook_history": ("read", {}),
    "playbook_audit": ("read", {}),
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
    await store.seed("zoe", Add(content="Name the unit of every number"))
    settings = settings_for(consolidate_async=False, server_rate=100_000)
    async with serving(settings, Overrides(model=ScriptedModel([]), store=store)) as served:
        yield served, store


@dataclass(frozen=True)
class Place:
    """One of alice's playbooks, for one route."""

    served: Served
    store: CountingStore
    name: str
    path: str

    async def alice(self, method: str, path: str, body: Json | None = None, who: str = "alice") -> Json:
        """Do something that the route needs, over HTTP."""
        reply = await self.served.client.request(method, f"{self.path}{path}", json=body, headers=bearer(who))
        assert reply.is_success, reply.text
        return dict(reply.json()) if reply.content else {}

    async def alike(self) -> None:
        """Let its bullets say the same, which an Add would merge at once."""
        target = await open_playbook(self.store, self.name, "alice")
        await write(self.store.playbooks, target.key, rewriting(Reset(bullets=bullets(*PARAPHRASES))))


Needs = Callable[[Place], Awaitable[object]]


async def _a_proposal(place: Place) -> str:
    await place.alice("POST", "/grants", {"kind": "user", "name": "zoe", "relation": "contributor"})
    return str((await place.alice("POST", "/proposals", {"bullets": [FIRST]}, "zoe"))["proposalId"])


async def _a_reflection(place: Place) -> str:
    return await add_run(place.store, "alice", f"run of {place.name}", "Ask for ten pages at once")


async def _a_consolidation(place: Place) -> str:
    await place.alike()
    return str((await place.alice("POST", "/consolidate", {}))["runId"])


async def _a_dream(place: Place) -> None:
    await place.alike()
    assert (await place.alice("POST", "/dream"))["items"]


NEEDS: dict[tuple[str, str], Needs] = {
    ("POST", "/dream/accept"): _a_dream,
    ("POST", "/dream/refuse"): _a_dream,
    ("POST", "/merge"): lambda place: place.alike(),
    ("POST", f"/bullets/{FIRST}/release"): lambda place: place.alice(
        "POST", f"/bullets/{FIRST}/quarantine", {"why": "doubtful"}
    ),
    ("POST", f"/bullets/{FIRST}/restore"): lambda place: place.alice("DELETE", f"/bullets/{FIRST}"),
    ("POST", "/proposals/x/accept"): _a_proposal,
    ("POST", "/proposals/x/refuse"): _a_proposal,
    ("DELETE", "/grants?kind=user&name=zoe"): lambda place: place.alice(
        "POST", "/grants", {"kind": "user", "name": "zoe"}
    ),
    ("POST", "/rollback"): lambda place: place.alice("DELETE", f"/bullets/{FIRST}"),
    ("POST", "/curate"): _a_reflection,
    ("GET", "/consolidations/x"): _a_consolidation,
    ("POST", "/consolidate"): lambda place: place.alike(),
    ("POST", "/consolidate/undo"): _a_consolidation,
}
"""What must be there for a route to succeed; a text that comes back is the id in place of `x`."""

OF_OTHERS = {("POST", "/leave"), ("POST", "/show-use"), ("POST", "/proposals")}
"""What can't be done with a playbook of one's own."""


HIDDEN = {("POST", f"/bullets/{FIRST}/release")}
"""What is about bullets in quarantine, which nobody but whose playbook it is sees."""


async def _ready(place: Place, route: tuple[str, str], body: Json | None) -> tuple[str, Json | None]:
    """Make a route able to succeed; return its path and body."""
    made = await NEEDS[route](place) if route in NEEDS else None
    path = route[1].replace("/x", f"/{made}") if isinstance(made, str) else route[1]
    return f"{place.path}{path}", {"reflections": [made]} if path == "/curate" else body


async def _place(served: Served, store: CountingStore, number: int) -> Place:
    name = f"api {number}"
    texts = ["Use /v1", "Use gzip for large bodies"]
    playbook_id = await playbooks.create(store, name, texts, owner="alice")
    return Place(served, store, name, f"/api/playbooks/{playbook_id}")


async def sent(
    served: Served, method: str, path: str, body: Json | None, headers: Mapping[str, str]
) -> httpx.Response:
    """Send a request and read the reply; of a stream, which has no end, its head alone."""
    async with served.client.stream(method, path, json=body, headers=headers) as reply:
        if not reply.headers.get("content-type", "").startswith("text/event-stream"):
            await reply.aread()
        return reply


@pytest.mark.parametrize(
    "subject", some_heavy(SUBJECTS, {"stranger", "viewer", "contributor", "editor", "owner"}.__contains__)
)
async def test_a_route_does_what_the_right_allows(subject: str) -> None:
    """What is allowed succeeds; what is not changes nothing."""
    held, giving = SUBJECTS[subject]
    wrong = dict[tuple[str, str], str]()
    async with shared(giving) as (served, store):
        unknown = await served.client.get(f"/api/playbooks/{uuid4()}", headers=bearer("bob"))
        absent = {**unknown.json(), "requestId": ""}
        for number, (route, (needed, given)) in enumerate(TABLE.items()):
            if not (HEAVY or held is Right.NONE or needed in (held, held + 1) or route in HIDDEN):
                continue  # neither the greatest that is allowed nor the least that is not
            place = await _place(served, store, number)
            await giving(store, place.name)
            path, body = await _ready(place, route, given)
            before = (await playbooks.get_playbook(store, place.name, "alice")).snapshot
            reply = await sent(served, route[0], path, body, bearer("bob"))
            said: Json = reply.json() if reply.status_code >= 400 else {}
            if held is Right.NONE:
                right = {**said, "requestId": ""} == absent
            elif held < needed:
                right = (reply.status_code, said["code"]) == (403, "forbidden")
            elif route in HIDDEN:
                right = (reply.status_code, said["error"]) == (
                    404,
                    "there is no such bullet in your playbook",
                )
            else:
                right = reply.is_success
            if held < needed or route in HIDDEN:
                after = (await playbooks.get_playbook(store, place.name, "alice")).snapshot
                right = right and after == before
            if not right:
                wrong[route] = f"{reply.status_code} {said}"
    assert wrong == {}


async def test_whose_playbook_it_is_may_do_all_of_it() -> None:
    async with shared(_nothing) as (served, store):
        for number, (route, (_, given)) in enumerate(TABLE.items()):
            if route not in OF_OTHERS:
                path, body = await _ready(await _place(served, store, number), route, given)
                reply = await sent(served, route[0], path, body, bearer("alice"))
                assert reply.is_success, route


OPERATOR = {"Authorization": f"Bearer {token('root', staff=True)}", "X-ACE-Learner": "alice"}


def test_an_operator_helps_and_does_nothing_in_the_learners_name() -> None:
    acts: tuple[Act, ...] = get_args(Act)
    assert {act for act in acts if operator_may(act)} == {"read", "change", "forget"}
    learner, operator = Identity("alice"), Identity("alice", operator="root")
    assert all(learner.may(act) for act in acts)
    assert all(operator.may(act) == operator_may(act) for act in acts)


def changing(routes: Sequence[object], under: str) -> set[tuple[str, str]]:
    """Return method and path of each route that is about one learner's memory."""
    return {
        (method, each.path)
        for each in routes
        if isinstance(each, APIRoute) and each.path.startswith(under)
        for method in (each.methods or set()) - {"HEAD"}
        if not each.path.startswith(("/static/", "/log", "/look"))
        and each.path not in {"/", "/learner", "/api/learners"}
    }


def mounted(app: FastAPI) -> FastAPI:
    [page] = [each for each in app.routes if isinstance(each, Mount) and each.path == "/page"]
    assert isinstance(page.app, FastAPI)
    return page.app


async def test_every_route_of_api_and_page_asks_what_an_operator_may() -> None:
    store = CountingStore()
    settings = settings_for(jwt_operator_claim="staff", server_rate=100_000)
    wrong = dict[tuple[str, str], int]()
    async with serving(settings, Overrides(model=ScriptedModel([]), store=store)) as served:
        url = str(served.client.base_url).rstrip("/")
        cookie = f"ace_session={token('root', staff=True)}; ace_learner=alice"
        walks: tuple[tuple[FastAPI, str, str, Mapping[tuple[str, str], Act], dict[str, str]], ...] = (
            (served.app, "", "/api/", API_ACTS, OPERATOR),
            (mounted(served.app), "/page", "/", PAGE_ACTS, {"cookie": cookie, "origin": url}),
        )
        for app, prefix, under, acts, headers in walks:
            routes = changing(app.routes, under)
            assert acts.keys() <= routes
            # The learner goes last: nothing is left then.
            for method, path in sorted(routes, key=lambda each: (each[1] == "/api/learner", each)):
                act = acts.get((method, path), "read" if method == "GET" else "change")
                where = path.replace("{playbook_id}", "default").replace("{action}", "pin")
                where = where.replace("{", "").replace("}", "")
                reply = await sent(served, method, f"{prefix}{where}", None, headers)
                if (reply.status_code == 403) == operator_may(act) or reply.status_code in (401, 500):
                    wrong[method, path] = reply.status_code
    assert wrong == {}


async def test_every_tool_asks_what_an_operator_may(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, jwt_operator_claim="staff", learning="background")
    async with (
        http_app(settings) as app,
        listening(app, lifespan="off") as (_, url),
        over_http(f"{url}/mcp", OPERATOR) as root,
    ):
        session = root.session
        offered = {tool.name for tool in (await session.list_tools()).tools}
        assert offered == TOOL_ACTS.keys()
        for name, (act, arguments) in TOOL_ACTS.items():
            result = await session.call_tool(name, arguments)
            assert ("only the learner" in str(result.content)) != operator_may(act), name
            assert name != "recall" or "Name the unit" in str(result.content)
    async with open_store(settings=settings) as store:
        kept = await store.history("alice")
        assert {entry.author for entry in kept.entries} == {"operator:root"}
        assert await store.turns("alice", 10) == ()
        assert (await store.history("root")).entries == ()


async def test_an_operator_neither_shares_for_the_learner_nor_sees_what_is_shared_with_them(
    tmp_path: Path,
) -> None:
    settings = settings_for(tmp_path, jwt_operator_claim="staff")
    async with open_store(settings=settings) as store:
        await playbooks.create(store, "recipes", ["Use /v1"], owner="carol")
        await playbooks.grant(store, "recipes", "user:alice", "editor", owner="carol")
    made = {"name": "open", "scope": "tenant", "visibility": "shared"}
    async with serving(settings, Overrides(model=ScriptedModel([]))) as served:
        api = served.client
        shared = await api.post("/api/playbooks", json=made, headers=OPERATOR)
        private = await api.post("/api/playbooks", json={"name": "mine"}, headers=OPERATOR)
        listed = await api.get("/api/playbooks", params={"which": "shared"}, headers=OPERATOR)
        own = await api.get("/api/playbooks", headers=OPERATOR)
        cookie = f"ace_session={token('root', staff=True)}; ace_learner=alice"
        page = await served.client.get("/page/playbooks", headers={"cookie": cookie})
        alices = await served.client.get(
            "/page/playbooks", headers={"cookie": f"ace_session={token('alice')}"}
        )
    async with (
        http_app(settings) as app,
        listening(app, lifespan="off") as (_, url),
        over_http(f"{url}/mcp", OPERATOR) as root,
    ):
        session = root.session
        names = (await session.call_tool("playbook_list", {})).structured_content
        more = await session.call_tool("playbook_list", {"cursor": "shared:"})
        resources = (await session.list_resources()).resources
        opened = await session.call_tool("playbook_show", {"playbook": "carol/recipes"})
    assert (shared.status_code, private.status_code, listed.status_code) == (403, 201, 403)
    assert [each["name"] for each in own.json()["playbooks"]] == ["mine"]
    assert ("recipes" in page.text, "recipes" in alices.text) == (False, True)
    assert names is not None
    assert (names["next_cursor"], [each["name"] for each in names["playbooks"]]) == (None, ["mine"])
    assert [str(each.uri) for each in resources] == ["playbook:///mine"]
    assert (more.is_error, opened.is_error) == (True, True)


async def test_an_operator_decides_no_proposal_on_the_page() -> None:
    store = CountingStore()
    playbook_id = await playbooks.create(store, "recipes", ["Use /v1"], owner="alice")
    await playbooks.grant(store, "recipes", "user:bob", "contributor", owner="alice")
    await store.seed("bob", Add(content="Retry after 429", ref="b"))
    settings = settings_for(jwt_operator_claim="staff")
    async with serving(settings, Overrides(model=ScriptedModel([]), store=store)) as served:
        found: Json = (await served.client.get("/api/playbook", headers=bearer("bob"))).json()
        body = {"bullets": [found["bullets"][0]["id"]]}
        where = f"/api/playbooks/{playbook_id}/proposals"
        made = await served.client.post(where, json=body, headers=bearer("bob"))
        assert made.status_code == 201, made.text
        form = {"decision": "approve"}
        url = str(served.client.base_url).rstrip("/")
        cookie = f"ace_session={token('root', staff=True)}; ace_learner=alice"
        decided = await served.client.post(
            f"/page/review/playbooks/{playbook_id}/proposals/{made.json()['proposalId']}",
            data=form,
            headers={"cookie": cookie, "origin": url},
        )
        waiting: Json = (await served.client.get(where)).json()
    assert decided.status_code == 403
    assert [each["state"] for each in waiting["proposals"]] == ["pending"]


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
