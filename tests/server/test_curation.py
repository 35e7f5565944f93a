"""A learner curates their own playbook over HTTP: bring back, merge, replace, vote, go back."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from httpx import Response

from ace_graph.memory.delta import Add
from ace_graph.server import Overrides
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import CountingStore
from tests.server.serving import Json, Served, bearer, serving, settings_for

ONE, TWO, THREE = "gen-00001", "gen-00002", "gen-00003"


@asynccontextmanager
async def three() -> AsyncGenerator[Served]:
    """Alice has three lessons; the first two say the same about other topics."""
    store = CountingStore()
    for topic, text in (
        ("a", "Draw a bar for every fraction"),
        ("b", "Always draw a bar for every fraction."),
        (None, "Never draw a bar for a decimal"),
    ):
        await store.seed("alice", Add(content=text, topic=topic))
    async with serving(settings_for(), Overrides(model=ScriptedModel([]), store=store)) as served:
        yield served


async def post(served: Served, path: str, body: Json | None = None, learner: str = "alice") -> Response:
    return await served.client.post(f"/api/playbook/{path}", json=body, headers=bearer(learner))


async def bullets(served: Served) -> list[Json]:
    return (await served.client.get("/api/playbook")).json()["bullets"]


async def test_a_removed_bullet_comes_back_as_it_was() -> None:
    async with three() as served:
        before = await bullets(served)
        await served.client.delete(f"/api/playbook/{TWO}")
        foreign = await post(served, f"{TWO}/restore", learner="mallory")
        back = await post(served, f"{TWO}/restore")
        again, unknown = await post(served, f"{TWO}/restore"), await post(served, "gen-00099/restore")
        assert await bullets(served) == before
    assert (back.status_code, back.json()["restored"]) == (200, [TWO])
    assert [foreign.status_code, again.status_code, unknown.status_code] == [404, 409, 404]


async def test_a_rollback_goes_back_to_a_version() -> None:
    async with three() as served:
        before = await bullets(served)
        await post(served, f"{ONE}/tag", {"tag": "helpful"})
        await served.client.delete(f"/api/playbook/{TWO}")
        back = await post(served, "rollback", {"version": 3})
        same = await post(served, "rollback", {"version": back.json()["version"]})
        unknown, odd = await post(served, "rollback", {"version": 99}), await post(served, "rollback", {})
        assert await bullets(served) == before
    assert (back.json()["restored"], back.json()["updated"]) == ([TWO], [ONE])
    assert [same.status_code, unknown.status_code, odd.status_code] == [409, 404, 422]


async def test_only_equal_claims_are_merged() -> None:
    async with three() as served:
        rivals = await post(served, "merge", {"ids": [ONE, THREE]})
        forced = await post(served, "merge", {"ids": [ONE, THREE], "force": True})
        topics = await post(served, "merge", {"ids": [ONE, TWO]})
        assert len(await bullets(served)) == 3
        text = {"content": "Draw a bar for every fraction!"}
        await served.client.patch(f"/api/playbook/{THREE}", json=text)
        merged = await post(served, "merge", {"ids": [ONE, THREE]})
    assert [rivals.status_code, forced.status_code, topics.status_code] == [409, 422, 409]
    assert "don't say the same" in rivals.json()["error"]
    assert merged.json()["merged"] == [{"kept": THREE, "gone": ONE}]


async def test_a_bullet_is_superseded_by_one_that_is_there() -> None:
    async with three() as served:
        unknown = await post(served, f"{ONE}/supersede", {"by": "gen-00099"})
        done = await post(served, f"{ONE}/supersede", {"by": TWO})
        late = await post(served, f"{ONE}/tag", {"tag": "helpful"})
    assert (unknown.status_code, late.status_code) == (404, 409)
    assert done.json()["superseded"] == [{"kept": TWO, "gone": ONE}]


async def test_votes_archive_a_bullet_that_only_harms() -> None:
    async with three() as served:
        votes = [await post(served, f"{THREE}/tag", {"tag": "harmful"}) for _ in range(3)]
        odd = await post(served, f"{ONE}/tag", {"tag": "great"})
        left = [b["id"] for b in await bullets(served)]
    assert [vote.json()["removed"] for vote in votes] == [[], [], [THREE]]
    assert (left, odd.status_code) == ([ONE, TWO], 422)


async def test_bullets_are_listed_by_kind_with_the_confidence_in_each() -> None:
    async with three() as served:
        both = await served.client.get("/api/playbook", params={"kind": ["fact", "strategy"]})
        assert [b["kind"] for b in both.json()["bullets"]] == ["strategy", "strategy", "strategy"]
        assert (await served.client.get("/api/playbook", params={"kind": "fact"})).json()["bullets"] == []
        await post(served, f"{TWO}/tag", {"tag": "helpful"})
        sure = {b["id"]: b["confidence"] for b in await bullets(served)}
        assert sure[TWO] == 0.6667
        assert {value for name, value in sure.items() if name != TWO} == {0.5}
        worth = both.json()
        assert (worth["effectiveness"]["usageCount"], worth["metadata"]["consolidationCount"]) == (0, 0)
        unknown = await served.client.get("/api/playbook", params={"kind": "banana"})
        assert (unknown.status_code, "consolidated" in unknown.text) == (422, True)
