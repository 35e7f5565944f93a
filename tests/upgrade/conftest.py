"""The commands of `ace-graph` in a folder of their own, as the tests of the command line have them."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("tests.upgrade.memory_of_v0_1")

from tests.cli.conftest import ace  # noqa: E402  after that

__all__ = ["ace"]
