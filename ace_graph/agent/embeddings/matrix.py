"""The vectors of one playbook, centred, and which of them are nearest to a question's.

All texts of one learner are a little alike, and so are their vectors: less their mean they differ in what
they are about. The rows are kept with their mean in them, beside their sum: the cosine of two centred vectors
follows from products of those that are not, so a bullet more or less costs a row and not the matrix.

The versions of a playbook share one table of rows, which grows. A version is its first rows, without some:
a row that is added is written behind those that other versions see.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import TypeAlias

import numpy as np

Floats: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float32]]
Doubles: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
Places: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.int64]]
_ROWS_AT_ONCE = 1_000
"""Longer products are spread over threads, which takes longer where other processes use the processors."""
_TINY = 1e-12
_GROWTH, _SPARE = 1.25, 16
"""A table has so many times the rows that it begins with, and so many more."""
_CLOSE = 1e-3
"""Rows whose squared distance from the mean is less lose digits in products, and are centred themselves."""


class _Table:
    """Rows of length 1 (0 for texts without letters), one for each of `ids`; `places` has an id's last.

    `squares` are their squared lengths.
    """

    def __init__(self, ids: Sequence[str], rows: Floats, size: int) -> None:
        self.rows: Floats = np.empty((int(len(ids) * _GROWTH) + _SPARE, size), dtype=np.float32)
        self.squares: Floats = np.empty(len(self.rows), dtype=np.float32)
        self.ids: list[str] = []
        self.places: dict[str, int] = {}
        self._lock = threading.Lock()
        self.append(0, ids, rows)

    def append(self, behind: int, ids: Sequence[str], rows: Floats) -> bool:
        """Write rows behind the first `behind`; False where others are there, or there is no room."""
        end = behind + len(ids)
        with self._lock:
            if len(self.ids) != behind or end > len(self.rows):
                return False
            self.rows[behind:end] = rows
            self.squares[behind:end] = np.einsum("ij,ij->i", rows, rows)
            self.ids += ids
            self.places.update(zip(ids, range(behind, end), strict=True))
            return True


@dataclass(frozen=True)
class Matrix:
    """The rows of a playbook's bullets, an immutable value.

    They are the first `count` rows of a table but for those `gone`; `total` is the sum of the others, and
    `size` the number of dimensions.
    """

    table: _Table
    size: int
    few: int
    count: int
    gone: frozenset[int]
    total: Doubles

    @classmethod
    def of(cls, rows: Mapping[str, bytes], few: int = 2) -> Matrix:
        """Return the matrix of quantised rows by bullet id, at least one, all of one size.

        Of the mean of n bullets n / (n + `few`) is subtracted: the mean of one bullet is the bullet itself.
        """
        size = len(next(iter(rows.values())))
        units = _read(rows, size)
        table = _Table(tuple(rows), units, size)
        return cls(table, size, few, len(units), frozenset(), units.sum(axis=0, dtype=np.float64))

    def __len__(self) -> int:
        return self.count - len(self.gone)

    def changed(self, removed: Collection[str], added: Mapping[str, bytes]) -> Matrix:
        """Return the matrix without the bullets `removed`, which it has, then with the rows `added`.

        Costs what changed, a copy of the ids, and now and then one of all rows.
        """
        base = self if self._can_grow(len(removed), len(added)) else self._copied()
        places = [base.table.places[key] for key in removed]
        new = _read(added, self.size)
        total: Doubles = base.total + new.sum(axis=0, dtype=np.float64)
        total -= base.table.rows[places].sum(axis=0, dtype=np.float64)
        gone = base.gone.union(places)
        if base.table.append(base.count, tuple(added), new):
            return Matrix(base.table, self.size, self.few, base.count + len(added), gone, total)
        kept, ids = base._kept(gone)  # another thread was faster, or there is no room
        table = _Table((*ids, *added), np.concatenate((base.table.rows[kept], new)), self.size)
        return Matrix(table, self.size, self.few, len(kept) + len(added), frozenset(), total)

    def nearest(self, question: Sequence[float], limit: int) -> Mapping[str, float]:
        """Return the centred cosine (0-1) of the `limit` nearest bullets by id; none below 0."""
        if not len(self):
            return {}
        mean, lengths = self._mean, self._lengths
        asked = _unit(_unit(np.asarray(question, dtype=np.float32)) - mean)
        found = (self._products(asked) - mean @ asked) / lengths
        places, rows = self._close
        found[places] = rows @ asked
        found[list(self.gone)] = -1.0
        best = np.argpartition(found, -limit)[-limit:] if limit < len(found) else np.arange(len(found))
        pairs = zip(best.tolist(), found[best].tolist(), strict=True)
        return {self.table.ids[place]: min(1.0, value) for place, value in pairs if value > 0}

    @cached_property
    def _mean(self) -> Floats:
        return (self.total / (len(self) + self.few)).astype(np.float32)

    @cached_property
    def _lengths(self) -> Floats:
        mean, squares = self._mean, self.table.squares[: self.count]
        return np.sqrt(np.maximum(squares - 2 * self._products(mean) + mean @ mean, _TINY))

    @cached_property
    def _close(self) -> tuple[Places, Floats]:
        """The rows that are too close to the mean for products, centred."""
        places: Places = np.flatnonzero(self._lengths < np.sqrt(_CLOSE))
        return places, _unit(self.table.rows[places] - self._mean)

    def _products(self, vector: Floats) -> Floats:
        starts = range(0, self.count, _ROWS_AT_ONCE)
        parts = (self.table.rows[start : min(self.count, start + _ROWS_AT_ONCE)] for start in starts)
        return np.concatenate([part @ vector for part in parts])

    def _can_grow(self, removed: int, added: int) -> bool:
        """Whether this is the newest version of its table, with room, and most of its rows are in use."""
        newest = len(self.table.ids) == self.count
        wasted = 4 * (len(self.gone) + removed) > self.count + added
        return newest and not wasted

    def _kept(self, gone: Collection[int]) -> tuple[Places, list[str]]:
        keep = np.ones(self.count, dtype=np.bool_)
        keep[list(gone)] = False
        return np.flatnonzero(keep), list(compress(self.table.ids, keep.tolist()))

    def _copied(self) -> Matrix:
        """Return the same with a table of its own, without rows that are gone."""
        kept, ids = self._kept(self.gone)
        table = _Table(ids, self.table.rows[kept], self.size)
        return Matrix(table, self.size, self.few, len(ids), frozenset(), self.total)


def _read(rows: Mapping[str, bytes], size: int) -> Floats:
    raw = np.frombuffer(b"".join(rows.values()), dtype=np.int8).reshape(len(rows), size)
    return _unit(raw.astype(np.float32))


def _unit(vectors: Floats) -> Floats:
    """Return the vectors with length 1; those without a length stay."""
    lengths = np.sqrt(np.einsum("...i,...i->...", vectors, vectors))[..., None]
    unit: Floats = vectors / np.maximum(lengths, np.float32(_TINY))
    return unit


def quantised(vectors: Sequence[Sequence[float]]) -> list[bytes]:
    """Return the direction of each vector, all of one size, as one signed byte a dimension.

    Raises ValueError for what is no number.
    """
    if not all(map(math.isfinite, map(sum, vectors))):
        raise ValueError("a vector contains a value that is not a number")
    rows = np.asarray(vectors, dtype=np.float32)
    greatest = np.abs(rows).max(axis=1, keepdims=True)
    return [row.tobytes() for row in np.rint(rows * (127 / np.maximum(greatest, _TINY))).astype(np.int8)]
