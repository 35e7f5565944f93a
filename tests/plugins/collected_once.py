"""The garbage collector leaves alone what lives as long as the process: imported modules and collected tests.

They are some million objects, none of which is garbage. Looking through them again and again takes a third of
the time of collecting the tests, and would slow down each full collection afterwards.
"""

from __future__ import annotations

import gc
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
