"""The tokenizer: a text as content terms, the same for a bullet and for a question.

Words are case-folded, in Unicode's compatibility form, without stop words, stemmed by language and
stripped of accents. Numbers stay whole (1/2, 3.14, 50%; 1,000 is 1000). Scripts without spaces (Chinese,
Japanese, Korean, Thai, Lao, Khmer, Burmese) give overlapping pairs of characters. A name in camel case
gives itself and its parts.

The language is settled by the script, or for Latin letters guessed from stop words, with English as the
default. A stemmer of PyStemmer must not be shared by threads; making one costs less than a look-up, so
each word that is not in the cache gets its own.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from importlib import import_module
from itertools import chain
from typing import Protocol, cast

from ace_graph.languages.detection import guess_language, script_language
from ace_graph.languages.tables import function_pairs, stop_words
from ace_graph.memory.search.normal_form import normal_form

__all__ = [
    "content_words",
    "count_spaceless",
    "fold",
    "is_spaceless",
    "language_and_terms",
    "language_of",
    "terms",
    "tokens",
]

# After fold() every digit is ASCII, and what is not ASCII is a letter or a mark.
_TOKEN = re.compile(
    r"[0-9]+(?:[.,/][0-9]+)*(?:%|(?:st|nd|rd|th)(?![A-Za-z0-9]))?"
    r"|[A-Za-z\x80-\U0010ffff][A-Za-z0-9\x80-\U0010ffff]*"
    r"(?:'[A-Za-z\x80-\U0010ffff]+)*(?:(?:\+\+|#)(?![A-Za-z0-9]))?"
)
_GROUPED = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?%?")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+")
_VULGAR_FRACTION = re.compile(r"(?<=[0-9])(?=[¼-¾⅐-⅞])")
_SUPERSCRIPT = re.compile(r"(?=(?<![²³¹⁰⁴-⁹])[²³¹⁰⁴-⁹])")
_SPACELESS = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff"
    r"\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_CACHED_CHARS = 64
"""A longer token is hardly a word that occurs again, so its terms are not cached."""

_CACHED_TOKENS = 16_384
"""In each language."""

_CLITICS = frozenset({"s", "ll", "ve", "re", "d", "m"})


class _Stemmer(Protocol):
    def stemWord(self, word: str, /) -> str: ...


def terms(text: str, language: str | None = None) -> tuple[str, ...]:
    """Return the content terms of `text` in their order, repeated as often as they occur.

    `language` is one of PyStemmer's names; by default it is guessed from the text.
    """
    found = tokens(text)
    known = _known_terms(language or _guess(found))
    return tuple(chain.from_iterable(map(known.__getitem__, found)))


def language_and_terms(text: str) -> tuple[str, tuple[str, ...]]:
    """Return what `language_of` and `terms` return, from one reading of the text."""
    found = tokens(text)
    language = _guess(found)
    return language, tuple(chain.from_iterable(map(_known_terms(language).__getitem__, found)))


def content_words(text: str, language: str | None = None) -> dict[str, str]:
    """Return term -> the word of `text` that it came from, so that a word can be kept and found again."""
    found = tokens(text)
    known = _known_terms(language or _guess(found))
    return {term: token.casefold() for token in found for term in known[token]}


def language_of(text: str) -> str:
    """Return the language whose stemmer the Latin words of `text` get."""
    return _guess(tokens(text))


def tokens(text: str) -> list[str]:
    """Return the words and numbers of `text` as they stand, folded but with their case."""
    return _TOKEN.findall(fold(text))


def is_spaceless(word: str) -> bool:
    """Whether `word` holds characters of a script that puts no spaces between words."""
    return not word.isascii() and _SPACELESS.search(word) is not None


def count_spaceless(text: str) -> int:
    """Return how many characters of `text` are of a script that puts no spaces between words."""
    return 0 if text.isascii() else sum(map(len, _SPACELESS.findall(text)))


def fold(text: str) -> str:
    """Return `text` in compatibility form: ASCII digits and apostrophes, other punctuation as spaces.

    ASCII text is returned as it is. A space separates a vulgar fraction or a superscript from the number
    before it.
    """
    if text.isascii():
        return text
    separated = _SUPERSCRIPT.sub("^", _VULGAR_FRACTION.sub(" ", text))
    return "".join(map(_fold_char, normal_form("NFKC", separated)))


@lru_cache(maxsize=4096)
def _fold_char(char: str) -> str:
    if char.isascii():
        return char
    if char in "\u2019\u02bc":
        return "'"
    if char == "\u2044":
        return "/"
    category = unicodedata.category(char)
    if category == "Nd":
        return str(unicodedata.decimal(char))
    if category == "Cf":
        return ""
    return " " if category[0] in "PSZC" else char


def _guess(found: Iterable[str]) -> str:
    return guess_language(list(map(str.casefold, found)))


class _KnownTerms(dict[str, tuple[str, ...]]):
    """The terms of the tokens that were read in one language; forgets all of them when it is full.

    A look-up in a dictionary costs half of a call of a cached function, and an index is built of thousands.
    """

    def __init__(self, language: str) -> None:
        self._language = language

    def __missing__(self, token: str) -> tuple[str, ...]:
        found = _new_terms(token, self._language)
        if len(token) <= _CACHED_CHARS:
            if len(self) >= _CACHED_TOKENS:
                self.clear()
            self[token] = found
        return found


@cache
def _known_terms(language: str) -> _KnownTerms:
    return _KnownTerms(language)


def _new_terms(token: str, language: str) -> tuple[str, ...]:
    if token[0].isdigit():
        return (token.replace(",", "") if _GROUPED.fullmatch(token) else token,)
    parts = _HUMP.findall(token) if not token.islower() and token.isascii() else ()
    whole = _word_terms(token.casefold(), language)
    if len(parts) < 2 or "'" in token:
        return whole
    return whole + tuple(term for part in parts for term in _word_terms(part.casefold(), language))


def _word_terms(word: str, language: str) -> tuple[str, ...]:
    base = _without_clitics(word) if "'" in word else word
    language = (script_language(base[0]) if base else None) or language
    if not base or base in stop_words(language) or base in stop_words("english"):
        return ()
    if is_spaceless(base):
        return _pairs(base, language)
    stem = _without_accents(_stem(base, language))
    return (stem,) if stem else ()


def _without_clitics(word: str) -> str:
    """Return the word that carries the content: don't -> '', student's -> student, l'heure -> heure."""
    head, *rest = word.split("'")
    if head.endswith("n") and rest == ["t"]:
        return ""
    if len(rest) == 1 and rest[0] in _CLITICS:
        return head
    if len(rest) == 1 and len(head) <= 2:
        return rest[0]
    return head + "".join(rest)


def _pairs(word: str, language: str) -> tuple[str, ...]:
    found: list[str] = []
    rest = _SPACELESS.sub(" ", word).split()
    without_content = function_pairs()
    for run in _SPACELESS.findall(word):
        pairs = [run[i : i + 2] for i in range(len(run) - 1)] or [run]
        found.extend(pair for pair in pairs if pair not in without_content)
    for other in rest:
        found.extend(_word_terms(other, language))
    return tuple(found)


def _stem(word: str, language: str) -> str:
    return _stemmers()(language).stemWord(word)


@cache
def _stemmers() -> Callable[[str], _Stemmer]:
    # PyStemmer ships no types; this is the one method that is used.
    return cast("Callable[[str], _Stemmer]", import_module("Stemmer").Stemmer)


def _without_accents(word: str) -> str:
    if word.isascii() or script_language(word[0]) is not None:
        return word
    kept = [char for char in normal_form("NFKD", word) if not unicodedata.combining(char)]
    return normal_form("NFC", "".join(kept))
