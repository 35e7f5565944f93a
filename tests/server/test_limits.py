"""Bounds on bodies, rates, turns at once and time; each has its own status."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from ace_graph.server import Overrides
from ace_graph.server import middleware as body_limit
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import CountingStore
from tests.server.serving import HandClock, HeldModel, bearer, serving, settings_for
from tests.server.test_chat import NO_LESSON, model


@pytest.mark.parametrize("size", [1_048_577, 12_000_000])
async def test_an_oversized_body_is_413_and_is_not_parsed(size: int) -> None:
    async with serving(settings_for(), Overrides(model=ScriptedModel([]))) as served:
        told = await served.client.post("/api/ai/chat", content=b"[" * size)
        after = await served.client.get("/healthz")
    assert (told.status_code, told.json()["code"], after.status_code) == (413, "too_large", 200)


async def test_an_oversized_body_without_a_length_is_413_too() -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(40):
            yield b'{"message": "' + b"x" * 50_000

    async with serving(settings_for(), Overrides(model=ScriptedModel([]))) as served:
        headers = {"content-type": "application/json"}
        told = await served.client.post("/api/ai/chat", content=pieces(), headers=headers)
    assert (told.status_code, told.json()["code"]) == (413, "too_large")


@pytest.mark.parametrize(("announced", "status"), [(40, 408), (99_999_999, 413)])
async def test_a_body_that_never_ends_is_not_waited_for(
    announced: int, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(body_limit, "SECONDS", 0.0)
    async with serving(settings_for(), Overrides(model=ScriptedModel([]))) as served:
        url = served.client.base_url
        reader, writer = await asyncio.open_connection(url.host, url.port)
        lines = [
            "POST /api/ai/chat HTTP/1.1",
            f"Host: {url.host}",
            f"Authorization: {bearer()['Authorization']}",
            f"Content-Length: {announced}",
        ]
        writer.write("\r\n".join([*lines, "", '{"message": "What']).encode())
        told = (await reader.readuntil(b"}")).decode()
        writer.close()
        await writer.wait_closed()
    assert told.startswith(f"HTTP/1.1 {status} ")
    assert '"error":"the body ' in told


async def test_a_learner_may_ask_120_times_a_minute_and_another_is_not_held_up() -> None:
    clock = HandClock()
    async with serving(settings_for(), Overrides(model=ScriptedModel([])), clock) as served:
        codes = [(await served.client.get("/api/playbook")).status_code for _ in range(120)]
        refused = await served.client.get("/api/playbook")
        other = await served.client.get("/api/playbook", headers=bearer("bob"))
        clock.move(float(refused.headers["retry-after"]))
        again = await served.client.get("/api/playbook")
    assert codes == [200] * 120
    assert (refused.status_code, refused.json()["code"]) == (429, "too_many")
    assert (other.status_code, again.status_code) == (200, 200)


async def test_a_bucket_refills_evenly_and_never_beyond_its_size() -> None:
    clock = HandClock()

    async def until_refused() -> tuple[int, str]:
        for taken in range(100):
            reply = await served.client.get("/api/playbook")
            if reply.status_code == 429:
                return taken, reply.headers["retry-after"]
        raise AssertionError("nothing was refused")

    async with serving(settings_for(server_rate=6), Overrides(model=ScriptedModel([])), clock) as served:
        found = [await until_refused()]
        for seconds in (25.0, 5.0, 9.0, 1.0, 30.0, 3_600.0):
            clock.move(seconds)
            found.append(await until_refused())
    assert found == [(6, "10"), (2, "5"), (1, "10"), (0, "1"), (1, "10"), (3, "10"), (6, "10")]


async def test_more_turns_than_the_server_takes_at_once_are_503() -> None:
    held = HeldModel(solver=["<final>slow</final>"], reflector=[NO_LESSON])
    async with serving(settings_for(server_turns=1), Overrides(model=held)) as served:
        first = asyncio.create_task(served.post("What is one?", "c1"))
        await held.begun.wait()
        refused = await served.post("What is two?", "c2", learner="bob")
        streamed = await served.client.post("/api/ai/chat/stream", json={"message": "x"})
        held.go.set()
        assert (await first).status_code == 200
    assert (refused.status_code, refused.json()["code"]) == (503, "overloaded")
    assert int(refused.headers["retry-after"]) > 0
    assert streamed.status_code == 503


async def test_one_learner_does_not_take_all_places() -> None:
    held = HeldModel(solver=["<final>slow</final>"] * 2, reflector=[NO_LESSON] * 2)
    async with serving(settings_for(server_turns=4), Overrides(model=held)) as served:
        first = asyncio.create_task(served.post("What is one?", "c1"))
        await held.begun.wait()
        refused = await served.post("What is two?", "c2")
        other = asyncio.create_task(served.post("What is three?", "c3", learner="bob"))
        held.go.set()
        assert [(await first).status_code, (await other).status_code] == [200, 200]
    assert (refused.status_code, refused.json()["code"]) == (429, "too_many")


async def test_a_hanging_model_is_answered_with_504_and_stores_nothing() -> None:
    clock, store = HandClock(), CountingStore()
    held = HeldModel(solver=["<final>never</final>", "<final>two</final>"], reflector=[NO_LESSON])
    overrides = Overrides(model=held, store=store)
    async with serving(settings_for(server_timeout=30), overrides, clock) as served:
        asked = asyncio.create_task(served.post("Remember that I like tea.", "c1"))
        await held.begun.wait()
        clock.move(29)
        assert not asked.done()
        clock.move(1)
        told = await asked
        held.go.set()
        answered = await served.ask("What is two?", "c1")
        kept = (await served.client.get("/api/learner/export")).json()
    assert (told.status_code, told.json()["code"]) == (504, "timeout")
    assert answered["answer"] == "two"
    assert kept["playbook"]["bullets"] == []
    assert [m["content"] for m in kept["conversations"][0]["messages"]] == ["What is two?", "two"]


async def test_the_places_of_turns_that_ended_are_free_again() -> None:
    answers = ["one"] * 5
    async with serving(settings_for(server_turns=1), Overrides(model=model(*answers))) as served:
        for n in range(5):
            assert (await served.ask("What is one?", f"c{n}"))["answer"] == "one"
