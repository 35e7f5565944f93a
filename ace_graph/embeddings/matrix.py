"""The vectors of one playbook, centred, and which of them are nearest to a question's.

All texts of one learner are a little alike, and so are their vectors: less their mean they differ in what
they are about. The rows are kept with their mean in them, beside their sum: the cosine of two centred vectors
follows from products of those that are not, so a bullet more or less costs a row and not the matrix.

numpy is used where it is installed (`matrix_arrays`); the lists that take its place need 100 times as long.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

__all__ = ["Matrix", "centred", "quantised"]

_TINY = 1e-12


class Matrix(Protocol):
    """The rows of a playbook's bullets, an immutable value."""

    @property
    def size(self) -> int:
        """The number of dimensions."""
        ...

    def __len__(self) -> int:
        """How many bullets it has."""
        ...

    def changed(self, removed: Collection[str], added: Mapping[str, bytes]) -> Matrix:
        """Return the matrix without the bullets `removed`, which it has, then with the rows `added`.

        Costs what changed, a copy of the ids, and now and then one of all rows.
        """
        ...

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
        from ace_graph.embeddings.matrix_arrays import Arrays
    except ImportError:  # numpy comes with the extra `embeddings`
        from ace_graph.embeddings.matrix_lists import Lists

        return Lists.of(rows, few)
    return Arrays.of(rows, few)
