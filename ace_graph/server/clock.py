"""Time, as the server sees it: one object, so that a test can choose it.

Does not: measure for people; durations in logs and metrics come from here too.
"""

from __future__ import annotations

import asyncio
import time
from datetime import datetime
from typing import Protocol

from ace_graph.memory.clock import utc_now

__all__ = ["Clock", "SystemClock"]


class Clock(Protocol):
    """The date, a time that never goes back, and waiting."""

    def now(self) -> datetime:
        """Return the date, with its offset."""
        ...

    def monotonic(self) -> float:
        """Return seconds that only differences of mean something."""
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
