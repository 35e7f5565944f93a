"""One development server for the tests of this folder."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from tests.plugins.sizes import PATIENT
from tests.studio.client import Studio
from tests.studio.server import DevServer, dev_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    with dev_server(tmp_path_factory.mktemp("studio")) as running:
        yield running


@pytest.fixture
async def studio(server: DevServer) -> AsyncIterator[Studio]:
    async with httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=PATIENT) as http:
        yield Studio(http)
