"""The interval of a share: how far the true rate may be from the observed one.

Source: Wilson (1927), "Probable inference, the law of succession, and statistical inference".
"""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist
from typing import NamedTuple

__all__ = ["Z_95", "Interval", "wilson_interval"]

Z_95 = NormalDist().inv_cdf(0.975)
"""The two-sided quantile of a 95 % interval, 1.96."""


class Interval(NamedTuple):
    """An interval; both ends belong to it."""

    low: float
    high: float


def wilson_interval(successes: float, total: float, z: float = Z_95) -> Interval:
    """Return the interval of the rate `successes / total`; without any observation it is [0, 1]."""
    if total <= 0:
        return Interval(0.0, 1.0)
    share = successes / total
    centre = (share + z**2 / (2 * total)) / (1 + z**2 / total)
    half = z * sqrt(share * (1 - share) / total + z**2 / (4 * total**2)) / (1 + z**2 / total)
    low = 0.0 if successes <= 0 else max(0.0, centre - half)
    return Interval(low, 1.0 if successes >= total else min(1.0, centre + half))
