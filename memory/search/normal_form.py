"""Unicode's normal forms of a text of any length, in linear time.

Normalising puts the marks behind a letter in order, by moving one past the other: quadratic in a run of them,
within one call that holds the interpreter. So a long text is taken in pieces. They are cut before a character
that no other can join, and a run of marks, of which no script has more than a few, is cut where it is.

Does not: know which form is wanted.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Literal

__all__ = ["normal_form"]

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]

_AT_ONCE = 1_000
_MOST_MARKS = 64


def normal_form(form: Form, text: str) -> str:
    """Return `text` in a normal form of Unicode."""
    if text.isascii():
        return text
    return "".join(unicodedata.normalize(form, piece) for piece in _pieces(text))


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = _cut(text, start + _AT_ONCE)
        yield text[start:end]
        start = end


def _cut(text: str, at: int) -> int:
    """Return the first place from `at` on before which a text can be cut."""
    near = range(at, min(at + _MOST_MARKS, len(text)))
    return next((place for place in near if _stands_apart(text[place])), at)


def _stands_apart(char: str) -> bool:
    """Whether no character before joins with this one: no mark, no later part of a Korean syllable."""
    return char.isascii() or (unicodedata.category(char)[0] != "M" and not "\u1160" <= char <= "\u11ff")
