"""`ACE_SKIP_NEO4J=1` leaves out every test that is marked `neo4j`."""

from __future__ import annotations

import os

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("ACE_SKIP_NEO4J") != "1":
        return
    left_out = [item for item in items if item.get_closest_marker("neo4j")]
    items[:] = [item for item in items if not item.get_closest_marker("neo4j")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
