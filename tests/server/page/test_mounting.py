"""The page where it is embedded: left out, with other templates, and with a file missing."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from ace_graph.errors import ConfigurationError
from ace_graph.server import create_app
from ace_graph.server.page import assets
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


def test_a_missing_file_is_told_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(assets.STATIC_FILES, "lost.css", "text/css")
    with pytest.raises(ConfigurationError, match=r"static/lost\.css.*install ace-graph again"):
        create_app(settings_for(model="offline"))


def test_the_lists_name_every_file_of_the_page() -> None:
    page = Path(assets.__file__).parent
    assert {path.name for path in (page / "templates").iterdir()} == set(assets.TEMPLATES)
    static = {path.name for path in (page / "static").iterdir()}
    assert static == {*assets.STATIC_FILES, "htmx.LICENSE.txt"}


async def test_a_page_of_a_thousand_bullets_is_small() -> None:
    weight = sum(len(found.content) for name in assets.STATIC_FILES if (found := assets.find_asset(name)))
    assert weight < 90_000
