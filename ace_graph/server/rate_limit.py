"""The limit on the requests of a learner: a bucket of tokens each, on each server for itself.

A request costs one token, and a large one more: what it makes the server read, screen and compare grows with
its body.
"""

from __future__ import annotations

import math
from collections import OrderedDict

from ace_graph.base.clock import Clock
from ace_graph.base.errors import RequestRefused

MAX_BUCKETS = 20_000


BYTES_PER_TOKEN = 16_384
"""A chat message or a bullet has fewer; the largest body costs some 60 tokens."""


def cost_of(body_bytes: int) -> int:
    """Return how many tokens a request with such a body costs."""
    return 1 + body_bytes // BYTES_PER_TOKEN


class TokenBucket:
    """A bucket of `per_minute` tokens for each learner, which refills evenly within a minute."""

    def __init__(self, per_minute: int, clock: Clock) -> None:
        self._size = float(per_minute)
        self._per_second = per_minute / 60
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, learner_id: str, tokens: int = 1) -> None:
        """Take tokens of the learner's bucket, at most as many as it holds when it is full.

        Raises RequestRefused (429) with the seconds to wait.
        """
        cost = min(self._size, tokens)
        now = self._clock.monotonic()
        left, at = self._left.get(learner_id, (self._size, now))
        left = min(self._size, left + (now - at) * self._per_second)
        if left < cost:
            wait = math.ceil((cost - left) / self._per_second)
            raise RequestRefused(
                429, "too_many", "too many requests: wait a moment", retry_after=max(1, wait)
            )
        self._left[learner_id] = (left - cost, now)
        self._left.move_to_end(learner_id)
        while len(self._left) > MAX_BUCKETS:
            self._left.popitem(last=False)
