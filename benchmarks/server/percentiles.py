"""Percentiles of many answers, and what one server's are above another's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.timing import number

__all__ = ["Percentiles", "percentiles"]


@dataclass(frozen=True)
class Percentiles:
    """In milliseconds."""

    p50: float
    p95: float
    p99: float

    def over(self, base: Percentiles) -> Percentiles:
        """Return what each is above that of `base`."""
        return Percentiles(self.p50 - base.p50, self.p95 - base.p95, self.p99 - base.p99)

    def told(self) -> str:
        """Return `p50 / p95 / p99`."""
        return " / ".join(map(number, (self.p50, self.p95, self.p99)))


def percentiles(values: Sequence[float]) -> Percentiles:
    """Return the percentiles of at least one value."""
    ranked = sorted(values)
    p50, p95, p99 = (ranked[min(len(ranked) - 1, int(len(ranked) * part))] for part in (0.50, 0.95, 0.99))
    return Percentiles(p50, p95, p99)
