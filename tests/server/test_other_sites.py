"""What a browser sends for another website changes nothing, also in development mode, without tokens."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest
from fastapi.routing import APIRoute

from ace_graph.base import Settings
from ace_graph.hosts.mcp_server import http_app
from ace_graph.memory.delta import Add
from ace_graph.server import Overrides, create_app
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import CountingStore
from tests.plugins.heavy import some_heavy
from tests.server.serving import listening, serving, settings_for

FOREIGN: tuple[dict[str, str], ...] = (
    {"Origin": "https://evil.example"},
    {"Origin": "https://localhost:{port}"},
    {"Origin": "http://localhost"},
    {"Origin": "http://localhost:{port}.evil.example"},
    {"Origin": "null"},
    {"Origin": ""},
    {"Origin": "http://["},
    {"Origin": "http://localhost:{port}x"},
    {"Origin": "https://evil.example", "Sec-Fetch-Site": "same-origin"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
)


def changing_routes() -> list[tuple[str, str]]:
    routes = [each for each in create_app(settings_for()).routes if isinstance(each, APIRoute)]
    return [
        (method, re.sub(r"{\w+}", "x1", route.path))
        for route in routes
        for method in sorted((route.methods or set()) - {"GET", "HEAD"})
    ]


async def test_no_site_but_our_own_changes_anything() -> None:
    store = CountingStore()
    async with serving(
        settings_for(jwt_secret=None), Overrides(model=ScriptedModel([]), store=store)
    ) as served:
        url = httpx.URL(str(served.client.base_url)).copy_with(host="localhost")
        async with httpx.AsyncClient(base_url=url, trust_env=False) as browser:
            for headers in FOREIGN:
                sent = {name: value.replace("{port}", str(url.port)) for name, value in headers.items()}
                reply = await browser.post("/api/playbook", json={"content": "Mine"}, headers=sent)
                assert reply.status_code == 403, headers
            kept = (await browser.get("/api/playbook")).json()["bullets"]
    assert kept == []


@pytest.mark.parametrize("headers", some_heavy(FOREIGN, (FOREIGN[0], FOREIGN[-1]).__contains__), ids=str)
async def test_no_route_takes_a_change_from_another_site(headers: dict[str, str]) -> None:
    store = CountingStore()
    await store.seed("local", Add(content="Name the unit"))
    routes = changing_routes()
    assert len(routes) > 50
    settings = settings_for(jwt_secret=None)
    async with serving(settings, Overrides(model=ScriptedModel([]), store=store)) as served:
        url = httpx.URL(str(served.client.base_url)).copy_with(host="localhost")
        sent = {name: value.replace("{port}", str(url.port)) for name, value in headers.items()}
        async with httpx.AsyncClient(base_url=url, trust_env=False) as browser:
            answers = {
                (method, path): (await browser.request(method, path, headers=sent)).status_code
                for method, path in routes
            }
            kept = (await browser.get("/api/playbook", headers=sent)).json()["bullets"]
    assert set(answers.values()) == {403}, answers
    assert len(kept) == 1


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "http://localhost:{port}"},
        {"Origin": "http://LOCALHOST:{port}", "Sec-Fetch-Site": "same-origin"},
        {"Origin": "https://app.example", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "https://localhost:{port}", "X-Forwarded-Proto": "https, http"},
        {"Origin": "https://localhost:{port}", "Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "none"},
    ],
    ids=str,
)
async def test_own_and_named_sites_and_programs_may_change(headers: dict[str, str]) -> None:
    settings = settings_for(jwt_secret=None, server_origins="https://app.example")
    async with serving(settings, Overrides(model=ScriptedModel([]))) as served:
        url = httpx.URL(str(served.client.base_url)).copy_with(host="localhost")
        sent = {name: value.replace("{port}", str(url.port)) for name, value in headers.items()}
        async with httpx.AsyncClient(base_url=url, trust_env=False) as browser:
            reply = await browser.post("/api/playbook", json={"content": "Name it"}, headers=sent)
    assert reply.is_success, reply.text


async def test_a_default_port_may_be_written_or_left_out() -> None:
    app = create_app(settings_for(jwt_secret=None), Overrides(model=ScriptedModel([])))
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost") as browser,
    ):
        for host, origin in (("localhost", "http://localhost:80"), ("localhost:80", "http://localhost")):
            headers = {"Host": host, "Origin": origin}
            reply = await browser.post("/api/playbook", json={"content": "Name it"}, headers=headers)
            assert reply.is_success, reply.text


async def test_the_tools_take_no_call_from_another_site(tmp_path: Path) -> None:
    settings = Settings(store=f"sqlite:///{tmp_path / 'ace.db'}", jwt_secret=None)
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accepted = {"Accept": "application/json, text/event-stream"}
    async with (
        http_app(settings) as app,
        listening(app, lifespan="off") as (_, url),
        httpx.AsyncClient(trust_env=False, headers=accepted) as client,
    ):
        for headers in FOREIGN:
            sent = {name: value.replace("{port}", "1") for name, value in headers.items()}
            assert (await client.post(f"{url}/mcp", json=body, headers=sent)).status_code == 403, sent
        assert (await client.post(f"{url}/mcp", json=body)).status_code == 200
