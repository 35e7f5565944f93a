"""Counts calls, for tests of how much work something takes."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType

__all__ = ["calls_of"]


def calls_of(counted: Callable[..., object], work: Callable[[], object]) -> int:
    """Return how often `work` calls the Python function `counted`."""
    calls: Counter[CodeType] = Counter()

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            calls[frame.f_code] += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    assert isinstance(counted, FunctionType)
    return calls[counted.__code__]
