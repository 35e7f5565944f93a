"""Which strings are words: the word lists of pyspellchecker, one for each language, read on first use.

A list is kept as the bytes of its file, sorted, and looked up by binary search: reading one takes some 10 ms
and 2 to 8 MB, a look-up microseconds. A name may be in a list or not.
"""

from __future__ import annotations

import gzip
from functools import lru_cache
from importlib.resources import files

__all__ = ["has_list", "is_word"]

_CODES = {
    "english": "en",
    "german": "de",
    "french": "fr",
    "spanish": "es",
    "italian": "it",
    "portuguese": "pt",
    "dutch": "nl",
}
"""Russian is left out: its list has 20,000 words, too few to tell a typo from a form of a word."""


def has_list(language: str) -> bool:
    """Whether there is a list of the words of a language, named as `language_of` names it."""
    return language in _CODES


@lru_cache(maxsize=32_768)
def is_word(word: str, language: str) -> bool:
    """Whether the list of a language holds a case-folded word; a language without a list holds none."""
    if language not in _CODES:
        return False
    lines, wanted = _lines(_CODES[language]), b'"%b"' % word.encode()
    low, high = 0, len(lines)
    while low < high:
        start = lines.rfind(b"\n", 0, (low + high) // 2) + 1
        end = lines.find(b"\n", start)
        end = len(lines) if end < 0 else end
        found = lines[start : lines.rfind(b'"', start, end) + 1]
        if found == wanted:
            return True
        if found[:-1] < wanted[:-1]:
            low = end + 1
        else:
            high = start
    return False


@lru_cache(maxsize=len(_CODES))
def _lines(code: str) -> bytes:
    """Return the list of a language: a line for each word in quotation marks, in the order of its bytes."""
    packed = files("spellchecker").joinpath("resources", f"{code}.json.gz").read_bytes()
    return gzip.decompress(packed)
