"""A learner's own programs record their work over HTTP: begin, log, complete, judge, delete."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from httpx import Response

from ace_graph.server import Overrides
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import CountingStore
from tests.server.serving import Json, Served, bearer, serving, settings_for

PATH = "/api/trajectories"


@asynccontextmanager
async def served_store() -> AsyncGenerator[tuple[Served, CountingStore]]:
    store = CountingStore()
    settings = settings_for(server_worker=False)
    async with serving(settings, Overrides(model=ScriptedModel([]), store=store)) as served:
        yield served, store


async def post(served: Served, path: str, body: Json | None = None, **headers: str) -> Response:
    return await served.client.post(PATH + path, json=body, headers=headers)


async def begun(served: Served, **more: object) -> str:
    made = await post(served, "", {"task": "Fetch the invoices", "agent": "crawler", **more})
    assert made.status_code == 201, made.text
    return made.json()["trajectoryId"]


async def test_work_is_recorded_step_by_step_and_completed_once() -> None:
    async with served_store() as (served, _):
        name = await begun(served, taskType="fetch")
        step = {"kind": "action", "text": "GET /invoices", "metadata": {"page": 1}}
        first = await post(served, f"/{name}/steps", step)
        body = {"status": "failure", "error": "429", "score": 0.25}
        done = await post(served, f"/{name}/complete", body)
        again = await post(served, f"/{name}/complete", {"status": "success"})
        late = await post(served, f"/{name}/steps", step)
        found = (await served.client.get(f"{PATH}/{name}")).json()
        listed = (await served.client.get(PATH, params={"failed": True})).json()["trajectories"]
        none = (await served.client.get(PATH, params={"status": "success"})).json()["trajectories"]
    assert first.json() == {"trajectoryId": name, "steps": 1}
    assert (done.status_code, done.json()["pending"] is None) == (200, False)
    assert [(each.status_code, each.json()["code"]) for each in (again, late)] == [(409, "closed")] * 2
    assert (found["task"], found["agent"], found["taskType"], found["error"]) == (
        "Fetch the invoices",
        "crawler",
        "fetch",
        "429",
    )
    assert (found["steps"][0]["text"], found["effectiveScore"]) == ("GET /invoices", 0.25)
    assert (found["learning"], found["pendingId"]) == ("pending", done.json()["pending"])
    assert ([each["turnId"] for each in listed], none) == ([name], [])


async def test_tokens_and_cost_are_given_with_the_outcome() -> None:
    async with served_store() as (served, _):
        name = await begun(served)
        spent = {"inputTokens": 1200, "outputTokens": 300, "cost": 0.03, "durationMs": 2340, "model": "m"}
        for wrong in ({"cost": -1}, {"inputTokens": "9"}, {"metrics": {"tokens": "many"}}):
            refused = await post(served, f"/{name}/complete", {"status": "success", **wrong})
            assert refused.status_code in (409, 422)
        await post(served, f"/{name}/complete", {"status": "success", **spent})
        found = (await served.client.get(f"{PATH}/{name}")).json()
    assert {key: found[key] for key in spent} == spent


async def test_the_same_key_records_once() -> None:
    async with served_store() as (served, _):
        key = {"Idempotency-Key": "k"}
        names = {(await post(served, "", {"task": "x"}, **key)).json()["trajectoryId"] for _ in range(2)}
        (name,) = names
        step = {"kind": "decision", "text": "try again"}
        counts = [(await post(served, f"/{name}/steps", step, **key)).json()["steps"] for _ in range(2)]
        await post(served, f"/{name}/complete", {"status": "success"})
        vote = {"turnId": name, "verdict": "bad"}
        votes = [await served.client.post("/api/feedback", json=vote, headers=key) for _ in range(2)]
        found = (await served.client.get(f"{PATH}/{name}")).json()
    assert counts == [1, 1]
    assert [each.status_code for each in votes] == [200, 200]
    assert len(found["feedback"]) == 1


async def test_a_trajectory_is_reflected_on_again_and_deleted() -> None:
    async with served_store() as (served, store):
        name = await begun(served)
        part = await begun(served, parentId=name)
        open_ = await post(served, f"/{name}/reflect")
        await post(served, f"/{name}/complete", {"status": "success", "learn": False})
        queued = await post(served, f"/{name}/reflect")
        waiting = await post(served, f"/{name}/reflect")
        items = await store.list_pending("alice")
        trimmed = await post(served, "/trim", {"days": 0})
        gone = await served.client.delete(f"{PATH}/{name}")
        again = await served.client.get(f"{PATH}/{name}")
        orphan = (await served.client.get(f"{PATH}/{part}")).json()
    assert (open_.status_code, queued.status_code) == (409, 202)
    assert [item.pending_id for item in items] == [queued.json()["pending"]]
    assert waiting.json() == queued.json()
    assert trimmed.json() == {"trimmed": [], "unreflected": []}
    assert (gone.status_code, again.status_code, orphan["parentId"]) == (204, 404, None)


async def test_another_learners_trajectory_is_as_unknown_as_none() -> None:
    async with served_store() as (served, _):
        name = await begun(served)
        told: set[tuple[int, str]] = set()
        for each in (name, "nowhere"):
            for method, path, body in (
                ("GET", f"/{each}", None),
                ("DELETE", f"/{each}", None),
                ("POST", f"/{each}/steps", {"kind": "action", "text": "x"}),
                ("POST", f"/{each}/complete", {"status": "success"}),
                ("POST", f"/{each}/reflect", None),
                ("POST", "", {"task": "x", "parentId": each}),
            ):
                found = await served.client.request(method, PATH + path, json=body, headers=bearer("mallory"))
                told.add((found.status_code, found.json()["error"]))
        kept = (await served.client.get(f"{PATH}/{name}")).json()
    assert told == {(404, "there is no such turn of yours")}
    assert (kept["status"], kept["steps"]) == ("in_progress", [])
