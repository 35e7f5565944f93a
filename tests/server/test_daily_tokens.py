"""ACE_DAILY_TOKENS: what a learner costs in a day is counted, and beyond it 429 says when it goes on."""

from __future__ import annotations

from pathlib import Path

import httpx

from ace_graph.memory import TrajectoryFilter
from ace_graph.server import Overrides
from tests.graph.conftest import CountingStore
from tests.server.serving import HandClock, serving, settings_for, until
from tests.server.test_chat import LESSON, model

DAY = 86_400


def _plenty() -> Overrides:
    return Overrides(model=model(*(f"answer {n}" for n in range(20)), lesson=LESSON))


async def test_beyond_the_tokens_of_a_day_a_message_is_429_until_the_next_day() -> None:
    clock = HandClock()
    clock.move(DAY - 90 * 60)
    async with serving(settings_for(daily_tokens=1), _plenty(), clock=clock) as served:
        await served.ask("What is 1/2 + 1/3?")
        refused = await served.post("And 1/2 + 1/4?")
        stream = await served.client.post("/api/ai/chat/stream", json={"message": "And 1/2 + 1/4?"})
        other = await served.post("What is 1/2 + 1/3?", learner="bob")
        playbook = await served.client.get("/api/playbook")
        clock.move(90 * 60)
        again = await served.post("And 1/2 + 1/4?")
    assert [(each.status_code, each.json()["code"]) for each in (refused, stream)] == [
        (429, "daily_tokens")
    ] * 2
    assert refused.headers["Retry-After"] == "5400"
    assert refused.json()["error"] == (
        "That was all for today: 1 tokens a day are used up. "
        "We can go on after 2026-01-02 00:00 UTC, in 1 h 30 min; what I remember stays"
    )
    assert (other.status_code, playbook.status_code, again.status_code) == (200, 200, 200)


async def test_without_the_setting_nothing_is_counted_or_read() -> None:
    store = CountingStore()
    overrides = Overrides(model=_plenty().model, store=store)
    async with serving(settings_for(), overrides) as served:
        for _ in range(5):
            await served.ask("What is 1/2 + 1/3?")
    assert store.calls.loads == 5


async def _cost_of_a_turn(folder: Path, learning: str) -> int:
    """Ask once, wait until it is learned from, and return the tokens in the turn's record."""
    folder.mkdir()
    store = CountingStore()
    overrides = Overrides(model=_plenty().model, store=store)

    async def learned() -> bool:
        (turn,) = await store.find_turns("alice", TrajectoryFilter(), limit=1)
        return bool(turn.reflections)

    async with serving(settings_for(folder, learning=learning), overrides) as served:
        await served.ask("What is 1/2 + 1/3?")
        await until(learned)
    (turn,) = await store.find_turns("alice", TrajectoryFilter(), limit=1)
    assert turn.calls == 2, "one for the answer, one for the lessons"
    return turn.input_tokens + turn.output_tokens


async def test_learning_counts_also_in_the_background(tmp_path: Path) -> None:
    inline = await _cost_of_a_turn(tmp_path / "inline", "inline")
    assert await _cost_of_a_turn(tmp_path / "background", "background") == inline


async def test_what_is_deleted_forgotten_or_temporary_was_paid_for_all_the_same() -> None:
    clock = HandClock()
    async with serving(settings_for(daily_tokens=1), _plenty(), clock=clock) as served:
        said = await served.ask("What is 1/2 + 1/3?")
        await served.client.delete(f"/api/trajectories/{said['turnId']}")
        deleted = await served.post("And 1/2 + 1/4?")
        await served.client.delete("/api/learner")
        forgotten = await served.post("And 1/2 + 1/4?")
        await served.post("What is 1/2 + 1/3?", learner="zoe", memory="off")
        temporary = await served.post("And 1/2 + 1/4?", learner="zoe", memory="off")
        kept = await served.post("And 1/2 + 1/4?", learner="zoe")
    assert [each.status_code for each in (deleted, forgotten, temporary, kept)] == [429] * 4


async def test_a_turn_without_learning_counts(tmp_path: Path) -> None:
    async with serving(settings_for(tmp_path, daily_tokens=1, learning="off"), _plenty()) as served:
        await served.ask("What is 1/2 + 1/3?")
        assert (await served.post("And 1/2 + 1/4?")).status_code == 429


async def test_another_server_reads_what_the_day_has_cost(tmp_path: Path) -> None:
    settings, clock = settings_for(tmp_path, daily_tokens=1), HandClock()
    async with serving(settings, _plenty(), clock=clock) as served:
        await served.ask("What is 1/2 + 1/3?")
    async with serving(settings, _plenty(), clock=clock) as served:
        assert (await served.post("And 1/2 + 1/4?")).status_code == 429


async def test_no_work_to_learn_from_is_begun_without_tokens() -> None:
    async with serving(settings_for(daily_tokens=1), _plenty(), clock=HandClock()) as served:
        begun = await served.client.post("/api/trajectories", json={"task": "crawl"})
        name = begun.json()["trajectoryId"]
        await served.ask("What is 1/2 + 1/3?")
        refused = [
            await served.client.post("/api/trajectories", json={"task": "crawl"}),
            await served.client.post(f"/api/trajectories/{name}/reflect"),
        ]
        done: httpx.Response = await served.client.post(
            f"/api/trajectories/{name}/complete", json={"status": "success"}
        )
    assert begun.status_code == 201
    assert [each.status_code for each in refused] == [429, 429]
    assert done.status_code == 200, "what was begun can be ended"


async def test_the_page_says_it_in_the_same_sentence() -> None:
    async with serving(settings_for(daily_tokens=1, jwt_secret=None), _plenty(), clock=HandClock()) as served:
        form = {"message": "What is 1/2 + 1/3?"}
        origin = {"Origin": str(served.client.base_url).rstrip("/")}
        first = await served.client.post("/page/chat/send", data=form, headers=origin)
        second = await served.client.post("/page/chat/send", data=form, headers=origin)
    assert first.status_code in (200, 303)
    assert second.status_code == 429
    assert "That was all for today" in second.text
