"""Compounds: words of which one is part of the other, as "teig" of "sauerteig", "лес" of "лесной".

A part has three letters or more at the beginning or the end of the whole, four or more inside. Scripts
without spaces between words have none: their terms are pairs of characters.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from ace_graph.memory.search.tokenize import is_spaceless

__all__ = ["compounds", "vocabulary"]

_SHORT, _MOST = 3, 8
_LONGEST = 40
"""A longer word is hardly one."""


def vocabulary(words: Iterable[str]) -> str:
    """Return the words between line breaks, so that all that hold a part are found in one pass."""
    return "\n".join(["", *filter(str.isalpha, words), ""])


def compounds(word: str, known: Container[str], text: str) -> list[str]:
    """Return the known words that hold `word` or are held by it, at most eight: the nearest in length first.

    `text` is their `vocabulary`. Takes time in proportion to that, at the speed of a search in a string.
    """
    if not _SHORT <= len(word) <= _LONGEST or not word.isalpha() or is_spaceless(word):
        return []
    found = {part for part in _parts(word) if part in known}
    found.update(_wholes(word, text))
    found.discard(word)
    return sorted(found, key=lambda other: (abs(len(other) - len(word)), other))[:_MOST]


def _parts(word: str) -> Iterator[str]:
    length = len(word)
    for size in range(_SHORT, length):
        yield word[:size]
        yield word[-size:]
        if size > _SHORT:
            yield from (word[at : at + size] for at in range(1, length - size))


def _wholes(word: str, text: str) -> Iterator[str]:
    for wanted in (word,) if len(word) > _SHORT else (f"\n{word}", f"{word}\n"):
        at = text.find(wanted)
        while at >= 0:
            start = text.rfind("\n", 0, at + 1) + 1
            end = text.find("\n", at + len(wanted) - 1)
            yield text[start:end]
            at = text.find(wanted, end)
