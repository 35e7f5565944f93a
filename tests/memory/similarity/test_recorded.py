"""No answer of `compare` changes unseen: see recorded.py."""

from __future__ import annotations

import pytest

from tests.memory.similarity.recorded import (
    CLAIMS,
    PAIRS,
    VARIANTS,
    WORDS,
    answers_to_pairs,
    answers_to_variants,
    answers_to_words,
    claims,
    pairs,
    read_record,
)
from tests.plugins.heavy import some_heavy

PARTS = 5
"""The record is compared in so many tests."""


@pytest.mark.parametrize("part", some_heavy(range(PARTS), (0, 1).__contains__))
def test_the_labelled_pairs_are_answered_as_recorded(part: int) -> None:
    asked = list(pairs())[part::PARTS]
    answers, recorded = answers_to_pairs(asked), read_record(PAIRS)
    assert answers == {key: recorded.get(key) for key in answers}
    assert claims(asked) == {key: read_record(CLAIMS).get(key) for key in answers}


@pytest.mark.parametrize("part", some_heavy(range(PARTS), (0, 1).__contains__))
def test_texts_with_a_word_missing_or_moved_are_answered_as_recorded(part: int) -> None:
    recorded = dict(list(read_record(VARIANTS).items())[part::PARTS])
    assert answers_to_variants(recorded) == recorded


def test_misspelt_and_derived_words_are_taken_as_recorded() -> None:
    recorded = read_record(WORDS)
    assert answers_to_words(recorded) == recorded
