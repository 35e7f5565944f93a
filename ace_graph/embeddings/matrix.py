"""The vectors of one playbook, centred, and which of them are nearest to a question's.

All texts of one learner are a little alike, and so are their vectors: less their mean they differ in what
they are about. numpy is used where it is installed; the lists that take its place need 100 times as long.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from heapq import nlargest
from itertools import compress
from operator import mul
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from numpy import dtype, float32, int8, ndarray

    Floats = ndarray[tuple[int, ...], dtype[float32]]
    Bytes = ndarray[tuple[int, ...], dtype[int8]]

__all__ = ["Matrix", "centred", "quantised"]

_ROWS_AT_ONCE = 1_000
"""Longer products are spread over threads, which takes longer where other processes use the processors."""


_TINY = 1e-12


class Matrix(Protocol):
    """The rows of a playbook's bullets; `size` is their number of dimensions."""

    size: int

    def nearest(self, question: Sequence[float], limit: int) -> Mapping[str, float]:
        """Return the centred cosine (0-1) of the `limit` nearest bullets by id; none below 0."""
        ...


def quantised(vectors: Sequence[Sequence[float]]) -> list[bytes]:
    """Return the direction of each vector, all of one size, as one signed byte a dimension.

    Raises ValueError for what is no number.
    """
    if not all(map(math.isfinite, map(sum, vectors))):
        raise ValueError("a vector holds what is no number")
    try:
        return _quantised_arrays(vectors)
    except ImportError:
        return [_quantised_list(vector) for vector in vectors]


def _quantised_arrays(vectors: Sequence[Sequence[float]]) -> list[bytes]:
    import numpy as np

    rows = np.asarray(vectors, dtype=np.float32)
    greatest = np.abs(rows).max(axis=1, keepdims=True)
    return [row.tobytes() for row in np.rint(rows * (127 / np.maximum(greatest, _TINY))).astype(np.int8)]


def _quantised_list(vector: Sequence[float]) -> bytes:
    greatest = max(max(map(abs, vector)), _TINY)
    return array("b", [round(127 * value / greatest) for value in vector]).tobytes()


def centred(rows: Mapping[str, bytes], few: int = 2) -> Matrix:
    """Return the matrix of quantised rows by bullet id, all of one size.

    Of the mean of n bullets n / (n + `few`) is subtracted: the mean of one bullet is the bullet itself.
    """
    try:
        return _Arrays(rows, few)
    except ImportError:  # numpy comes with the extra `embeddings`
        return _Lists(rows, few)


class _Arrays:
    """With numpy."""

    def __init__(self, rows: Mapping[str, bytes], few: int) -> None:
        import numpy as np

        self._ids = tuple(rows)
        self.size = len(next(iter(rows.values())))
        raw = np.frombuffer(b"".join(rows.values()), dtype=np.int8).reshape(len(rows), self.size)
        matrix = _unit(raw.astype(np.float32))
        self._mean = matrix.mean(axis=0) * (len(rows) / (len(rows) + few))
        matrix -= self._mean
        self._matrix = _unit(matrix)

    def nearest(self, question: Sequence[float], limit: int) -> Mapping[str, float]:
        import numpy as np

        asked = _unit(_unit(np.asarray(question, dtype=np.float32)) - self._mean)
        parts = [
            self._matrix[start : start + _ROWS_AT_ONCE] @ asked
            for start in range(0, len(self._ids), _ROWS_AT_ONCE)
        ]
        found = np.concatenate(parts)
        best = np.argpartition(found, -limit)[-limit:] if limit < len(found) else np.arange(len(found))
        pairs = zip(best.tolist(), found[best].tolist(), strict=True)
        return {self._ids[row]: min(1.0, value) for row, value in pairs if value > 0}


def _unit(vectors: Floats) -> Floats:
    """Return the vectors with length 1; those without a length stay."""
    import numpy as np

    lengths = np.sqrt(np.einsum("...i,...i->...", vectors, vectors))[..., None]
    unit: Floats = vectors / np.maximum(lengths, np.float32(_TINY))
    return unit


class _Lists:
    """Without numpy."""

    def __init__(self, rows: Mapping[str, bytes], few: int) -> None:
        self._ids = tuple(rows)
        self.size = len(next(iter(rows.values())))
        units = [_unit_list(array("b", row)) for row in rows.values()]
        count = len(units)
        self._mean = [sum(column) / (count + few) for column in zip(*units, strict=True)]
        self._rows = [array("f", _unit_list(self._less_mean(unit))) for unit in units]

    def nearest(self, question: Sequence[float], limit: int) -> Mapping[str, float]:
        asked = array("f", _unit_list(self._less_mean(_unit_list(question))))
        found = [sum(map(mul, row, asked)) for row in self._rows]
        near = [value > 0 for value in found]
        pairs = zip(compress(found, near), compress(self._ids, near), strict=True)
        return {key: min(1.0, value) for value, key in nlargest(limit, pairs)}

    def _less_mean(self, vector: Sequence[float]) -> list[float]:
        return [value - mean for value, mean in zip(vector, self._mean, strict=True)]


def _unit_list(vector: Sequence[float]) -> list[float]:
    length = math.sqrt(sum(map(mul, vector, vector))) or 1.0
    return [value / length for value in vector]
