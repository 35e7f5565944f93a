"""The server over streamable HTTP: the learner is the token's subject, and nobody without one gets in.

Does not: try every tool; they are the same over all transports.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from langchain_core._api import suppress_langchain_beta_warning
from langchain_core.messages import ToolCall, ToolMessage
from mcp import MCPError
from mcp.types import ElicitResult, InputRequiredResult, TextContent, TextResourceContents
from pydantic import SecretStr

from ace_graph.base import Settings
from ace_graph.hosts.mcp_server import http_app
from tests.cli.commands import Commands
from tests.mcp_server.clients import Json, over_http
from tests.server.serving import SECRET, bearer, listening


@asynccontextmanager
async def _served(folder: Path, secret: str | None = SECRET) -> AsyncGenerator[str]:
    """Yield the address of a server with a memory in this folder."""
    key = None if secret is None else SecretStr(secret)
    settings = Settings(store=f"sqlite:///{folder / 'ace.db'}", jwt_secret=key, server_rate=100_000)
    async with http_app(settings) as app, listening(app, lifespan="off") as (_, url):
        yield f"{url}/mcp"


async def test_each_token_reaches_the_memory_of_its_subject(tmp_path: Path) -> None:
    async with _served(tmp_path) as url:
        async with over_http(url, bearer("ada")) as ada, over_http(url, bearer("ben")) as ben:
            kept = await ada.call("remember", statement="Learner says: call me Ada", about_learner=True)
            seen = await ada.call("recall", question="Who am I?")
            assert [each["id"] for each in seen["bullets"]] == [kept["id"]]
            assert (await ben.call("recall", question="Who am I?"))["bullets"] == []
        async with over_http(url, bearer("ada")) as later:
            assert (await later.call("playbook_show"))["total"] == 1


async def test_clients_of_both_eras_share_one_address(tmp_path: Path) -> None:
    async with (
        _served(tmp_path) as url,
        over_http(url, bearer("ada"), mode="legacy") as old,
        over_http(url, bearer("ada")) as new,
    ):
        assert (old.session.protocol_version, new.session.protocol_version) == ("2025-11-25", "2026-07-28")
        kept = await old.call("remember", statement="Learner says: call me Ada", about_learner=True)
        assert (await new.call("recall", question="Who am I?"))["bullets"][0]["id"] == kept["id"]
        await new.call("forget", bullet_id=kept["id"])
        assert (await old.call("playbook_show"))["total"] == 0
        listed = [await client.session.list_tools() for client in (old, new)]
        assert [tool.name for tool in listed[0].tools] == [tool.name for tool in listed[1].tools]
        assert (listed[1].ttl_ms, listed[1].cache_scope) == (3_600_000, "public")
        own = await new.session.list_resources()
        assert (own.ttl_ms, own.cache_scope) == (0, "private")


async def test_a_client_may_change_its_era_between_two_requests(tmp_path: Path) -> None:
    accepted = {**bearer("ada"), "accept": "application/json, text/event-stream"}
    call: Json = {"name": "recall", "arguments": {"question": "Who am I?"}}
    about: Json = {"protocolVersion": "2026-07-28", "clientCapabilities": {}}
    envelope = {f"io.modelcontextprotocol/{name}": value for name, value in about.items()}
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "recall"}
    async with _served(tmp_path) as url, httpx.AsyncClient(headers=accepted, trust_env=False) as client:
        for modern in (False, True, False, True):
            params = {**call, "_meta": envelope} if modern else call
            body: Json = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            told = await client.post(url, json=body, headers=headers if modern else {})
            assert (told.status_code, "recall_id" in told.text) == (200, True)
            assert ('"resultType":"complete"' in told.text) is modern
        refused = await client.post(url, json=body, headers={**headers, "Mcp-Name": "forget"})
    assert refused.status_code == 400


async def test_a_question_of_one_server_may_be_answered_to_another(tmp_path: Path) -> None:
    said = {"statement": "Learner says: I have asthma"}
    yes = ElicitResult(action="accept", content={})

    async def never(*_: Any) -> ElicitResult:  # Any: the client's own types; it only says that it can ask
        raise AssertionError

    async with _served(tmp_path) as one, _served(tmp_path) as two:
        async with over_http(one, bearer("ada"), elicitation_callback=never) as ada:
            asked = await ada.session.session.call_tool("remember", said, allow_input_required=True)
            assert isinstance(asked, InputRequiredResult)
            ((question, request),) = (asked.input_requests or {}).items()
            assert "I have asthma" in str(request)
            assert (await ada.call("playbook_show"))["total"] == 0
        async with over_http(two, bearer("ada"), elicitation_callback=never) as ada:
            kept = await ada.session.call_tool(
                "remember", said, input_responses={question: yes}, request_state=asked.request_state
            )
            assert not kept.is_error
            assert (await ada.call("playbook_show"))["total"] == 1


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_no_stream_is_opened_in_which_nothing_would_come(
    tmp_path: Path, method: str, version: str
) -> None:
    asked = {
        **bearer("ada"),
        "accept": "text/event-stream, application/json",
        "mcp-protocol-version": version,
    }
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


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_resources_and_prompts_are_of_the_tokens_subject(tmp_path: Path, mode: str) -> None:
    async with (
        _served(tmp_path) as url,
        over_http(url, bearer("ada"), mode=mode) as ada,
        over_http(url, bearer("ben"), mode=mode) as ben,
    ):
        await ada.call("remember", statement="Learner says: call me Ada", about_learner=True)
        address = "playbook:///default"
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
        with pytest.raises(MCPError, match="no such playbook"):
            await ben.session.read_resource("playbook:///ada%2Fdefault")


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
        headers |= {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"}
        assert (await client.post(url, content=sent, headers=headers)).status_code == 400


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
        async with over_http(url, {}) as local:
            assert (await local.call("recall", question="Who am I?"))["bullets"] == []


async def test_langchain_agents_get_the_tools(tmp_path: Path) -> None:
    with suppress_langchain_beta_warning():
        from langchain.mcp import MCPAdapter
    server = {"url": "", "headers": bearer("ada")}
    async with _served(tmp_path) as server["url"], MCPAdapter({"mcpServers": {"memory": server}}) as adapter:
        tools = {tool.name: tool for tool in await adapter.list_tools()}
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
