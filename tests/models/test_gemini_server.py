"""The local Gemini server fails a test whenever its script and the requests differ."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from langchain_core.messages import HumanMessage
from langchain_google_genai import ChatGoogleGenerativeAI
from pydantic import SecretStr

from ace_graph.agent.models import call_model, close_model
from ace_graph.base import ModelError
from ace_graph.testing import GeminiServer
from tests.plugins.sizes import PATIENT

QUESTION = [HumanMessage("2+2?")]


def client(url: str) -> ChatGoogleGenerativeAI:
    return ChatGoogleGenerativeAI(
        model="m", api_key=SecretStr("k"), base_url=url, max_retries=1, timeout=PATIENT
    )


async def test_a_request_without_a_reply_fails_even_when_its_error_is_swallowed() -> None:
    with GeminiServer() as server:
        model = client(server.url)
        with pytest.raises(ModelError, match="no reply is queued"):
            await call_model(model, QUESTION, timeout=PATIENT)
        await close_model(model)
        with pytest.raises(AssertionError, match="1 requests had no reply"):
            server.assert_done()


async def test_a_default_answers_whatever_comes_after_the_queue() -> None:
    with GeminiServer(default="always") as server:
        model = client(server.url)
        server.answer("first")
        texts = [(await call_model(model, QUESTION, timeout=PATIENT)).text for _ in range(3)]
        await close_model(model)
        server.assert_done()
    assert texts == ["first", "always", "always"]


@pytest.mark.parametrize("queue", [GeminiServer.answer, GeminiServer.block, GeminiServer.hang])
def test_replies_that_nobody_asked_for_fail(queue: Callable[[GeminiServer], None]) -> None:
    with GeminiServer() as server:
        queue(server)
        with pytest.raises(AssertionError, match="1 replies were not asked for"):
            server.assert_done()
