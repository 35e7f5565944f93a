"""A plugin for pytest: tests that took the least time when mutmut measured them run first.

Most mutants are noticed by a test of milliseconds. mutmut names the tests of a mutant in no order.

Does not: measure.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

_MEASURED = Path("mutmut-stats.json")
"""Below the folder `mutants`, in which mutmut runs the tests."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort, where there are times."""
    if not _MEASURED.exists():
        return
    took: dict[str, float] = json.loads(_MEASURED.read_text())["duration_by_test"]
    items.sort(key=lambda item: took.get(item.nodeid, 0.0))
