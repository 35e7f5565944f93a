"""Connections that never send a request take nobody's place, and no stranger's form is read."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import cast

import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.routing import Mount
from uvicorn.protocols.http.h11_impl import H11Protocol

from ace_graph.server import HEAD_SECONDS, Overrides, SocketLimits, socket_limits
from ace_graph.testing import ScriptedModel
from tests.plugins.loop_clock import LoopClock
from tests.plugins.sizes import PATIENT
from tests.plugins.warm_python import WarmPython
from tests.server.process import server
from tests.server.serving import HeldModel, Served, serving, settings_for, token, until
from tests.server.test_chat import NO_LESSON

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
UNFINISHED = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
UNWANTED_BODY = (
    b"POST /api/ai/chat HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"  # without a token: 401
)
ROOMY = SocketLimits(most=100, backlog=100)


@asynccontextmanager
async def connected(served: Served) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    url = served.client.base_url
    reader, writer = await asyncio.open_connection(url.host, url.port)
    try:
        yield reader, writer
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def answer(reader: asyncio.StreamReader) -> bytes:
    """Return one response whose body is JSON without nested objects."""
    return await reader.readuntil(b"}")


async def only_connection(served: Served) -> H11Protocol:
    """Wait until one connection is open, and return the server's side of it."""
    await until(lambda: len(served.server.server_state.connections) == 1)
    [protocol] = served.server.server_state.connections
    assert isinstance(protocol, H11Protocol)
    return protocol


@pytest.mark.parametrize("begun", [b"", UNFINISHED])
async def test_a_head_that_never_ends_is_cut_off(begun: bytes, loop_clock: LoopClock) -> None:
    async with (
        serving(settings_for(), Overrides(model=ScriptedModel([])), limits=ROOMY) as served,
        connected(served) as (reader, writer),
    ):
        writer.write(begun)
        await only_connection(served)
        loop_clock.advance(HEAD_SECONDS)
        assert await reader.read() == b"", "closed without an answer"


@pytest.mark.parametrize(
    ("first", "status", "then"), [(HEALTH, b"200", UNFINISHED), (UNWANTED_BODY, b"401", b"x")]
)
async def test_a_later_head_that_never_ends_is_cut_off(
    first: bytes, status: bytes, then: bytes, loop_clock: LoopClock
) -> None:
    async with (
        serving(settings_for(), Overrides(model=ScriptedModel([])), limits=ROOMY) as served,
        connected(served) as (reader, writer),
    ):
        writer.write(first)
        assert status in await answer(reader)
        writer.write(then)
        protocol = await only_connection(served)
        await until(lambda: protocol.timeout_keep_alive_task is None)
        loop_clock.advance(HEAD_SECONDS)
        assert await reader.read() == b""


async def test_a_slow_answer_is_no_slow_head(loop_clock: LoopClock) -> None:
    held = HeldModel(solver=["<final>slow</final>"], reflector=[NO_LESSON])
    async with serving(settings_for(), Overrides(model=held), limits=ROOMY) as served:
        asked = asyncio.create_task(served.post("What is one?"))
        await held.begun.wait()
        async with connected(served) as (reader, _):
            await until(lambda: len(served.server.server_state.connections) == 2)
            loop_clock.advance(HEAD_SECONDS)
            assert await reader.read() == b"", "a later one ran out of time by now"
        held.go.set()
        assert (await asked).json()["answer"] == "slow"


async def test_idle_connections_make_room_for_a_new_one_the_oldest_first() -> None:
    limits = SocketLimits(most=3, backlog=100)
    async with (
        serving(settings_for(), Overrides(model=ScriptedModel([])), limits=limits) as served,
        AsyncExitStack() as stack,
    ):
        opened = [await stack.enter_async_context(connected(served)) for _ in range(3)]
        for reader, writer in (*opened, opened[0]):
            writer.write(HEALTH)
            assert b"200" in await answer(reader)
        reader, writer = await stack.enter_async_context(connected(served))
        writer.write(HEALTH)
        assert b"200" in await answer(reader)
        assert await opened[1][0].read() == b"", "the first has been used later"
        for reader, writer in (opened[0], opened[2]):
            writer.write(HEALTH)
            assert b"200" in await answer(reader)


