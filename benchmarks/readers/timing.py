"""How long a reader takes on a text, how that grows, and how long its longest call into C takes.

Times are of this thread on the processor, the least of a few runs, so that other processes hardly count.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType

__all__ = ["Timing", "longest_call", "time_reader"]

_WORTH_MS = 4.0
"""Less than this is noise: it has no ratio."""


@dataclass(frozen=True)
class Timing:
    """Milliseconds for the longer text, and how many times those for half of it."""

    ms: float
    ratio: float


def time_reader(
    read: Callable[[str], object], half: str, whole: str, clock: Callable[[], float] = time.thread_time
) -> Timing:
    """Time `read` on a text and on one of double size. A ratio that looks bad is taken again.

    `clock` gives seconds: those of this thread on the processor, or what a test counts.
    """
    ms = _least(read, whole, 1, clock)
    if ms < _WORTH_MS:
        return Timing(ms, 1.0)
    ratio = ms / _least(read, half, 1, clock)
    for _ in range(3):
        if ratio <= 2.2:
            break
        ms = min(ms, _least(read, whole, 3, clock))
        ratio = min(ratio, ms / _least(read, half, 3, clock))
    return Timing(ms, ratio)


def longest_call(read: Callable[[str], object], text: str) -> float:
    """Return the milliseconds of the longest stay in C code while `read` reads `text`.

    A stay ends where C calls Python, as `"".join(...)` does with a generator: another thread may run there.
    """
    running, began, longest = list[str](), 0.0, 0.0

    def note(_: FrameType, event: str, __: object) -> None:
        nonlocal began, longest
        if running and running[-1] == "c_call":
            longest = max(longest, time.thread_time() - began)
        if event in ("call", "c_call"):
            running.append(event)
        elif running:
            running.pop()
        began = time.thread_time()

    sys.setprofile(note)
    try:
        read(text)
    finally:
        sys.setprofile(None)
    return longest * 1000


def _least(read: Callable[[str], object], text: str, runs: int, clock: Callable[[], float]) -> float:
    return min(_once(read, text, clock) for _ in range(runs)) * 1000


def _once(read: Callable[[str], object], text: str, clock: Callable[[], float]) -> float:
    began = clock()
    read(text)
    return clock() - began
