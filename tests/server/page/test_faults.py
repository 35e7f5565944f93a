"""The page where things go wrong or get long: a killed server, a long conversation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page

from ace_graph.testing import GeminiServer
from tests.plugins.sizes import PATIENT
from tests.plugins.warm_python import WarmPython
from tests.server.page.conftest import Site, Visit
from tests.server.process import ServerProcess, server
from tests.server.serving import bearer, token

pytestmark = pytest.mark.slow

QUESTION = "Remember that I like tea. What is 1/2 + 1/3?"


def come(page: Page, running: ServerProcess) -> None:
    page.goto(f"{running.url}/page/login")
    page.fill("#token", token("alice"))
    page.click("main button")
    page.wait_for_url("**/page/**")


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(locale="en-GB")
    context.set_default_timeout(1000 * PATIENT)
    yield context.new_page()
    context.close()


def test_a_server_that_is_killed_in_an_answer_loses_nothing(
    tmp_path: Path, warm_python: WarmPython, page: Page
) -> None:
    with GeminiServer() as gemini:
        given = {"ACE_MODEL": "", "GEMINI_API_KEY": "any", "GOOGLE_GEMINI_BASE_URL": gemini.url}
        gemini.hang()
        with server(tmp_path, warm_python, **given) as running:
            come(page, running)
            page.fill("#message", QUESTION)
            page.click("#send")
            page.locator("#stop:visible").wait_for()
            while not gemini.requests:
                page.wait_for_timeout(10)
            running.kill()
            page.locator("#problem", has_text="The connection was lost").wait_for()
            assert QUESTION in page.locator(".line.user").inner_text()
        gemini.answer("<final>5/6</final>")
        gemini.answer('{"reasoning": "right", "bullet_tags": [], "lessons": []}')
        with server(tmp_path, warm_python, **given) as running:
            come(page, running)
            found = httpx.Response(0)
            with httpx.Client(base_url=running.url, headers=bearer("alice"), timeout=PATIENT) as api:
                while "5/6" not in found.text:  # the turn is taken up
                    found = api.get("/api/learner/export")
            page.goto(f"{running.url}/page/chat")
            page.locator("aside a", has_text="Remember that I like tea").click()
            page.locator(".line.assistant", has_text="5/6").wait_for()
            assert QUESTION in page.locator(".line.user").inner_text()


def test_a_temporary_chat_whose_server_is_killed_gives_the_message_back(
    tmp_path: Path, warm_python: WarmPython, page: Page
) -> None:
    with GeminiServer() as gemini:
        given = {"ACE_MODEL": "", "GEMINI_API_KEY": "any", "GOOGLE_GEMINI_BASE_URL": gemini.url}
        gemini.hang()
        with server(tmp_path, warm_python, **given) as running:
            come(page, running)
            page.goto(f"{running.url}/page/chat/temporary")
            page.fill("#message", QUESTION)
            page.click("#send")
            page.locator("#stop:visible").wait_for()
            while not gemini.requests:
                page.wait_for_timeout(10)
            running.kill()
            page.locator("#problem", has_text="Send it again").wait_for()
    assert page.input_value("#message") == QUESTION
    assert page.locator(".line").count() == 0


def test_a_long_conversation_comes_in_pages(visit: Visit, site: Site) -> None:
    conversation = None
    for n in range(30):
        body = {"message": f"Question {n}: what is {n} + 1?"}
        if conversation:
            body["conversationId"] = conversation
        reply = site.api.post("/api/ai/chat", json=body, headers=bearer("bo"))
        conversation = reply.json()["conversationId"]
    bo = visit("bo")
    bo.open(f"/chat/{conversation}")
    assert bo.page.locator(".line").count() == 50
    bo.click(bo.page.locator("a", has_text="Earlier"))
    assert bo.page.locator(".line", has_text="Question 0:").count() == 1
    assert bo.page.locator(".line").count() == 10