async def test_a_connection_beyond_the_most_is_503_while_all_others_work() -> None:
    held = HeldModel(solver=["<final>slow</final>"], reflector=[NO_LESSON])
    limits = SocketLimits(most=1, backlog=100)
    async with serving(settings_for(), Overrides(model=held), limits=limits) as served:
        asked = asyncio.create_task(served.post("What is one?"))
        await held.begun.wait()
        async with connected(served) as (reader, _):
            refused = await reader.read()
        held.go.set()
        assert (await asked).json()["answer"] == "slow"
    assert refused.startswith(b"HTTP/1.1 503 ")
    assert b'"code":"overloaded"' in refused
    assert b"retry-after: 2" in refused


def test_more_silent_connections_than_descriptors_stop_no_request(
    tmp_path: Path, warm_python: WarmPython
) -> None:
    before = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))"
    with server(tmp_path, warm_python, before=before) as running, ExitStack() as stack:
        url = httpx.URL(running.url)
        for _ in range(300):
            silent = stack.enter_context(socket.socket())
            silent.setblocking(False)
            silent.connect_ex((url.host, url.port))
        with httpx.Client(base_url=running.url, trust_env=False, timeout=PATIENT) as client:
            told = [client.get(path).status_code for path in ("/healthz", "/readyz") * 3]
    assert told == [200] * 6


@pytest.mark.parametrize("descriptors", [64, 256, 1024, 4096, 65_536])
@pytest.mark.parametrize("turns", [1, 256, 1_000])
def test_the_limits_leave_descriptors_for_other_things(descriptors: int, turns: int) -> None:
    limits = socket_limits(turns, descriptors)
    assert descriptors // 2 <= limits.most < descriptors
    assert limits.most + limits.backlog < descriptors
    if descriptors >= 4 * turns + 256:
        assert limits.most + limits.backlog + turns < descriptors


@asynccontextmanager
async def head_sent(served: Served, path: str, *headers: str) -> AsyncGenerator[str]:
    """Send the head of a form, and nothing of its body; yield the head of the answer."""
    url = served.client.base_url
    reader, writer = await asyncio.open_connection(url.host, url.port)
    lines = (f"POST {path} HTTP/1.1", f"Host: {url.host}:{url.port}", *headers, "Content-Length: 1000")
    writer.write("\r\n".join((*lines, "Content-Type: application/x-www-form-urlencoded", "", "")).encode())
    try:
        yield (await reader.readuntil(b"\r\n\r\n")).decode()
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


def forms_of_visitors(app: FastAPI) -> Iterator[str]:
    """The paths of all forms of the page but those that need no token."""
    [page] = [each for each in app.routes if isinstance(each, Mount) and each.path == "/page"]
    for route in cast("FastAPI", page.app).routes:
        if isinstance(route, APIRoute) and "POST" in (route.methods or ()):
            path = re.sub(r"\{\w+\}", "x", route.path)
            if path not in {"/login", "/logout", "/look"}:
                yield f"/page{path}"


async def test_no_form_is_read_before_the_token_and_the_origin_are_checked() -> None:
    """Each is answered while its body is still to come."""
    async with serving(settings_for(server_rate=10_000), Overrides(model=ScriptedModel([]))) as served:
        own = f"Origin: http://{served.client.base_url.host}:{served.client.base_url.port}"
        cookie = f"Cookie: ace_session={token('alice')}"
        forged = f"Cookie: ace_session={token('alice', secret='another secret, as long as it has to be')}"
        paths = list(forms_of_visitors(served.app))
        for path in paths:
            for headers, status in (
                ((own,), 401),
                ((own, forged), 401),
                ((cookie, "Origin: http://evil.example"), 403),
                ((cookie,), 403),
            ):
                async with head_sent(served, path, *headers) as told:
                    assert told.startswith(f"HTTP/1.1 {status} "), (path, headers, told)
    assert len(paths) > 15
