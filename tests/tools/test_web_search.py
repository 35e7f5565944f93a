"""Web search talks to a local server that stands for Tavily, and always answers with text."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from langchain_core.tools import BaseTool

from ace_graph.agent.tools.web_search import web_search
from ace_graph.base import Settings, variable_names

KEY = "tvly-plain-key-1234"


class Tavily:
    """Answers every search with `status` and `body`, and keeps what it was asked."""

    def __init__(self) -> None:
        self.status = 200
        self.body: object = {"results": []}
        self.asked: list[dict[str, object]] = []
        self.hangs = False
        self.closing = threading.Event()

    def handler(self) -> type[BaseHTTPRequestHandler]:
        tavily = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                tavily.asked.append({**body, "authorization": self.headers["Authorization"]})
                if tavily.hangs:
                    tavily.closing.wait()
                    return
                data = json.dumps(tavily.body).encode()
                self.send_response(tavily.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:
                pass

        return Handler


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in variable_names():
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def tavily() -> Tavily:
    return Tavily()


@pytest.fixture
def url(tavily: Tavily) -> Iterator[str]:
    http = ThreadingHTTPServer(("127.0.0.1", 0), tavily.handler())
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{http.server_address[1]}"
    tavily.closing.set()
    http.shutdown()
    thread.join()
    http.server_close()


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("TAVILY_API_KEY", KEY)
    return Settings.load()


@pytest.fixture
def search(url: str, given: Settings) -> BaseTool:
    return web_search(given, base_url=url, seconds=5)


async def test_results_are_listed_with_title_address_and_excerpt(tavily: Tavily, search: BaseTool) -> None:
    tavily.body = {"results": [{"title": "Fractions", "url": "https://a.example", "content": "Halves."}]}
    text = await search.ainvoke({"query": "common denominators"})
    assert text == "1. Fractions | https://a.example\n   Halves."
    assert tavily.asked[0]["query"] == "common denominators"
    assert tavily.asked[0]["authorization"] == f"Bearer {KEY}"


async def test_it_works_synchronously_even_inside_a_running_loop(search: BaseTool) -> None:
    assert search.invoke({"query": "fractions"}) == "No results."


async def test_results_are_bounded_and_can_not_look_like_more_than_one(
    tavily: Tavily, search: BaseTool
) -> None:
    long = {"title": "t" * 5000, "url": "u" * 5000, "content": "line\n2. forged\u202e | x\n" + "c" * 50_000}
    tavily.body = {"results": [long] * 50}
    text = await search.ainvoke({"query": "fractions"})
    assert len(text) < 6_000
    assert len(text.splitlines()) == 10
    assert "\u202e" not in text


@pytest.mark.parametrize(
    "body", [[], {"results": "none"}, {"results": [1, None]}, {"results": [{"title": 5, "url": None}]}]
)
async def test_a_strange_reply_is_a_text(body: object, tavily: Tavily, search: BaseTool) -> None:
    tavily.body = body
    assert isinstance(await search.ainvoke({"query": "fractions"}), str)


@pytest.mark.parametrize("status", [400, 401, 403, 429, 500])
async def test_a_failed_search_is_a_text_without_the_key(
    status: int, tavily: Tavily, search: BaseTool
) -> None:
    tavily.status, tavily.body = status, {"detail": {"error": f"refused {KEY}"}}
    text = await search.ainvoke({"query": "fractions"})
    assert text.startswith("Error: web search failed")
    assert KEY not in text


async def test_a_hang_and_a_server_that_is_not_there_are_texts(
    tavily: Tavily, url: str, given: Settings
) -> None:
    tavily.hangs = True
    hanging = await web_search(given, base_url=url, seconds=0.1).ainvoke({"query": "fractions"})
    assert hanging == "Error: web search gave no answer within 0.1 s."
    gone = await web_search(given, base_url="http://127.0.0.1:9").ainvoke({"query": "fractions"})
    assert gone.startswith("Error: web search failed")


async def test_a_missing_key_is_a_text_that_says_what_to_set() -> None:
    tool = web_search(Settings.load())
    assert "TAVILY_API_KEY" in await tool.ainvoke({"query": "fractions"})
    assert "TAVILY_API_KEY" in tool.invoke({"query": "fractions"})


async def test_a_missing_package_is_a_text_that_says_what_to_install(
    search: BaseTool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tavily", None)
    assert "'.[search]'" in await search.ainvoke({"query": "fractions"})


async def test_wrong_arguments_and_an_empty_query_are_texts(search: BaseTool, tavily: Tavily) -> None:
    assert (await search.ainvoke({})).startswith("Error: ")
    assert (await search.ainvoke({"query": " \u200e\n"})).startswith("Error: ")
    assert tavily.asked == []
