"""The stores that the tests of playbooks run on."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from ace_graph.memory.stores import Store
from ace_graph.memory.stores.sql import SQLiteStore


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Store]:
    made = SQLiteStore() if request.param == "memory" else SQLiteStore(tmp_path / "ace.db")
    async with made as opened:
        yield opened
