"""Reads the tables of the languages: a folder for each language in data/by_language, with all its tables.

A file begins with a comment that says how it is written, so that a language is added without reading code. A
language may lack a table: what reads that table then does without it. The order of the languages is that of
languages.txt.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from ace_graph.base.tables import has_table, read_lines, read_toml, read_words, word_sets

FIRST = "english"
SPACELESS = frozenset({"chinese", "japanese"})
"""Languages that put no spaces between words: their words are looked for anywhere in a text."""
_PACKAGE = "ace_graph.memory.languages"
_FOLDER = "by_language"


@cache
def every_language() -> tuple[str, ...]:
    """Return all languages that have a folder, the first of equals first."""
    return read_lines(_PACKAGE, f"{_FOLDER}/languages.txt")


@cache
def first_names() -> frozenset[str]:
    """Return the first names that tell a name in any language, as they are written."""
    return frozenset(" ".join(read_lines(_PACKAGE, f"{_FOLDER}/first_names.txt")).split())


@cache
def languages(file: str) -> tuple[str, ...]:
    """Return the languages that have a table of this name ("statements", "stop_words"), in their order."""
    return tuple(each for each in every_language() if _path(each, file) is not None)


@cache
def stop_words(language: str) -> frozenset[str]:
    """Return the words of a language that carry no content; none for a language without a list."""
    return _word_list(language, "stop_words")


@cache
def chat_words(language: str) -> frozenset[str]:
    """Return the words of politeness and small talk around a question; none for a language without a list."""
    return _word_list(language, "chat")


@cache
def platitude_words(language: str) -> frozenset[str]:
    """Return the words that fit any lesson; none for a language without a list."""
    return _word_list(language, "platitudes")


@cache
def function_pairs() -> frozenset[str]:
    """Return the pairs of characters that carry no content, in all scripts without spaces between words."""
    file = "function_pairs"
    return frozenset[str]().union(*(_word_list(language, file) for language in languages(file)))


def raw_table(language: str, file: str) -> Mapping[str, object]:
    """Return what a table holds that has more than texts."""
    return read_toml(_PACKAGE, f"{_FOLDER}/{language}/{file}.toml")


@cache
def table(language: str, file: str) -> Mapping[str, str]:
    """Return the texts of a language's table, by name."""
    return word_sets(_PACKAGE, f"{_FOLDER}/{language}/{file}.toml")


@cache
def table_of_all(file: str) -> Mapping[str, str]:
    """Return the texts of a table, by name; those of one name are put together, each language's on lines."""
    found: dict[str, list[str]] = {}
    for language in languages(file):
        for name, text in table(language, file).items():
            found.setdefault(name, []).append(text)
    return MappingProxyType({name: "\n".join(texts) for name, texts in found.items()})


@cache
def words(language: str, file: str, name: str) -> frozenset[str]:
    """Return the words of a text of a table, without case."""
    return frozenset(_text(language, file, name).casefold().split())


@cache
def phrases(language: str, file: str, name: str) -> tuple[str, ...]:
    """Return the lines of a text of a table."""
    return tuple(line.strip() for line in _text(language, file, name).splitlines() if line.strip())


def listed(text: str) -> list[str]:
    """Return the phrases of a line that stand between "|", or its words where there is no "|"."""
    found = text.split("|") if "|" in text else text.split()
    return [phrase.strip() for phrase in found if phrase.strip()]


def _text(language: str, file: str, name: str) -> str:
    found = table(language, file)
    if name not in found:
        raise KeyError(
            f"{language}/{file}.toml lacks {name!r}: add it; a table may be missing, a text in it may not"
        )
    return found[name]


def _word_list(language: str, file: str) -> frozenset[str]:
    path = _path(language, file)
    return frozenset() if path is None else read_words(_PACKAGE, path)


def _path(language: str, file: str) -> str | None:
    """Return the path of a language's table, None where it has none."""
    paths = (f"{_FOLDER}/{language}/{file}{ending}" for ending in (".toml", ".txt"))
    return next((path for path in paths if has_table(_PACKAGE, path)), None)
