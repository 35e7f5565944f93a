"""The matrix of a playbook without numpy."""

from __future__ import annotations

import math
from array import array
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import nlargest
from operator import mul

__all__ = ["Lists"]

_TINY = 1e-24


@dataclass(frozen=True)
class Lists:
    """The rows by bullet id, each of length 1, and their sum."""

    size: int
    few: int
    rows: Mapping[str, Sequence[float]]
    total: Sequence[float]

    @classmethod
    def of(cls, rows: Mapping[str, bytes], few: int) -> Lists:
        """Return the matrix of these rows, at least one."""
        size = len(next(iter(rows.values())))
        return cls(size, few, {}, [0.0] * size).changed((), rows)

    def __len__(self) -> int:
        return len(self.rows)

    def changed(self, removed: Collection[str], added: Mapping[str, bytes]) -> Lists:
        """As in `Matrix`."""
        rows, total = dict(self.rows), self.total
        for key in removed:
            total = [value - less for value, less in zip(total, rows.pop(key), strict=True)]
        for key, row in added.items():
            rows[key] = unit = array("f", _unit(array("b", row)))
            total = [value + more for value, more in zip(total, unit, strict=True)]
        return Lists(self.size, self.few, rows, total)

    def nearest(self, question: Sequence[float], limit: int) -> Mapping[str, float]:
        """As in `Matrix`."""
        mean = self._mean
        asked = _unit([value - less for value, less in zip(_unit(question), mean, strict=True)])
        shift = _product(mean, asked)
        found = (
            ((_product(row, asked) - shift) / length, key)
            for (key, row), length in zip(self.rows.items(), self._lengths, strict=True)
        )
        return {key: min(1.0, value) for value, key in nlargest(limit, found) if value > 0}

    @cached_property
    def _mean(self) -> Sequence[float]:
        return [value / (len(self.rows) + self.few) for value in self.total]

    @cached_property
    def _lengths(self) -> Sequence[float]:
        """The lengths of the rows less the mean."""
        mean = self._mean
        square = _product(mean, mean)
        return [
            math.sqrt(max(_TINY, _product(row, row) - 2 * _product(row, mean) + square))
            for row in self.rows.values()
        ]


def _product(one: Sequence[float], other: Sequence[float]) -> float:
    total: float = sum(map(mul, one, other))
    return total


def _unit(vector: Sequence[float]) -> list[float]:
    length = math.sqrt(_product(vector, vector)) or 1.0
    return [value / length for value in vector]
