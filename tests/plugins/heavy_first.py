"""The tests marked `heavy` run first, so that no worker is left alone with one at the end.

Those marked `long` are left out unless ACE_TEST_HEAVY=1 is set, as in .ci/long.
"""

from __future__ import annotations

import pytest

from tests.plugins.sizes import HEAVY


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    long = [] if HEAVY else [item for item in items if item.get_closest_marker("long")]
    if long:
        items[:] = [item for item in items if item not in long]
        config.hook.pytest_deselected(items=long)
    items.sort(key=lambda item: item.get_closest_marker("heavy") is None)
