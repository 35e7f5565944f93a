"""An `Idempotency-Key` gets the first reply again, and `If-Match` guards every change of a playbook."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from httpx import Response

from ace_graph import playbooks
from ace_graph.memory.delta import Add, Reset
from ace_graph.server import Overrides
from ace_graph.testing import ScriptedModel
from tests.consolidation.planted import OTHERS, PARAPHRASES, bullets
from tests.graph.conftest import CountingStore
from tests.learning.reflected_runs import add_runs
from tests.server.serving import HandClock, Json, Served, bearer, serving, settings_for


class Place:
    """A server; a playbook of alice with bullets that say the same, and a proposal of bob to it."""

    def __init__(self, served: Served, store: CountingStore, clock: HandClock) -> None:
        self.served, self.store, self.clock = served, store, clock
        self.playbook_id = self.proposal = self.bobs = self.trajectory = ""
        self.reflections = list[str]()

    async def send(
        self, method: str, path: str, body: Json | None = None, who: str = "alice", **headers: str
    ) -> Response:
        where = f"/api/playbooks/{self.playbook_id}{path}" if not path.startswith("/api/") else path
        return await self.served.client.request(method, where, json=body, headers=bearer(who) | headers)

    async def version(self) -> str:
        return (await self.send("GET", "")).headers["ETag"]


@asynccontextmanager
async def place() -> AsyncGenerator[Place]:
    store, clock = CountingStore(), HandClock()
    overrides = Overrides(model=ScriptedModel([]), store=store)
    settings = settings_for(learning="background", consolidate_async=False)
    async with serving(settings, overrides, clock) as served:
        at = Place(served, store, clock)
        at.playbook_id = await playbooks.create(store, "api", owner="alice")
        base = await store.playbooks.load(at.playbook_id)
        planted = playbooks.Change(now=clock.now()).delta(Reset(bullets=bullets(*PARAPHRASES, *OTHERS)))
        await store.playbooks.commit(at.playbook_id, planted, base)
        await playbooks.grant(store, "api", "user:bob", "contributor", owner="alice")
        await store.seed("bob", Add(content="Cache the token for an hour", ref="a"))
        (bullet,) = (await store.load("bob")).playbook.bullets()
        made = await at.send("POST", "/proposals", {"bullets": [bullet.id]}, "bob")
        at.bobs, at.proposal = bullet.id, made.json()["proposalId"]
        at.reflections = await add_runs(store, "alice", ["Send a user agent"] * 2)
        at.trajectory = (await store.turns("alice"))[0].turn_id
        yield at


Asking = Callable[[Place], tuple[str, str, Json | None]]
CHANGES: dict[str, Asking] = {
    "accept": lambda at: ("POST", f"/proposals/{at.proposal}/accept", {}),
    "curate": lambda at: ("POST", "/curate", {"reflections": at.reflections}),
    "consolidate": lambda _: ("POST", "/consolidate", {}),
    "replace": lambda _: ("PUT", "", {"bullets": [{"content": "Use /v9"}]}),
}
OTHER_CHANGES: dict[str, Asking] = {
    "refuse": lambda at: ("POST", f"/proposals/{at.proposal}/refuse", None),
    "grant": lambda _: ("POST", "/grants", {"kind": "user", "name": "zoe"}),
    "revoke": lambda _: ("DELETE", "/grants?kind=user&name=bob", None),
    "collect": lambda _: ("POST", "/proposals/collect", None),
    "reflect": lambda at: ("POST", f"/api/trajectories/{at.trajectory}/reflect", None),
    "reflect on many": lambda _: ("POST", "/api/trajectories/reflect", {"minTrajectories": 2}),
}
UNDOING: dict[str, Asking] = {
    "undo": lambda _: ("POST", "/consolidate/undo", {}),
    "withdraw": lambda _: ("POST", "/withdraw", {"by": "bob"}),
}


async def prepared(at: Place, name: str) -> None:
    """Make something to undo, twice, so that doing it twice would be seen."""
    if name == "undo":
        await at.send("POST", "/consolidate", {})
    if name == "withdraw":
        await at.send("POST", f"/proposals/{at.proposal}/accept", {})


async def later(at: Place) -> None:
    """What comes between a request and its repetition."""
    await at.send("POST", "/bullets", {"content": "Stop after three failures"})


@pytest.mark.parametrize("name", [*CHANGES, *UNDOING])
async def test_a_stale_change_is_412_and_changes_nothing(name: str) -> None:
    async with place() as at:
        await prepared(at, name)
        stale, present = '"of-long-ago"', await at.version()
        method, path, body = (CHANGES | UNDOING)[name](at)
        refused = await at.send(method, path, body, **{"If-Match": stale})
        after = await at.version()
        done = await at.send(method, path, body, **{"If-Match": present})
        changed = await at.version()
    assert (refused.status_code, refused.json()["code"], after) == (412, "changed", present)
    assert done.status_code == 200, done.text
    assert changed != present


@pytest.mark.parametrize("name", ["accept", "curate", "consolidate"])
async def test_the_etag_is_compared_in_the_commit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody is faster between the first look at the playbook and the commit."""
    async with place() as at:
        present, namespace = await at.version(), type(at.store.playbooks)
        commit: Callable[..., Awaitable[object]] = namespace.commit
        faster = list[str]()

        async def second(store: Any, key: str, *more: Any, **given: Any) -> object:  # those of a commit
            if not faster:
                faster.append(key)
                await later(at)
            return await commit(store, key, *more, **given)

        monkeypatch.setattr(namespace, "commit", second)
        method, path, body = CHANGES[name](at)
        late = await at.send(method, path, body, **{"If-Match": present})
        texts = {each["content"] for each in (await at.send("GET", "")).json()["bullets"]}
        waiting = (await at.send("GET", "/proposals")).json()["proposals"]
    assert (late.status_code, faster) == (412, [at.playbook_id])
    assert texts == {*PARAPHRASES, *OTHERS, "Stop after three failures"}
    assert [each["proposalId"] for each in waiting] == [at.proposal]


