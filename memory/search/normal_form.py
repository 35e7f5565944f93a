"""Unicode's normal forms of a text of any length, in linear time.

Normalising sorts the combining marks after a letter, which takes quadratic time in a long run of marks, in
one call that holds the interpreter. So a long text is normalised in pieces. They are cut before a character
that joins with none before it; a run of more marks than any script has is cut inside.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Literal

__all__ = ["is_within", "normal_form"]

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]

_PIECE_CHARS, _SHORT_PIECE_CHARS = 1_000, 100
_MAX_MARKS = 64


def normal_form(form: Form, text: str) -> str:
    """Return `text` in a normal form of Unicode."""
    if text.isascii():
        return text
    return "".join(unicodedata.normalize(form, piece) for piece in _pieces(text))


def is_within(limit: int, text: str) -> bool:
    """Whether a text has at most so many characters in NFKC, in which one becomes up to 18.

    Of a longer one not much more than the limit is normalised.
    """
    if text.isascii():
        return len(text) <= limit
    count = 0
    for piece in _pieces(text, _SHORT_PIECE_CHARS):
        count += len(unicodedata.normalize("NFKC", piece))
        if count > limit:
            return False
    return True


def _pieces(text: str, length: int = _PIECE_CHARS) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = _cut(text, start + length)
        yield text[start:end]
        start = end


def _cut(text: str, at: int) -> int:
    """Return the first place from `at` on before which a text can be cut."""
    places = range(at, min(at + _MAX_MARKS, len(text)))
    return next((place for place in places if _never_joins(text[place])), at)


def _never_joins(char: str) -> bool:
    """Whether it joins with no character before it: no mark, no later part of a Korean syllable."""
    return char.isascii() or (unicodedata.category(char)[0] != "M" and not "\u1160" <= char <= "\u11ff")
