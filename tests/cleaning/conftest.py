"""A time that only moves when a test says so."""

from __future__ import annotations

import pytest

from tests.background.conftest import Time


@pytest.fixture
def time() -> Time:
    return Time()