@pytest.mark.parametrize("name", [*CHANGES, *OTHER_CHANGES, *UNDOING])
async def test_a_repetition_gets_the_first_reply_and_does_nothing(name: str) -> None:
    async with place() as at:
        await prepared(at, name)
        method, path, body = (CHANGES | OTHER_CHANGES | UNDOING)[name](at)
        first = await at.send(method, path, body, **{"Idempotency-Key": "k"})
        await later(at)
        before = await at.version()
        again = await at.send(method, path, body, **{"Idempotency-Key": "k"})
        after = await at.version()
    assert first.status_code < 300, first.text
    assert (again.status_code, again.text, after) == (first.status_code, first.text, before)
    assert again.headers.get("ETag") == first.headers.get("ETag")


async def test_a_proposal_is_made_once_under_a_key() -> None:
    async with place() as at:
        await at.send("POST", f"/proposals/{at.proposal}/refuse")
        key, body = {"Idempotency-Key": "k"}, {"bullets": [at.bobs]}
        first = await at.send("POST", "/proposals", body, "bob", **key)
        await at.send("POST", f"/proposals/{first.json()['proposalId']}/refuse")
        again = await at.send("POST", "/proposals", body, "bob", **key)
        waiting = (await at.send("GET", "/proposals")).json()["proposals"]
    assert (first.status_code, again.status_code, again.text) == (201, 201, first.text)
    assert waiting == []


async def test_who_may_read_no_more_gets_no_first_reply() -> None:
    async with place() as at:
        key, body = {"Idempotency-Key": "k"}, {"bullets": [at.bobs]}
        first = await at.send("POST", "/proposals", body, "bob", **key)
        await at.send("DELETE", "/grants?kind=user&name=bob")
        again = await at.send("POST", "/proposals", body, "bob", **key)
    assert (first.status_code, again.status_code) == (201, 404)


async def test_a_refused_request_can_be_made_again_under_its_key() -> None:
    async with place() as at:
        key, body = {"Idempotency-Key": "k"}, {"bullets": [{"content": "Use /v9"}]}
        refused = await at.send("PUT", "", body, **key, **{"If-Match": '"old"'})
        done = await at.send("PUT", "", body, **key)
        other = await at.send("POST", "/curate", {"reflections": ["x"]}, **key)
    assert (refused.status_code, done.status_code) == (412, 200)
    assert (other.status_code, other.json()["code"]) == (409, "key_used")


async def test_a_first_reply_is_kept_for_a_day_and_known_to_any_server(tmp_path: Path) -> None:
    clock, body, key = HandClock(), {"content": "Use /v1"}, {"Idempotency-Key": "k"}

    async def added(*others: str) -> Json:
        async with serving(settings_for(tmp_path), Overrides(model=ScriptedModel([])), clock) as served:
            reply = await served.client.post("/api/playbook", json=body, headers=key)
            for text in others:
                await served.client.post("/api/playbook", json={"content": text})
            return reply.json()

    first = await added("Retry after 429")
    again = await added()
    clock.move(90_000)
    late = await added()
    assert (first["version"], again, late) == (1, first, {**first, "version": 2})


OF_A_BULLET: dict[str, Callable[[str], tuple[str, str, Json | None]]] = {
    "remove": lambda name: ("DELETE", f"/bullets/{name}", None),
    "edit": lambda name: ("PATCH", f"/bullets/{name}", {"content": "Use /v9"}),
    "pin": lambda name: ("PATCH", f"/bullets/{name}", {"pinned": True}),
    "quarantine": lambda name: ("POST", f"/bullets/{name}/quarantine", {"why": "old"}),
    "replace": lambda _: ("PUT", "", {"bullets": [{"content": "Use /v9"}]}),
    "import": lambda _: ("POST", "/import", {"text": "- Use /v9", "format": "text"}),
    "go back": lambda _: ("POST", "/rollback", {"version": 1}),
    "clear": lambda _: ("POST", "/clear", None),
}


@pytest.mark.parametrize("name", OF_A_BULLET)
async def test_a_change_whose_reply_is_gone_is_known_by_its_op_id(name: str) -> None:
    """A day later nothing but the commit says that it was made, and the ETag is that of long ago."""
    async with place() as at:
        bullets = (await at.send("GET", "")).json()["bullets"]
        method, path, body = OF_A_BULLET[name](bullets[0]["id"])
        headers = {"Idempotency-Key": "k", "If-Match": await at.version()}
        first = await at.send(method, path, body, **headers)
        await later(at)
        before = await at.version()
        at.clock.move(90_000)
        again = await at.send(method, path, body, **headers)
        after = await at.version()
        fresh = await at.send(method, path, body, **{**headers, "Idempotency-Key": "other"})
    assert (first.status_code, again.status_code, after) == (200, 200, before), again.text
    assert again.json() | {"version": 0, "label": ""} == first.json() | {"version": 0, "label": ""}
    assert fresh.status_code == 412


async def test_a_forgotten_learner_leaves_no_reply(tmp_path: Path) -> None:
    async with serving(settings_for(tmp_path), Overrides(model=ScriptedModel([]))) as served:
        body, key = {"content": "plughword"}, {"Idempotency-Key": "k"}
        await served.client.post("/api/playbook", json=body, headers=key)
        await served.client.delete("/api/learner")
        again = await served.client.post("/api/playbook", json=body, headers=key)
    assert (again.status_code, again.json()["version"]) == (201, 1)
