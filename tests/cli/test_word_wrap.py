"""Lines of an answer break at words, however the text comes in pieces."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ace_graph.cli import WordWrap

PIECES = st.lists(st.text(alphabet="ab \n漢", max_size=12), max_size=8)


def _wrapped(width: int, *pieces: str) -> str:
    shown: list[str] = []
    wrap = WordWrap(shown.append, width)
    for piece in pieces:
        wrap.show(piece)
    wrap.end()
    return "".join(shown)


def test_a_word_that_does_not_fit_goes_to_the_next_line() -> None:
    assert _wrapped(10, "add the tops only") == "add the\ntops only"
    assert _wrapped(10, "add th", "e to", "ps only") == "add the\ntops only"


def test_what_is_laid_out_stays_and_wide_signs_count_twice() -> None:
    assert _wrapped(10, "1/2 [##..]\n  = 3") == "1/2 [##..]\n  = 3"
    assert _wrapped(4, "漢漢 漢") == "漢漢\n漢"
    assert _wrapped(4, "a-very-long-word") == "a-very-long-word"


@given(PIECES, st.integers(3, 20))
def test_pieces_change_nothing_and_no_word_is_lost(pieces: list[str], width: int) -> None:
    whole = "".join(pieces)
    assert _wrapped(width, *pieces) == _wrapped(width, whole)
    assert _wrapped(width, *pieces).split() == whole.split()
