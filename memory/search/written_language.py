"""In which language words are written, by the word lists: surer than stop words where a text is short."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ace_graph.memory.languages.tables import FIRST
from ace_graph.memory.search.word_list import per_million

_ENOUGH = 0.75
"""The share of the words of an English text that the English list has."""


def written_language(words: Collection[str], likely: Iterable[str]) -> str:
    """Return the likely language whose list has most of the case-folded words, the first of equals.

    It is English where that is likely and has enough of them, so that no other list is read then. Of equals
    it is another one.
    """
    candidates = tuple(likely)
    if FIRST in candidates and known_words(words, FIRST) >= _ENOUGH * len(words):
        return FIRST
    others = [language for language in candidates if language != FIRST]
    return max((*others, *candidates), key=lambda language: known_words(words, language))


def known_words(words: Iterable[str], language: str) -> int:
    """Return how many of the case-folded words the list of a language has."""
    return sum(per_million(word, language) > 0 for word in words)
