"""How sure a result is: 95 % intervals of a share, and the paired comparison of two runs on the same samples.

Sources: the interval of a share is Wilson's (1927); where a sample has several units, which are not
independent, with the effective number of units of a ratio estimate over samples (Kish 1965). The test is
McNemar's, exact. The interval of the paired difference is Newcombe's (Statistics in Medicine 17, 1998:
2635-2650, method 10). That of a gain in units is the normal one of a ratio estimate over samples (Cochran,
Sampling Techniques, 1977, section 6.4).
"""

from __future__ import annotations

from collections.abc import Iterable
from math import exp, lgamma, log, sqrt
from typing import NamedTuple

from ace_graph.memory.playbook import Z_95, Interval, wilson_interval

_ROUNDING = 1e-9


class Paired(NamedTuple):
    """Two runs on the same samples: how often both, one alone, or neither was right, and what it means.

    `difference` is the share right in the first minus that in the second, with its interval; `p_value` is
    that of McNemar's exact test, two-sided.
    """

    both: int
    only_first: int
    only_second: int
    neither: int
    difference: float
    interval: Interval
    p_value: float


class Gain(NamedTuple):
    """Right units of all in the first of two runs, minus those in the second, with the 95 % interval."""

    value: float
    interval: Interval


def wilson(right: float, total: float) -> Interval:
    """Return the 95 % interval of the share `right / total`; without any observation it is [0, 1]."""
    return wilson_interval(right, total, Z_95)


def share_interval(outcomes: Iterable[tuple[int, int]]) -> Interval:
    """Return the interval of all right units of all units, from (right, units) of each sample.

    With one unit a sample it is Wilson's.
    """
    samples = right = units = rr = ru = uu = 0
    for r, u in outcomes:
        samples, right, units = samples + 1, right + r, units + u
        rr, ru, uu = rr + r * r, ru + r * u, uu + u * u
    if units == samples == uu:
        return wilson(right, samples)
    share = right / units if units else 0.0
    spread = rr - 2 * share * ru + share * share * uu
    if samples < 2 or spread <= 0 or not 0 < share < 1:
        return wilson(share * samples, samples)
    variance = samples / (samples - 1) * spread / units**2
    effective = min(float(units), share * (1 - share) / variance)
    return wilson(share * effective, effective)


def mcnemar(only_first: int, only_second: int) -> float:
    """Return the exact two-sided p-value, from the samples that only one of two runs got right."""
    n, fewer = only_first + only_second, min(only_first, only_second)
    if n == 0:
        return 1.0
    base = lgamma(n + 1) - n * log(2)
    tail = sum(exp(base - lgamma(k + 1) - lgamma(n - k + 1)) for k in range(fewer + 1))
    return min(1.0, 2 * tail)


def paired(pairs: Iterable[tuple[bool, bool]]) -> Paired:
    """Return the comparison of two runs from whether each was right on each sample."""
    counts = [0, 0, 0, 0]
    for first, second in pairs:
        counts[2 * (not first) + (not second)] += 1
    return _compared(*counts)


def _compared(both: int, only_first: int, only_second: int, neither: int) -> Paired:
    n = both + only_first + only_second + neither
    difference = (only_first - only_second) / n if n else 0.0
    return Paired(
        both,
        only_first,
        only_second,
        neither,
        difference,
        _newcombe(both, only_first, only_second, neither),
        mcnemar(only_first, only_second),
    )


def paired_gain(outcomes: Iterable[tuple[int, int, int]]) -> Gain:
    """Return the gain of one run over another from (right in the first, in the second, units) of each sample.

    With one unit a sample, value and interval are those of `paired`. Where all samples gain alike, the
    interval is that of whole samples, widened to hold the value.
    """
    counts = [0, 0, 0, 0]
    gained = units = gg = gu = uu = 0
    for first, second, of in outcomes:
        counts[2 * (first < of) + (second < of)] += 1
        gain = first - second
        gained, units = gained + gain, units + of
        gg, gu, uu = gg + gain * gain, gu + gain * of, uu + of * of
    samples, whole = sum(counts), _compared(*counts)
    value = gained / units if units else 0.0
    spread = gg - 2 * value * gu + value * value * uu
    if units == samples == uu or samples < 2 or spread < _ROUNDING:
        low, high = whole.interval
        return Gain(value, Interval(min(low, value), max(high, value)))
    half = Z_95 * sqrt(samples / (samples - 1) * spread) / units
    return Gain(value, Interval(max(-1.0, value - half), min(1.0, value + half)))


def _newcombe(a: int, b: int, c: int, d: int) -> Interval:
    n = a + b + c + d
    if n == 0:
        return Interval(-1.0, 1.0)
    p, q = (a + b) / n, (a + c) / n
    first, second = wilson(a + b, n), wilson(a + c, n)
    # How far the two runs go together, with the method's correction for continuity
    scale, together = (a + b) * (c + d) * (a + c) * (b + d), a * d - b * c
    corrected = max(together - n / 2, 0.0) if together > 0 else float(together)
    phi = corrected / sqrt(scale) if scale else 0.0
    below, above = p - first.low, first.high - p
    below_other, above_other = q - second.low, second.high - q
    down = sqrt(max(0.0, below**2 - 2 * phi * below * above_other + above_other**2))
    up = sqrt(max(0.0, above**2 - 2 * phi * above * below_other + below_other**2))
    return Interval(max(-1.0, p - q - down), min(1.0, p - q + up))
