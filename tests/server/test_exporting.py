"""An export is written while it is read: in pieces, one conversation at a time, one export of a learner."""

from __future__ import annotations

import asyncio
import json
import weakref
from pathlib import Path

import pytest
from langchain_core.messages import AnyMessage
from starlette.types import Message

from ace_graph.server import Overrides, Services
from ace_graph.server.conversations import export_chunks
from tests.server.serving import Json, Served, bearer, serving, settings_for
from tests.server.test_chat import model

LONG = "x" * 90_000
CONVERSATIONS = 6


def counted(services: Services) -> list[str]:
    """Return a list that names each thread whose messages are read from now on."""
    read, database = list[str](), services.conversations.database
    original = database.messages

    async def messages(thread_id: str) -> list[AnyMessage]:
        read.append(thread_id)
        return await original(thread_id)

    database.messages = messages  # type: ignore[method-assign]
    return read


async def talked(served: Served) -> Services:
    for n in range(CONVERSATIONS):
        history = [{"role": "user", "content": f"{n} {LONG}"}]
        await served.ask("What is one?", f"c{n}", conversationHistory=history)
    services: Services = served.app.state.services
    return services


async def test_conversations_are_read_while_the_response_is_sent(tmp_path: Path) -> None:
    sent, read_before = list[bytes](), list[int]()
    scope = {
        "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1",
        "method": "GET", "scheme": "http", "path": "/api/learner/export", "raw_path": b"/api/learner/export",
        "query_string": b"", "root_path": "", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2),
        "headers": [(b"authorization", bearer()["Authorization"].encode())],
    }  # fmt: skip
    overrides = Overrides(model=model(*["one"] * CONVERSATIONS))
    async with serving(settings_for(tmp_path), overrides) as served:
        read = counted(await talked(served))

        async def send(message: Message) -> None:
            if message["type"] == "http.response.body" and message.get("body"):
                sent.append(message["body"])
                read_before.append(len(read))

        async def receive() -> Message:
            return await asyncio.get_running_loop().create_future()

        await served.app(scope, receive, send)
    found = json.loads(b"".join(sent))
    assert [len(each["messages"]) for each in found["conversations"]] == [3] * CONVERSATIONS
    assert found["conversations"][2]["messages"][0]["content"] == f"2 {LONG}"
    assert read_before[0] == 0, "the first bytes are sent before any conversation is read"
    assert sorted(set(read_before)) == list(range(CONVERSATIONS + 1)), "each is sent before the next is read"
    assert max(map(len, sent)) < 2 * len(LONG)


async def test_one_conversation_at_a_time_is_in_memory(tmp_path: Path) -> None:
    read, most = list[weakref.ref[AnyMessage]](), 0
    overrides = Overrides(model=model(*["one"] * CONVERSATIONS))
    async with serving(settings_for(tmp_path), overrides) as served:
        services = await talked(served)
        original = services.conversations.database.messages

        async def messages(thread_id: str) -> list[AnyMessage]:
            found = await original(thread_id)
            read.append(weakref.ref(found[0]))
            return found

        services.conversations.database.messages = messages  # type: ignore[method-assign]
        async for _ in export_chunks(await services.store.export("alice"), services.conversations):
            most = max(most, sum(each() is not None for each in read))
    assert len(read) == CONVERSATIONS
    assert most <= 2, "the last one may still be in the hands of the thread that wrote it"


async def test_a_learner_has_one_export_at_a_time_and_others_have_theirs(tmp_path: Path) -> None:
    go, waiting = asyncio.Event(), asyncio.Event()
    overrides = Overrides(model=model(*["one"] * CONVERSATIONS))
    async with serving(settings_for(tmp_path), overrides) as served:
        services = await talked(served)
        original = services.store.export

        async def held(learner: str) -> object:
            waiting.set()
            await go.wait()
            return await original(learner)

        services.store.export = held  # type: ignore[method-assign,assignment]  # pyright: ignore
        first = asyncio.create_task(served.client.get("/api/learner/export"))
        await waiting.wait()
        second = await served.client.get("/api/learner/export")
        others = asyncio.create_task(served.client.get("/api/learner/export", headers=bearer("bob")))
        go.set()
        told: list[Json] = [(await each).json() for each in (first, others)]
        again = await served.client.get("/api/learner/export")
    assert (second.status_code, second.json()["code"]) == (409, "busy")
    assert "export" in second.json()["error"]
    assert [len(each["conversations"]) for each in told] == [CONVERSATIONS, 0]
    assert again.status_code == 200


@pytest.mark.parametrize("pieces", [0, 2])
async def test_who_hangs_up_may_export_again(tmp_path: Path, pieces: int) -> None:
    overrides = Overrides(model=model(*["one"] * CONVERSATIONS))
    async with serving(settings_for(tmp_path), overrides) as served:
        await talked(served)
        for _ in range(3):
            async with served.client.stream("GET", "/api/learner/export") as response:
                read = response.aiter_raw(100)
                for _ in range(pieces):
                    await anext(read)
        codes = set[int]()
        while 200 not in codes:
            codes.add((await served.client.get("/api/learner/export")).status_code)
    assert codes <= {200, 409}, "a hang-up is seen a moment later"
