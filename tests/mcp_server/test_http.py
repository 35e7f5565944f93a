"""The server over streamable HTTP: the learner is the token's subject, and nobody without one gets in.

Does not: try every tool; they are the same over all transports.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import httpx
import pytest
from langchain_core.messages import ToolCall, ToolMessage
from langchain_mcp_adapters.client import MultiServerMCPClient
from mcp import ClientSession, McpError
from mcp.client.streamable_http import streamable_http_client
from mcp.types import TextContent, TextResourceContents
from pydantic import AnyUrl, SecretStr

from ace_graph.base import Settings
from ace_graph.hosts.mcp_server import http_app
from tests.cli.commands import Commands
from tests.mcp_server.clients import Client
from tests.server.serving import SECRET, bearer, listening


@asynccontextmanager
async def _served(folder: Path, secret: str | None = SECRET) -> AsyncGenerator[str]:
    """Yield the address of a server with a memory in this folder."""
    key = None if secret is None else SecretStr(secret)
    settings = Settings(store=f"sqlite:///{folder / 'ace.db'}", jwt_secret=key, server_rate=100_000)
    async with http_app(settings) as app, listening(app, lifespan="off") as (_, url):
        yield f"{url}/mcp"


@asynccontextmanager
async def _client(url: str, headers: dict[str, str]) -> AsyncGenerator[Client]:
    async with (
        httpx.AsyncClient(headers=headers, trust_env=False) as sender,
        streamable_http_client(url, http_client=sender) as (read, write, _),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        yield Client(session)


async def test_each_token_reaches_the_memory_of_its_subject(tmp_path: Path) -> None:
    async with _served(tmp_path) as url:
        async with _client(url, bearer("ada")) as ada, _client(url, bearer("ben")) as ben:
            kept = await ada.call("remember", statement="Learner says: call me Ada", about_learner=True)
            seen = await ada.call("recall", question="Who am I?")
            assert [each["id"] for each in seen["bullets"]] == [kept["id"]]
            assert (await ben.call("recall", question="Who am I?"))["bullets"] == []
        async with _client(url, bearer("ada")) as later:
            assert (await later.call("playbook_show"))["total"] == 1


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_no_stream_is_opened_in_which_nothing_would_come(tmp_path: Path, method: str) -> None:
    asked = {**bearer("ada"), "accept": "text/event-stream, application/json"}
    async with _served(tmp_path) as url, httpx.AsyncClient(trust_env=False) as sender:
        told = await sender.request(method, url, headers=asked)
        strange = await sender.request(method, url, headers={"accept": asked["accept"]})
    assert (told.status_code, told.headers["allow"], strange.status_code) == (405, "POST", 401)


async def test_without_a_valid_token_nothing_is_answered(tmp_path: Path) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accepted = {"Accept": "application/json, text/event-stream"}
    async with _served(tmp_path) as url, httpx.AsyncClient(trust_env=False) as client:
        for headers in ({}, {"Authorization": "Bearer wrong"}):
            refused = await client.post(url, json=body, headers={**accepted, **headers})
            assert refused.status_code == 401
            assert refused.headers["WWW-Authenticate"] == "Bearer"
        too_long = await client.post(url, content=b" " * 10_000_000, headers=bearer("ada"))
        assert too_long.status_code == 413
        allowed = await client.post(url, json=body, headers={**accepted, **bearer("ada")})
        assert allowed.status_code == 200


async def test_resources_and_prompts_are_of_the_tokens_subject(tmp_path: Path) -> None:
    async with (
        _served(tmp_path) as url,
        _client(url, bearer("ada")) as ada,
        _client(url, bearer("ben")) as ben,
    ):
        await ada.call("remember", statement="Learner says: call me Ada", about_learner=True)
        address = AnyUrl("playbook:///default")
        assert [each.uri for each in (await ada.session.list_resources()).resources] == [address]
        for client, knows in ((ada, True), (ben, False)):
            document = (await client.session.read_resource(address)).contents[0]
            assert isinstance(document, TextResourceContents)
            assert ("call me Ada" in document.text) is knows
            for name in ("with_memory", "with_playbook"):
                filled = await client.session.get_prompt(name, {"question": "Who am I?"})
                text = filled.messages[0].content
                assert isinstance(text, TextContent)
                assert ("call me Ada" in text.text, text.text.endswith("Who am I?")) == (knows, True)
        with pytest.raises(McpError, match="no such playbook"):
            await ben.session.read_resource(AnyUrl("playbook:///ada%2Fdefault"))


NESTED = b"[" * 100_000 + b"]" * 100_000


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (NESTED, 400),
        (NESTED[:100_000], 400),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, 400),
        (
            b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {"x": %s}}}' % NESTED,
            400,
        ),
        (b"1" * 5_000, 400),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list\xff"}', 400),
        (b"no json", 400),
        (
            b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {"x": "%s"}}}' % NESTED,
            200,
        ),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {"x": [%s]}}}', 200),
    ],
    ids=["arrays", "open", "objects", "inside", "digits", "bytes", "words", "text", "many"],
)
async def test_a_body_that_can_not_be_read_is_the_clients_fault(
    tmp_path: Path, body: bytes, status: int
) -> None:
    sent = body.replace(b"%s", b",".join([b'["\\""]'] * 1_000))
    headers = {**bearer("ada"), "Accept": "application/json, text/event-stream"}
    headers["Content-Type"] = "application/json"
    async with _served(tmp_path) as url, httpx.AsyncClient(trust_env=False) as client:
        assert (await client.post(url, content=sent, headers=headers)).status_code == status


async def test_a_body_that_is_too_large_is_refused_though_its_size_is_not_announced(tmp_path: Path) -> None:
    async def pieces() -> AsyncGenerator[bytes]:
        for _ in range(20):
            yield b" " * 100_000

    async with _served(tmp_path) as url, httpx.AsyncClient(trust_env=False) as client:
        refused = await client.post(url, content=pieces(), headers=bearer("ada"))
    assert refused.status_code == 413


async def test_a_web_page_can_not_reach_a_server_without_tokens(tmp_path: Path) -> None:
    async with _served(tmp_path, None) as url, httpx.AsyncClient(trust_env=False) as client:
        refused = await client.post(url, json={}, headers={"Host": "elsewhere.example"})
        assert refused.status_code == 403
        async with _client(url, {}) as local:
            assert (await local.call("recall", question="Who am I?"))["bullets"] == []


async def test_langchain_agents_get_the_tools(tmp_path: Path) -> None:
    async with _served(tmp_path) as url:
        servers = MultiServerMCPClient(
            {"memory": {"transport": "streamable_http", "url": url, "headers": bearer("ada")}}
        )
        tools = {tool.name: tool for tool in await servers.get_tools()}
        call = ToolCall(
            name="remember",
            args={"statement": "Learner says: call me Ada", "about_learner": True},
            id="1",
            type="tool_call",
        )
        await tools["remember"].ainvoke(call)
        asked = ToolCall(name="recall", args={"question": "Who am I?"}, id="2", type="tool_call")
        found = cast("ToolMessage", await tools["recall"].ainvoke(asked))
        assert "call me Ada" in str(found.content)


def test_over_http_no_learner_is_named(ace: Commands) -> None:
    done = ace("mcp", "--http", "--learner", "ada")
    assert done.code == 2
    assert "leave --learner out" in done.err
    elsewhere = ace("mcp", "--http", "--host", "0.0.0.0")
    assert elsewhere.code == 1
    assert "127.0.0.1 only" in elsewhere.err
