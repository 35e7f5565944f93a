"""Tables in package data: word lists and TOML files in the folder `data` of a package of the memory.

A file is read when it is first needed and kept. Each begins with a comment that says what is in it and how it
is written, so that a table can be corrected without reading code. A table by language is a folder with a file
for each language.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import MappingProxyType

__all__ = ["groups", "languages", "pairs", "read_toml", "read_words", "word_sets"]


@cache
def read_words(package: str, path: str) -> frozenset[str]:
    """Return the words of a text file: separated by spaces or line ends, without comment lines."""
    return frozenset(word for line in _lines(_file(package, path)) for word in line.split())


@cache
def read_toml(package: str, path: str) -> Mapping[str, object]:
    """Return what a TOML file holds."""
    return MappingProxyType(tomllib.loads(_file(package, path).read_text("utf-8")))


@cache
def word_sets(package: str, path: str) -> Mapping[str, str]:
    """Return the top-level texts of a TOML file, or of all files of a folder, by name.

    Texts of one name in several files are put together, a line end between them.
    """
    found: dict[str, list[str]] = {}
    place = _file(package, path)
    for each in sorted(place.iterdir(), key=lambda file: file.name) if place.is_dir() else [place]:
        for name, text in tomllib.loads(each.read_text("utf-8")).items():
            found.setdefault(name, []).append(text)
    return MappingProxyType({name: "\n".join(texts) for name, texts in found.items()})


@cache
def languages(package: str, folder: str) -> tuple[str, ...]:
    """Return the languages that a folder has tables for, in the order of its file languages.txt."""
    return tuple(_lines(_file(package, f"{folder}/languages.txt")))


def groups(table: str) -> list[list[str]]:
    """Return the groups of a table: words side by side, groups separated by bars and line ends."""
    return [group.split() for line in table.splitlines() for group in line.split("|") if group.strip()]


def pairs(table: str) -> Mapping[str, str]:
    """Return the groups of a table, each of two words, as the second by the first."""
    return MappingProxyType({group[0]: group[1] for group in groups(table)})


def _file(package: str, path: str) -> Traversable:
    return files(package).joinpath("data", *path.split("/"))


def _lines(file: Traversable) -> list[str]:
    lines = (line.strip() for line in file.read_text("utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("#")]
