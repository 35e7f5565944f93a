"""Nothing that `retrieve` finds changes unseen: see recorded.py."""

from __future__ import annotations

import pytest

from tests.memory.retrieval.recorded import PLAYBOOKS, found, read_record


@pytest.mark.parametrize("number", range(PLAYBOOKS))
def test_the_questions_find_what_is_recorded(number: int) -> None:
    assert list(found(number)) == read_record()[number]
