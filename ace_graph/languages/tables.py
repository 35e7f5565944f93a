"""Reads the tables of a language, and guesses by its words which language a sentence is in.

A language is a folder in data/by_language, with a file for each kind of table. A file begins with a comment
that says how it is written, so that a language is added without reading code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import cast

from ace_graph.memory.search.stop_words import stop_words
from ace_graph.memory.tables import languages as listed
from ace_graph.memory.tables import read_toml

__all__ = ["FIRST", "PACKAGE", "SPACELESS", "languages", "phrases", "spoken_language", "table", "words"]

PACKAGE = "ace_graph.languages"
FIRST = "english"
SPACELESS = frozenset({"chinese", "japanese"})
"""Languages that put no spaces between words: their words are looked for anywhere in a text."""

_FOLDER = "by_language"
_WORD = re.compile(r"\w+")
_SCRIPTS = (
    ("japanese", re.compile("[\u3040-\u30ff]")),
    ("chinese", re.compile("[\u3400-\u9fff]")),
    ("russian", re.compile("[\u0400-\u052f]")),
)
"""What settles a language whatever else a sentence holds; kana come first, since Japanese has Han, too."""


def languages() -> tuple[str, ...]:
    """Return the languages that have tables, the first of equals first."""
    return listed(PACKAGE, _FOLDER)


def table(language: str, file: str) -> Mapping[str, str]:
    """Return the texts of a language's table, by name."""
    return cast("Mapping[str, str]", read_toml(PACKAGE, f"{_FOLDER}/{language}/{file}.toml"))


@cache
def words(language: str, file: str, name: str) -> frozenset[str]:
    """Return the words of a text of a table, without case."""
    return frozenset(table(language, file)[name].casefold().split())


@cache
def phrases(language: str, file: str, name: str) -> tuple[str, ...]:
    """Return the lines of a text of a table."""
    return tuple(line.strip() for line in table(language, file)[name].splitlines() if line.strip())


def spoken_language(sentence: str) -> str:
    """Return the language whose words occur most often in a sentence; English wins ties.

    Linear in the sentence's length.
    """
    if not sentence.isascii():
        for language, script in _SCRIPTS:
            if script.search(sentence) is not None:
                return language
    known = _languages_by_word()
    hits = dict.fromkeys(languages(), 0)
    for word in _WORD.findall(sentence.casefold()):
        for language in known.get(word, ()):
            hits[language] += 1
    return max(hits, key=hits.__getitem__)


@cache
def _languages_by_word() -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for language in languages():
        own = words(language, "persons", "own")  # they tell related languages apart, so they count twice
        for word in stop_words(language) | frozenset(_persons(language)):
            found[word] = (*found.get(word, ()), *(language,) * (2 if word in own else 1))
    return MappingProxyType(found)


def _persons(language: str) -> Iterator[str]:
    for name in ("own", "mine", "others", "questions", "joints", "material"):
        yield from words(language, "persons", name)
