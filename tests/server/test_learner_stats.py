"""The learner's figures over HTTP, from real turns: periods, tokens, cost, what waits and what is dead."""

from __future__ import annotations

import pytest

from ace_graph.base import read_prices
from ace_graph.learning import trajectories as figures
from ace_graph.server import Overrides
from tests.graph.conftest import CountingStore
from tests.server.serving import HandClock, Json, Served, bearer, serving, settings_for
from tests.server.test_chat import model

DAY = 86_400.0


async def get(served: Served, learner: str = "alice", **params: str | int) -> Json:
    reply = await served.client.get("/api/learner/stats", params=params, headers=bearer(learner))
    assert reply.status_code == 200, reply.text
    return reply.json()


async def test_the_turns_of_each_day_with_what_waits_and_is_dead() -> None:
    store, clock = CountingStore(), HandClock()
    settings = settings_for(
        learning="background", server_worker=False, prices=read_prices("ScriptedModel=1000000/0")
    )
    async with serving(settings, Overrides(model=model("a", "b", "c"), store=store), clock) as served:
        before = await get(served)
        for days in (0, 3, 0.1):
            clock.move(days * DAY)
            await served.ask("What is 1/2 + 1/3?", "a")
        item = await store.claim("w", clock.now(), 60)
        assert item is not None
        assert await store.fail(item, "it failed", None)
        listed = {
            state: (await served.client.get("/api/trajectories", params={"learning": state})).json()
            for state in ("pending", "dead")
        }
        daily, weekly, recent = await get(served), await get(served, per="week"), await get(served, days=1)
        other = await get(served, "bob")
        wrong = await served.client.get("/api/learner/stats", params={"per": "month"})
    assert before == other == {"lift": None, "periods": [], "complete": True, "pending": 0, "dead": 0}
    assert [(each["start"], each["turns"]) for each in daily["periods"]] == [
        ("2026-01-01", 1),
        ("2026-01-04", 2),
    ]
    assert [(each["start"], each["turns"]) for each in weekly["periods"]] == [("2025-12-29", 3)]
    assert [each["start"] for each in recent["periods"]] == ["2026-01-04"]
    assert all(each["inputTokens"] > 0 and each["outputTokens"] > 0 for each in daily["periods"])
    (week,) = weekly["periods"]
    records = await store.turns("alice")
    found = {state: [each["turnId"] for each in body["trajectories"]] for state, body in listed.items()}
    newest_first = [turn.turn_id for turn in records]
    assert found == {"pending": newest_first[:2], "dead": newest_first[2:]}
    assert week["inputTokens"] == sum(turn.input_tokens for turn in records)
    assert (week["cost"], week["unpriced"]) == (week["inputTokens"], 0), "one a token, as the setting says"
    assert (week["lift"], week["liftSoFar"]) == (None, None)
    assert (daily["pending"], daily["dead"], wrong.status_code) == (2, 1, 422)


async def test_more_turns_than_are_read_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "MAX_TURNS", 2)
    clock = HandClock()
    async with serving(
        settings_for(), Overrides(model=model("a", "b", "c"), store=CountingStore()), clock
    ) as served:
        for name in "abc":
            await served.ask("What is 1/2 + 1/3?", name)
        found = await get(served)
    assert (found["complete"], [each["turns"] for each in found["periods"]]) == (False, [2])
