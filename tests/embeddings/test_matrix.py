"""The rows of a playbook: centred, quantised, and the same with numpy and without."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ace_graph.embeddings.matrix import centred, quantised

Vectors = list[list[float]]
NUMBERS = st.floats(-1e3, 1e3, width=32)
VECTORS: st.SearchStrategy[Vectors] = st.lists(
    st.lists(NUMBERS, min_size=3, max_size=3), min_size=1, max_size=30
)


def _nearest(vectors: Vectors, question: Sequence[float], limit: int) -> Mapping[str, float]:
    rows = quantised(vectors)
    return centred({str(n): row for n, row in enumerate(rows)}).nearest(question, limit)


@given(VECTORS, st.lists(NUMBERS, min_size=3, max_size=3))
def test_without_numpy_the_result_is_the_same(vectors: Vectors, question: list[float]) -> None:
    with_it = _nearest(vectors, question, 100)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "numpy", None)
        without = _nearest(vectors, question, 100)
    for key in with_it.keys() | without.keys():
        assert with_it.get(key, 0.0) == pytest.approx(without.get(key, 0.0), abs=1e-3)


def test_what_all_bullets_share_tells_nothing() -> None:
    """Uncentred, all of them are alike by .98 or more."""
    vectors = [[10.0, n % 2, (n + 1) % 2] for n in range(400)]
    assert max(_nearest(vectors, [10.0, 0.0, 0.0], 400).values(), default=0) < 0.1
    near = _nearest(vectors, [10.0, 1.0, 0.0], 400)
    assert {int(key) % 2 for key, value in near.items() if value > 0.5} == {1}


def test_the_only_bullet_is_near_to_its_own_words() -> None:
    assert _nearest([[1.0, 0.0]], [1.0, 0.0], 5)["0"] > 0.9


def test_at_most_the_limit_is_returned_and_it_is_the_nearest() -> None:
    vectors = [[math.cos(n / 10), math.sin(n / 10)] for n in range(30)]
    found = _nearest(vectors, vectors[3], 3)
    assert sorted(found) == ["2", "3", "4"]


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_what_is_no_number_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="no number"):
        quantised([[1.0, 2.0], [1.0, number]])
