"""The default clock."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Protocol

Sleep = Callable[[float], Awaitable[None]]
"""Waits so many seconds, as `asyncio.sleep` does; tests pass one that does not."""


def utc_now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


# The server's clock: one object, so that a test can set the time.


class Clock(Protocol):
    """The date, a monotonic time, and waiting."""

    def now(self) -> datetime:
        """Return the date, with its offset."""
        ...

    def monotonic(self) -> float:
        """Return seconds of which only differences have a meaning."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        """Return the date in UTC."""
        return utc_now()

    def monotonic(self) -> float:
        """Return the machine's monotonic seconds."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait, and let others work."""
        await asyncio.sleep(seconds)
