"""`loop_clock`: the clock of a test's event loop, which the test moves on to reach a limit."""

from __future__ import annotations

import asyncio

import pytest


class LoopClock:
    """Adds what a test says to the time of a loop; `asyncio.timeout` and `call_later` go by it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch) -> None:
        self._ahead = 0.0
        real = loop.time
        monkeypatch.setattr(loop, "time", lambda: real() + self._ahead)

    def advance(self, seconds: float) -> None:
        self._ahead += seconds


@pytest.fixture
async def loop_clock(monkeypatch: pytest.MonkeyPatch) -> LoopClock:
    return LoopClock(asyncio.get_running_loop(), monkeypatch)
