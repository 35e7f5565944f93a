"""Which strings are words, and how common they are in speech: the word lists of pyspellchecker.

A list is kept as the bytes of its file, sorted, and looked up by binary search: reading one takes some 10 ms
and 2 to 8 MB, a look-up microseconds. A name may be in a list or not. The counts are of the subtitles of
films (OpenSubtitles), so they tell everyday words from those of a subject.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib.resources import files

_CODES = {
    "english": "en",
    "german": "de",
    "french": "fr",
    "spanish": "es",
    "italian": "it",
    "portuguese": "pt",
    "dutch": "nl",
}
_COUNTS = {
    **_CODES,
    "russian": "ru",
}
"""Russian's list has 20,000 words: too few to tell a typo from a form of a word, but all common ones."""

_MILLIONS = {"en": 1_647, "de": 124, "fr": 354, "es": 689, "it": 445, "pt": 388, "nl": 382, "ru": 33}
"""The sum of the counts of a list; computed anew, it would cost more than all look-ups."""


def every_list() -> tuple[str, ...]:
    """Return the languages that have a list of their words, English first."""
    return tuple(_CODES)


def has_list(language: str) -> bool:
    """Whether there is a list of the words of a language, named as `language_of` names it."""
    return language in _CODES


@lru_cache(maxsize=32_768)
def is_word(word: str, language: str) -> bool:
    """Whether the list of a language holds a case-folded word; a language without a list holds none."""
    return language in _CODES and _count(word, _CODES[language]) > 0


@lru_cache(maxsize=32_768)
def per_million(word: str, language: str) -> float:
    """Return how often a case-folded word is said, of a million words; 0 for an unknown word or language."""
    code = _COUNTS.get(language)
    return _count(word, code) / _MILLIONS[code] if code else 0.0


@lru_cache(maxsize=32_768)
def begins_word(start: str, language: str) -> bool:
    """Whether a word of a language's list begins with these case-folded letters."""
    if language not in _CODES:
        return False
    lines = _lines(_CODES[language])
    place = _place_of(lines, b'"%b' % start.encode())
    return lines.startswith(b'"%b' % start.encode(), place)


def unread_lists(languages: Iterable[str]) -> list[str]:
    """Return those of the languages whose list was not read yet: a file of up to a megabyte each."""
    return [each for each in languages if each in _COUNTS and _COUNTS[each] not in _read()]


def read_lists(languages: Iterable[str]) -> None:
    """Read the lists of these languages that were not read yet."""
    for language in unread_lists(languages):
        _lines(_COUNTS[language])


def _count(word: str, code: str) -> int:
    """Return the count of a word, at least 1 where the list holds it, else 0."""
    lines, wanted = _lines(code), b'"%b"' % word.encode()
    start = _place_of(lines, wanted[:-1])
    if not lines.startswith(wanted, start):
        return 0
    end = lines.find(b"\n", start)
    counted = lines[start + len(wanted) : len(lines) if end < 0 else end]
    return max(1, int(counted.strip(b": ,}") or b"1"))


def _place_of(lines: bytes, wanted: bytes) -> int:
    """Return where the first line begins whose word is not before `wanted`, which has no closing mark."""
    low, high = 0, len(lines)
    while low < high:
        start = lines.rfind(b"\n", 0, (low + high) // 2) + 1
        end = lines.find(b"\n", start)
        end = len(lines) if end < 0 else end
        if lines[start : max(start, lines.rfind(b'"', start, end))] < wanted:
            low = end + 1
        else:
            high = start
    return low


def _lines(code: str) -> bytes:
    """Return the list of a language: a line for each word in quotation marks, in the order of its bytes."""
    lines = _read().get(code)
    if lines is None:
        packed = files("spellchecker").joinpath("resources", f"{code}.json.gz").read_bytes()
        lines = _read()[code] = gzip.decompress(packed)
    return lines


@cache
def _read() -> dict[str, bytes]:
    """Return the lists that were read, by their codes."""
    return {}
