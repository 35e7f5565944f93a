"""The page where it is embedded: left out, with other templates, and with a file missing."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from ace_graph.base import ConfigurationError
from ace_graph.memory.delta import Reset
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.server import create_app, mount_page
from ace_graph.server.page import render as assets
from ace_graph.testing.conformance import rewriting, write
from tests.consolidation.planted import bullets
from tests.server.serving import settings_for


def client(**options: object) -> httpx.AsyncClient:
    app = create_app(settings_for(model="offline"), **options)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # a test's shorthand
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://testserver")


async def test_it_can_be_left_out() -> None:
    async with client(page=False) as asking:
        assert [(await asking.get(path)).status_code for path in ("/", "/page/login")] == [404, 404]


async def test_the_start_leads_to_the_page() -> None:
    async with client() as asking:
        for path in ("/", "/page"):
            reply = await asking.get(path)
            assert (reply.status_code, reply.headers["location"]) == (303, "/page/")


async def test_templates_of_the_host_are_taken_first(tmp_path: Path) -> None:
    (tmp_path / "login.html").write_text(
        "{% extends 'base.html' %}{% block content %}Our school{% endblock %}"
    )
    async with client(page_templates=tmp_path) as asking:
        assert "Our school" in (await asking.get("/page/login")).text


async def test_every_file_is_served_and_may_be_kept_for_good() -> None:
    async with client() as asking:
        for name, media_type in assets.STATIC_FILES.items():
            found = assets.find_asset(name)
            assert found is not None
            reply = await asking.get(f"/page/static/{found.digest}/{name}")
            assert (reply.content, reply.headers["content-type"]) == (found.content, media_type)
            assert "immutable" in reply.headers["cache-control"]
        assert (await asking.get("/page/static/0/..%2Fassets.py")).status_code == 404


@pytest.mark.parametrize(
    ("known", "name", "missing"),
    [
        (assets.STATIC_FILES, "lost.css", r"static/lost\.css"),
        (assets.CATALOGUES, "lost", r"locale/lost"),
    ],
)
def test_a_missing_file_is_told_at_the_start(
    monkeypatch: pytest.MonkeyPatch, known: dict[str, str], name: str, missing: str
) -> None:
    monkeypatch.setitem(known, name, name)
    with pytest.raises(ConfigurationError, match=rf"{missing}.*install ace-graph again"):
        create_app(settings_for(model="offline"))


async def test_it_works_inside_an_application_of_somebody_else() -> None:
    app = create_app(settings_for(model="offline", jwt_secret=None))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        async with app.router.lifespan_context(app):
            yield

    host = FastAPI(lifespan=lifespan)
    host.mount("/memory", app)
    there = httpx.AsyncClient(
        transport=httpx.ASGITransport(host), base_url="http://localhost", follow_redirects=True
    )
    async with lifespan(host), there as asking:
        shown = await asking.get("/memory/page")
        assert shown.url.path == "/memory/page/chat"
        own = re.findall(r'(?:href|src|action|data-\w+)="(/[^"]*)"', shown.text)
        assert own
        assert [each for each in own if not each.startswith("/memory/page/")] == []
        [css] = [each for each in own if each.endswith(".css")]
        assert (await asking.get(css)).status_code == 200
        added = await asking.post(
            "/memory/page/playbooks/default/add",
            data={"content": "Name the unit"},
            headers={"origin": "http://localhost"},
        )
        assert added.url.path == "/memory/page/playbooks/default"
        assert "Name the unit" in added.text
        look = await asking.post(
            "/memory/page/look",
            data={"language": "de", "target": "/memory/page/runs"},
            headers={"origin": "http://localhost"},
        )
        assert (look.url.path, look.history[0].cookies.get("ace_language")) == ("/memory/page/runs", "de")


async def test_the_page_alone_is_put_into_an_application_of_somebody_else(tmp_path: Path) -> None:
    opened: list[str] = []

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[dict[str, str]]:
        opened.append("host")
        yield {"school": "ours"}
        opened.append("closed")

    host = FastAPI(lifespan=lifespan)
    mount_page(host, settings_for(tmp_path, model="offline", jwt_secret=None), prefix="/memory")

    @host.get("/")
    def home() -> str:
        return "Our school"

    there = httpx.AsyncClient(
        transport=httpx.ASGITransport(host), base_url="http://localhost", follow_redirects=True
    )
    async with host.router.lifespan_context(host) as state, there as asking:
        assert (state, opened) == ({"school": "ours"}, ["host"])
        assert (await asking.get("/")).json() == "Our school"
        added = await asking.post(
            "/memory/playbooks/default/add",
            data={"content": "Name the unit"},
            headers={"origin": "http://localhost"},
        )
        assert (added.url.path, added.status_code) == ("/memory/playbooks/default", 200)
        assert "Name the unit" in added.text
        for path in ("/memory", "/memory/"):
            assert (await asking.get(path)).url.path == "/memory/chat"
        assert (await asking.get("/api/playbook")).status_code == 404
        huge = await asking.post("/memory/playbooks/default/add", content=b"content=" + b"x" * 10_000_000)
        assert huge.status_code == 413
    assert opened == ["host", "closed"]
    async with SQLiteStore(tmp_path / "ace.db") as store:
        assert [each.content for each in (await store.load("local")).playbook.bullets()] == ["Name the unit"]


async def test_a_mounted_page_asks_for_a_token_and_refuses_other_machines(tmp_path: Path) -> None:
    guarded, development = FastAPI(), FastAPI()
    mount_page(guarded, settings_for(tmp_path, model="offline"))
    mount_page(development, settings_for(tmp_path / "2", model="offline", jwt_secret=None))
    elsewhere = httpx.ASGITransport(development, client=("192.0.2.7", 1))
    async with (
        guarded.router.lifespan_context(guarded),
        httpx.AsyncClient(transport=httpx.ASGITransport(guarded), base_url="http://localhost") as asking,
        httpx.AsyncClient(transport=elsewhere, base_url="http://localhost") as stranger,
    ):
        refused = await asking.get("/page/chat")
        assert (refused.status_code, 'name="token"' in refused.text) == (401, True)
        assert (await stranger.get("/page/chat")).status_code == 403


def test_the_lists_name_every_file_of_the_page() -> None:
    page = Path(assets.__file__).parent
    assert {path.name for path in (page / "templates").iterdir()} == set(assets.TEMPLATES)
    static = {path.name for path in (page / "static").iterdir()}
    assert static == {*assets.STATIC_FILES, "htmx.LICENSE.txt", "icons.LICENSE.txt"}


async def test_a_page_of_a_thousand_bullets_is_small(tmp_path: Path) -> None:
    texts = (
        f"Rule {n} about subject {n * 37}: " + "explain it in words of your own " * 3 for n in range(1_000)
    )
    async with SQLiteStore(tmp_path / "ace.db") as store:
        await write(store, "local", rewriting(Reset(bullets=bullets(*texts))))
    app = create_app(settings_for(tmp_path, model="offline", jwt_secret=None))
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost") as asking,
    ):
        page = await asking.get("/page/playbooks/default")
        assert page.text.count(" data-row>") == 30
        files = re.findall(r'(?:href|src)="(/page/static/[^"#]*)', page.text)
        files = list(dict.fromkeys(files))
        assert len(files) == len(assets.STATIC_FILES)
        loaded = [await asking.get(each) for each in files]
    assert sum(len(each.content) for each in (page, *loaded)) < 150_000
