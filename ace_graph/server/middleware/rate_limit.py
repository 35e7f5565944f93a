"""The rate limit: one token bucket per learner, on each server for itself."""

from __future__ import annotations

import math
from collections import OrderedDict

from ace_graph.errors import RequestRefused
from ace_graph.server.clock import Clock

__all__ = ["TokenBucket"]

MAX_BUCKETS = 20_000


class TokenBucket:
    """A bucket of `per_minute` tokens for each learner, which refills evenly within a minute."""

    def __init__(self, per_minute: int, clock: Clock) -> None:
        self._size = float(per_minute)
        self._per_second = per_minute / 60
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, learner_id: str) -> None:
        """Take one token of the learner's bucket. Raises RequestRefused (429) with the seconds to wait."""
        now = self._clock.monotonic()
        left, at = self._left.get(learner_id, (self._size, now))
        left = min(self._size, left + (now - at) * self._per_second)
        if left < 1:
            wait = math.ceil((1 - left) / self._per_second)
            raise RequestRefused(
                429, "too_many", "too many requests: wait a moment", retry_after=max(1, wait)
            )
        self._left[learner_id] = (left - 1, now)
        self._left.move_to_end(learner_id)
        while len(self._left) > MAX_BUCKETS:
            self._left.popitem(last=False)
