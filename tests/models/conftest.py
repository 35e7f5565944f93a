"""What the tests of this folder share: a local Gemini server, its client, and a clock that does not wait."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from langchain_google_genai import ChatGoogleGenerativeAI
from pydantic import SecretStr

from ace_graph.base import Sleep
from ace_graph.testing import GeminiServer
from tests.plugins.sizes import PATIENT

KEY = "plain-key-without-a-known-prefix-1234"


@pytest.fixture
def waits() -> list[float]:
    """How long each retry would have waited, in seconds."""
    return []


@pytest.fixture
def no_wait(waits: list[float]) -> Sleep:
    """Go on at once, and write down the wait."""

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    return sleep


@pytest.fixture
def server() -> Iterator[GeminiServer]:
    with GeminiServer() as running:
        yield running


@pytest.fixture
async def gemini(server: GeminiServer) -> AsyncIterator[ChatGoogleGenerativeAI]:
    model = ChatGoogleGenerativeAI(
        model="gemini-test", api_key=SecretStr(KEY), base_url=server.url, max_retries=1, timeout=PATIENT
    )
    yield model
    await model.aclose()
