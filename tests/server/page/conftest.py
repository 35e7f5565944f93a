"""A server of the page in a thread of this process, and visitors whose browsers notice every fault."""

from __future__ import annotations

import asyncio
import re
import socket
import threading
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
import uvicorn
from fastapi import FastAPI
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, Request

from ace_graph.memory.delta import Reset
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.server import create_app
from ace_graph.testing.conformance import rewriting, write
from tests.consolidation.planted import bullets
from tests.plugins.sizes import PATIENT
from tests.server.serving import bearer, settings_for, token


@dataclass(frozen=True)
class Site:
    """A server with the page, and its API for what a test prepares."""

    url: str
    app: FastAPI
    api: httpx.Client
    database: Path

    def add(self, learner: str, *contents: str, **more: object) -> list[str]:
        """Store bullets over the API; return their ids."""
        found = [
            self.api.post("/api/playbook", json={"content": text, **more}, headers=bearer(learner))
            for text in contents
        ]
        return [reply.json()["id"] for reply in found]

    def plant(self, learner: str, *contents: str) -> None:
        """Store bullets as they are, also such as an Add would merge at once."""

        async def reset(store: SQLiteStore) -> None:
            await write(store, learner, rewriting(Reset(bullets=bullets(*contents))))

        self.in_store(reset)

    def in_store(self, job: Callable[[SQLiteStore], Coroutine[None, None, None]]) -> None:
        """Do something to the store, behind the server's back."""

        async def opened() -> None:
            async with SQLiteStore(self.database) as store:
                await job(store)

        # Playwright's loop runs in the thread of the test.
        thread = threading.Thread(target=lambda: asyncio.run(opened()))
        thread.start()
        thread.join()

    def contents(self, learner: str) -> list[str]:
        """Return what a learner's playbook says, as the API has it."""
        listed = self.api.get("/api/playbook?status=all", headers=bearer(learner)).json()["bullets"]
        return [bullet["content"] for bullet in listed]


@dataclass
class Visitor:
    """A browser of its own, and all that went wrong in it."""

    page: Page
    context: BrowserContext
    site: Site
    problems: list[str] = field(default_factory=list[str])
    allowed: set[int] = field(default_factory=set[int])

    def open(self, path: str) -> None:
        """Open a view."""
        self.page.goto(f"{self.site.url}/page{path}")

    def click(self, what: str | Locator) -> None:
        """Click, and wait until the view that this may lead to is whole: a click ends where that begins."""
        if isinstance(what, str):
            self.page.click(what)
        else:
            what.click()
        self.page.wait_for_load_state()

    def said(self) -> str:
        """Return what the status region says."""
        return self.page.locator("#status p").inner_text().strip()

    def watch(self) -> None:
        """Note errors of the console, of the policy and of scripts, and requests to other hosts."""
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.problems.append(f"script: {error}"))
        self.page.on("request", self._request)

    def _console(self, message: ConsoleMessage) -> None:
        expected = any(f"status of {status}" in message.text for status in self.allowed)
        if message.type in ("error", "warning") and not expected:
            self.problems.append(f"console: {message.text}")

    def _request(self, request: Request) -> None:
        if urlsplit(request.url).netloc != urlsplit(self.site.url).netloc and not request.url.startswith(
            "data:"
        ):
            self.problems.append(f"another host: {request.url}")


Visit = Callable[..., Visitor]

_OF_DEVELOPERS = re.compile(
    r"""\b(?:bullets?|deltas?|effects?|snapshots?|turns?|prompts?|quarantin\w*|trajector\w*|reflectors?|curat\w*
    |consolidat\w*|dream\w*|grants?|lift|evidence|votes?|voted|archiv\w*|episodes?|embedd\w*|slots?
    |conversations?|gespräch\w*|entry|entries|eintr\w*|rotten|notebooks?|threads?|agents?|pinned|unpinned
    |belege?|prüfung|anti_pattern|learner\ says|[a-z]{3}-\d{5})\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""What the page has no word of its own for, or another one: see the words of the page in the glossary."""


def words_of_developers(text: str) -> list[str]:
    """Return what a text of the page says in words that only developers know, or that name a thing twice."""
    return _OF_DEVELOPERS.findall(text)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site_in(tmp_path_factory.mktemp("page")) as running:
        yield running


@contextmanager
def site_in(folder: Path, **more: object) -> Generator[Site]:
    """Serve the page from a folder until the block ends."""
    given: dict[str, object] = {
        "model": "offline",
        "store": f"sqlite:///{folder / 'ace.db'}",
        "conversations": f"sqlite:///{folder / 'talk.db'}",
        "server_rate": 1_000_000,
        "learning": "inline",
        "jwt_operator_claim": "operates",
    }
    settings = settings_for(None, **{**given, **more})
    app = create_app(settings)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        with httpx.Client(base_url=url, timeout=PATIENT) as api:
            yield Site(url, app, api, folder / "ace.db")
        server.should_exit = True
        thread.join(30)


@pytest.fixture
def visit(site: Site, browser: Browser) -> Iterator[Visit]:
    """Makes visitors; at the end none of their browsers may have had a fault."""
    visitors: list[Visitor] = []

    def come(learner: str | None = None, **options: object) -> Visitor:
        context = browser.new_context(**{"base_url": site.url, "locale": "en-GB", **options})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # Playwright's many options
        context.set_default_timeout(1000 * PATIENT)
        visitor = Visitor(context.new_page(), context, site)
        visitor.watch()
        visitors.append(visitor)
        if learner is not None:
            sign_in(visitor, learner)
        return visitor

    yield come
    for visitor in visitors:
        visitor.context.close()
    assert [problem for visitor in visitors for problem in visitor.problems] == []


def sign_in(visitor: Visitor, learner: str) -> None:
    """Send the form that `test_session.py` fills in; no browser need draw it for each visitor."""
    reply = visitor.context.request.post(
        f"{visitor.site.url}/page/login",
        form={"token": token(learner)},
        headers={"Origin": visitor.site.url},
        max_redirects=0,
    )
    assert reply.status == 303, reply.text()
