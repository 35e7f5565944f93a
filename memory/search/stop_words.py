"""Stop words by language, and a cheap guess which language a short text is in.

The guess only chooses a stemmer and a stop list, so a wrong guess costs little as long as it is the same
for a bullet and for the questions about it. English is the default and wins every tie. Only languages that
have a stop list are guessed; the lists are in data/stop_words.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from types import MappingProxyType

from ace_graph.memory.tables import languages, read_words

__all__ = ["guess_language", "script_language", "stop_words"]

_PACKAGE = "ace_graph.memory.search"
_LISTS = "stop_words"

_SCRIPTS = (
    (0x0370, 0x03FF, "greek"),
    (0x0400, 0x052F, "russian"),
    (0x0530, 0x058F, "armenian"),
    (0x0600, 0x06FF, "arabic"),
    (0x0900, 0x097F, "hindi"),
    (0x0B80, 0x0BFF, "tamil"),
)


@cache
def stop_words(language: str) -> frozenset[str]:
    """Return the words of a language that carry no content; none for a language without a list."""
    if language not in languages(_PACKAGE, _LISTS):
        return frozenset()
    return read_words(_PACKAGE, f"{_LISTS}/{language}.txt")


def script_language(char: str) -> str | None:
    """Return the stemmer's language that the script of a letter settles, None for Latin and the rest."""
    code = ord(char)
    if code < _SCRIPTS[0][0]:
        return None
    return next((language for low, high, language in _SCRIPTS if low <= code <= high), None)


def guess_language(words: Collection[str]) -> str:
    """Return the language whose stop words occur most often among these case-folded words.

    English wins ties and is what a text without a single stop word gets.
    """
    known = languages(_PACKAGE, _LISTS)
    if _not_in_first_language().isdisjoint(words):
        return known[0]
    by_word = _languages_by_word()
    hits = dict.fromkeys(known, 0)
    for word in words:
        for language in by_word.get(word, ()):
            hits[language] += 1
    return max(hits, key=hits.__getitem__)  # the first of equals, and English comes first


@cache
def _not_in_first_language() -> frozenset[str]:
    """Return the stop words that are not English, the first language; a text with none of them is English."""
    first = languages(_PACKAGE, _LISTS)[0]
    return frozenset(word for word, spoken in _languages_by_word().items() if first not in spoken)


@cache
def _languages_by_word() -> Mapping[str, tuple[str, ...]]:
    table: dict[str, tuple[str, ...]] = {}
    for language in languages(_PACKAGE, _LISTS):
        for word in stop_words(language):
            table[word] = (*table.get(word, ()), language)
    return MappingProxyType(table)
