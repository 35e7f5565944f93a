"""An answer as server-sent events, and what becomes of it when its listener goes."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast, get_type_hints

import pytest
from httpx_sse import ServerSentEvent, aconnect_sse
from langgraph.pregel import Pregel

from ace_graph.memory.delta import Add
from ace_graph.server import Overrides
from ace_graph.server.conversations import ConversationDatabase, Execute
from ace_graph.server.schemas import ChatEvents
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import CountingStore
from tests.server.serving import HandClock, HeldModel, Served, bearer, serving, settings_for, until
from tests.server.test_chat import LESSON, NO_LESSON, model


def named(events: list[ServerSentEvent], name: str) -> list[dict[str, object]]:
    return [json.loads(event.data) for event in events if event.event == name]


async def all_events(served: Served, message: str, conversation: str | None = None) -> list[ServerSentEvent]:
    """All events, each as the document describes it."""
    async with served.stream(message, conversation) as events:
        got = [event async for event in events]
    for event in got:
        get_type_hints(ChatEvents)[event.event].model_validate_json(event.data)
    return got


async def learned(served: Served) -> list[str]:
    kept = (await served.client.get("/api/playbook")).json()
    return [bullet["content"] for bullet in kept["bullets"]]


@asynccontextmanager
async def busy(database: ConversationDatabase) -> AsyncGenerator[None]:
    """Keep the database in a transaction within the block."""
    end = threading.Event()

    async def wait(_: Execute) -> None:
        end.wait()

    waiting = asyncio.create_task(database.transaction(wait))
    yield
    end.set()
    await waiting


async def test_stream_events_come_as_mode_bullets_tokens_result_done() -> None:
    store = CountingStore()
    await store.seed("alice", Add(content="Fractions need a common denominator"))
    async with serving(
        settings_for(), Overrides(model=model("It is 5/6, as you see."), store=store)
    ) as served:
        events = await all_events(served, "How do I add fractions with another denominator?", "c1")
    names = [event.event for event in events]
    assert list(dict.fromkeys(names)) == ["start", "mode", "bullets", "token", "result", "done"]
    assert [event.id for event in events] == [str(n + 1) for n in range(len(events))]
    assert named(events, "start")[0]["conversationId"] == "c1"
    assert named(events, "mode") == [{"mode": "cot"}]
    shown = {"id": "gen-00001", "section": "general", "content": "Fractions need a common denominator"}
    assert named(events, "bullets") == [{"bullets": [shown]}]
    assert len(named(events, "token")) > 1
    assert "".join(str(each["text"]) for each in named(events, "token")) == "It is 5/6, as you see."
    (result,) = named(events, "result")
    assert result["answer"] == "It is 5/6, as you see."
    assert set(result) >= {"answer", "mode", "conversationId", "turnId", "metadata"}


async def test_a_turn_asks_for_no_stream_of_langgraph(monkeypatch: pytest.MonkeyPatch) -> None:
    modes = list[object]()
    astream = cast("Callable[..., object]", Pregel.astream)  # pyright: ignore[reportUnknownMemberType]

    def watched(*args: Any, **given: Any) -> object:  # Any: passed on
        modes.append(given["stream_mode"])
        return astream(*args, **given)

    monkeypatch.setattr(Pregel, "astream", watched)
    async with serving(settings_for(), Overrides(model=model("It is 5/6, as you see."))) as served:
        events = await all_events(served, "What is 1/2 + 1/3?", "c1")
    assert "".join(str(each["text"]) for each in named(events, "token")) == "It is 5/6, as you see."
    assert modes == ["values"]


async def test_no_character_of_an_answer_breaks_its_line_for_any_client() -> None:
    answer = "one\u2028two\u2029three\x85four\x0cfive\nsix"
    body = {"message": "What is one?"}
    overrides = Overrides(model=model(answer))
    async with (
        serving(settings_for(), overrides) as served,
        served.client.stream("POST", "/api/ai/chat/stream", json=body) as told,
    ):
        lines = [line async for line in told.aiter_lines() if line]
    assert all(line.startswith(("id: ", "event: ", "data: ")) for line in lines), lines
    assert json.loads(lines[-4].removeprefix("data: "))["answer"] == answer


async def test_done_comes_when_the_lesson_is_stored() -> None:
    overrides = Overrides(model=model("5/6", lesson=LESSON))
    async with serving(settings_for(), overrides) as served, served.stream("What is 1/2 + 1/3?") as events:
        async for event in events:
            if event.event == "done":
                assert len(await learned(served)) == 1


async def test_a_failure_is_an_event_without_internals() -> None:
    scripted = ScriptedModel([ValueError("key sk-123 is wrong")])
    async with serving(settings_for(), Overrides(model=scripted)) as served:
        events = await all_events(served, "What is one?")
        again = await served.post("x" * 3, "c1", learner="bob", mode="weird")
    assert events[-1].event == "error"
    told = json.loads(events[-1].data)
    assert told == {
        "error": "the model gave no answer: try again later", "code": "model_failed", "status": 502,
    }  # fmt: skip
    assert again.status_code == 422


async def test_what_is_refused_before_the_turn_begins_has_its_own_status() -> None:
    held = HeldModel(solver=["<final>mine</final>"], reflector=[NO_LESSON])
    async with serving(settings_for(), Overrides(model=held)) as served:
        first = asyncio.create_task(served.post("This is mine", "c1"))
        await held.begun.wait()
        body = {"message": "And this", "conversationId": "c1"}
        busy = await served.client.post("/api/ai/chat/stream", json=body)
        blank = await served.client.post("/api/ai/chat/stream", json={"message": " "})
        held.go.set()
        await first
    assert (busy.status_code, blank.status_code) == (409, 422)


async def test_learning_is_complete_when_the_client_hangs_up() -> None:
    held = HeldModel(solver=["<final>It is 5/6.</final>"], reflector=[LESSON])
    async with serving(settings_for(), Overrides(model=held)) as served:
        async with served.stream("What is 1/2 + 1/3?", "c1") as events:
            async for event in events:
                if event.event == "bullets":
                    break
        await held.begun.wait()
        held.go.set()

        async def there() -> bool:
            return len(await learned(served)) == 1

        await until(there)
        conversation = (await served.client.get("/api/learner/export")).json()["conversations"]
    assert [m["content"] for m in conversation[0]["messages"]] == ["What is 1/2 + 1/3?", "It is 5/6."]


async def test_a_returning_client_gets_the_events_that_it_missed() -> None:
    held = HeldModel(solver=["<final>It is 5/6, as you see.</final>"], reflector=[NO_LESSON], chunk_size=12)
    async with serving(settings_for(), Overrides(model=held)) as served:
        seen = list[ServerSentEvent]()
        async with served.stream("What is 1/2 + 1/3?") as events:
            async for event in events:
                seen.append(event)
                if event.event == "bullets":
                    break
        address = f"/api/ai/chat/stream/{named(seen, 'start')[0]['streamId']}"
        headers = {"Last-Event-ID": seen[-1].id}
        held.go.set()
        async with aconnect_sse(served.client, "GET", address, headers=headers) as source:
            rest = [event async for event in source.aiter_sse()]
        once_more = (await served.client.get(address)).text
        foreign = await served.client.get(address, headers=bearer("mallory"))
    assert [event.id for event in [*seen, *rest]] == [str(n + 1) for n in range(len(seen) + len(rest))]
    assert "".join(str(each["text"]) for each in named(rest, "token")) == "It is 5/6, as you see."
    assert rest[-1].event == "done"
    assert once_more.count("event: done") == 1
    assert foreign.status_code == 404


async def test_a_stopping_server_ends_streams_and_the_next_one_resumes_turns(
    tmp_path: Path,
) -> None:
    settings = settings_for(tmp_path)
    held = HeldModel(solver=["<final>never</final>"])
    async with serving(settings, Overrides(model=held)) as served:
        async with served.stream("Remember that I like tea.", "c1") as events:
            got = list[ServerSentEvent]()
            async for event in events:
                got.append(event)
                if event.event == "bullets":
                    await held.begun.wait()
                    await served.app.state.services.turns.drain(0)
        refused = await served.post("One more?", "c2")
        ready = await served.client.get("/readyz")
    assert got[-1].event == "error"
    assert json.loads(got[-1].data)["code"] == "later"
    assert (refused.status_code, refused.json()["code"], ready.status_code) == (503, "stopping", 503)
    scripted = ScriptedModel(solver=["<final>Noted.</final>"], reflector=[NO_LESSON])
    async with serving(settings, Overrides(model=scripted)) as served:

        async def there() -> bool:
            return await learned(served) == ["Learner says: I like tea"]

        await until(there)
        begun = (await served.client.get("/api/learner/export")).json()["conversations"]
    assert [m["content"] for m in begun[0]["messages"]] == ["Remember that I like tea.", "Noted."]


async def test_a_stream_ends_when_the_server_stops_during_a_failed_turn(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING, "ace_graph")  # whatever an earlier test has set
    clock, held = HandClock(), HeldModel(solver=["<final>never</final>"])
    async with serving(settings_for(), Overrides(model=held), clock) as served:
        services = served.app.state.services
        async with served.stream("What is one?", "c1") as events:
            await held.begun.wait()
            async with busy(services.conversations.database):
                clock.move(services.settings.server_timeout)
                await until(lambda: "a turn failed: timeout" in caplog.text)
                await services.turns.drain(0)
            told = [event async for event in events]
        numbers = await served.client.get("/metrics")
    assert json.loads(told[-1].data)["code"] == "later"
    assert "ace_turns_under_way 0.0" in numbers.text


async def test_two_listeners_hear_the_same() -> None:
    held = HeldModel(solver=["<final>It is 5/6.</final>"], reflector=[NO_LESSON])
    overrides = Overrides(model=held)
    async with serving(settings_for(), overrides) as served, served.stream("What is 1/2 + 1/3?") as events:
        first = [await anext(events)]
        address = f"/api/ai/chat/stream/{named(first, 'start')[0]['streamId']}"
        held.go.set()
        second = await served.client.get(address)
        first += [event async for event in events]
    assert [line for line in second.text.splitlines() if line.startswith("id: ")] == [
        f"id: {event.id}" for event in first
    ]
