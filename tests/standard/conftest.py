"""The suites of langchain-tests measure the time of a constructor; here it is only called.

pytest-benchmark itself is left out (`-p no:benchmark` in pyproject.toml).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

T = TypeVar("T")


@pytest.fixture
def benchmark() -> Callable[..., object]:
    """What calls a function once, in place of the plugin's measurement."""

    def once(function: Callable[..., T], *arguments: object, **named: object) -> T:
        return function(*arguments, **named)

    return once
