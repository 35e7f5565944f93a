"""Normal forms of long texts are those of the text as a whole."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ace_graph.memory.search import fold, normal_form

JOINING = [
    "e\u0301",
    "\u1112\u1161\u11ab",
    "\u09c7\u09be",
    "ﬁ",
    "½",
    "Å",
    "가",
    "が",
    "\u0e01\u0e33",
    "a",
    " ",
    "漢",
]


@given(st.lists(st.sampled_from(JOINING), min_size=300, max_size=600).map("".join))
def test_a_long_text_is_normalised_as_it_is_as_a_whole(text: str) -> None:
    long = text * 5
    assert normal_form("NFKC", long) == unicodedata.normalize("NFKC", long)
    assert normal_form("NFD", long) == unicodedata.normalize("NFD", long)


@pytest.mark.parametrize("shift", range(-3, 4))
def test_no_letter_is_separated_from_its_marks(shift: int) -> None:
    text = "x" * (1_000 + shift) + "e\u0301\u0323" * 10
    assert normal_form("NFC", text) == unicodedata.normalize("NFC", text)


def test_a_run_of_marks_is_normalised_in_pieces() -> None:
    marks = "\u0301\u0323" * 10_000
    assert sorted(normal_form("NFKC", marks)) == sorted(marks)
    assert normal_form("NFKC", marks).count("\u0301\u0323") > 10  # in order within a piece, not beyond it
    assert fold("cafe\u0301") == fold("café")
