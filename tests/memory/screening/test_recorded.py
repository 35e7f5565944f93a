"""No answer of the screen changes unseen: see recorded.py."""

from __future__ import annotations

import pytest

from tests.memory.screening.recorded import answers, read_record, texts

PARTS = 4
"""The record is compared in so many tests."""


@pytest.mark.parametrize("part", range(PARTS))
def test_the_texts_are_screened_as_recorded(part: int) -> None:
    asked = texts()[part::PARTS]
    recorded = read_record()
    changed = {
        text: answer
        for text in asked
        for key, answer in answers([text]).items()
        if recorded.get(key) != answer
    }
    assert changed == {}
