"""The rows of a playbook, centred and quantised."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from operator import mul
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ace_graph.agent.embeddings import Matrix, quantised

Vectors = list[list[float]]
NUMBERS = st.floats(-1e3, 1e3, width=32)
VECTORS: st.SearchStrategy[Vectors] = st.lists(
    st.lists(NUMBERS, min_size=3, max_size=3), min_size=1, max_size=30
)


def _nearest(vectors: Vectors, question: Sequence[float], limit: int) -> Mapping[str, float]:
    rows = quantised(vectors)
    return Matrix.of({str(n): row for n, row in enumerate(rows)}).nearest(question, limit)


STEPS = st.lists(
    st.tuples(st.sets(st.integers(0, 40), max_size=8), st.lists(st.integers(0, 40), max_size=8, unique=True)),
    max_size=8,
)
"""What is removed and what is added (or replaced) in each step."""


@given(VECTORS, STEPS, st.lists(NUMBERS, min_size=3, max_size=3))
def test_a_changed_matrix_finds_what_a_new_one_finds(
    vectors: Vectors, steps: list[tuple[set[int], list[int]]], question: list[float]
) -> None:
    """Also from a version that others were made of, and each version finds the same again afterwards."""
    made = quantised(vectors)
    few = 20
    rows = {f"{n}": row for n, row in enumerate(made)}
    versions: list[tuple[Mapping[str, bytes], Matrix]] = [(rows, Matrix.of(rows, few))]
    for n, (gone, new) in enumerate(steps):
        before, matrix = versions[-1 if n % 3 else 0]
        added = {f"{key}": made[(key + n) % len(made)] for key in new}
        removed = [key for key in before if int(key) in gone or key in added]
        after = {key: row for key, row in before.items() if key not in removed} | added
        versions.append((after, matrix.changed(removed, added)))
    for expected, matrix in versions:
        found = matrix.nearest(question, 100)
        whole = Matrix.of(expected, few).nearest(question, 100) if expected else dict[str, float]()
        assert len(matrix) == len(expected)
        for key in found.keys() | whole.keys():
            assert found.get(key, 0.0) == pytest.approx(whole.get(key, 0.0), abs=1e-3)


def test_after_many_changes_the_cosines_are_those_of_centred_rows() -> None:
    random = Random(7)
    vectors = [[1.0 + random.gauss(0, 1) for _ in range(16)] for _ in range(400)]
    rows = {str(n): row for n, row in enumerate(quantised(vectors))}
    kept = dict(list(rows.items())[300:])
    matrix = Matrix.of(dict(list(rows.items())[:100]), 20)
    for n in range(300):
        matrix = matrix.changed([str(n)], {str(n + 100): rows[str(n + 100)]})
    question = vectors[350]
    expected = _by_definition(kept, question, 20)
    found = matrix.nearest(question, 10)
    assert sorted(found, key=found.__getitem__, reverse=True) == list(expected)[:10]
    assert found == pytest.approx(dict(list(expected.items())[:10]), abs=1e-5)


def _by_definition(rows: Mapping[str, bytes], question: Sequence[float], few: int) -> dict[str, float]:
    """The cosines of the centred vectors, best first."""
    units = {key: _unit(list(array("b", row))) for key, row in rows.items()}
    mean = [sum(column) / (len(rows) + few) for column in zip(*units.values(), strict=True)]
    asked = _unit([a - m for a, m in zip(_unit(question), mean, strict=True)])
    found = {
        key: sum(map(mul, asked, _unit([v - m for v, m in zip(unit, mean, strict=True)])))
        for key, unit in units.items()
    }
    return dict(sorted(found.items(), key=lambda pair: -pair[1]))


def _unit(vector: Sequence[float]) -> list[float]:
    length = math.hypot(*vector)
    return [value / length for value in vector]


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
    with pytest.raises(ValueError, match="not a number"):
        quantised([[1.0, 2.0], [1.0, number]])
