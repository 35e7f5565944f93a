"""No result of `resolve` changes unseen: see recorded.py."""

from __future__ import annotations

import pytest

from tests.memory.delta.recorded import LIVES, read_record, results


@pytest.mark.parametrize("number", range(LIVES))
def test_a_life_of_random_deltas_goes_as_recorded(number: int) -> None:
    assert list(results(number)) == read_record()[number]
