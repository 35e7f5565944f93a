"""Tables in package data: word lists and TOML files in the folder `data` of a package of the memory.

The files of a package are read together when one is first needed, and kept; `preload` reads them all, so that
nothing blocks an event loop later. Each file begins with a comment that says what is in it and how it is
written, so that a table can be corrected without reading code. A table by language is a folder with a file
for each language.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import MappingProxyType

__all__ = ["PACKAGES", "groups", "languages", "pairs", "preload", "read_toml", "read_words", "word_sets"]

PACKAGES = ("ace_graph.memory.screening", "ace_graph.memory.search", "ace_graph.memory.similarity")
"""The packages of the memory that have tables."""


def preload(packages: Iterable[str] = PACKAGES) -> None:
    """Read the files of the packages; they are parsed when they are first needed."""
    for package in packages:
        _texts(package)


@cache
def read_words(package: str, path: str) -> frozenset[str]:
    """Return the words of a text file: separated by spaces or line ends, without comment lines."""
    return frozenset(word for line in _lines(package, path) for word in line.split())


@cache
def read_toml(package: str, path: str) -> Mapping[str, object]:
    """Return what a TOML file holds."""
    return MappingProxyType(tomllib.loads(_texts(package)[path]))


@cache
def word_sets(package: str, path: str) -> Mapping[str, str]:
    """Return the top-level texts of a TOML file, or of all files of a folder, by name.

    Texts of one name in several files are put together, a line end between them.
    """
    found: dict[str, list[str]] = {}
    for file in _texts(package):
        if file == path or file.startswith(f"{path}/"):
            for name, text in tomllib.loads(_texts(package)[file]).items():
                found.setdefault(name, []).append(text)
    return MappingProxyType({name: "\n".join(texts) for name, texts in found.items()})


@cache
def languages(package: str, folder: str) -> tuple[str, ...]:
    """Return the languages that a folder has tables for, in the order of its file languages.txt."""
    return tuple(_lines(package, f"{folder}/languages.txt"))


def groups(table: str) -> list[list[str]]:
    """Return the groups of a table: words side by side, groups separated by bars and line ends."""
    return [group.split() for line in table.splitlines() for group in line.split("|") if group.strip()]


def pairs(table: str) -> Mapping[str, str]:
    """Return the groups of a table, each of two words, as the second by the first."""
    return MappingProxyType({group[0]: group[1] for group in groups(table)})


@cache
def _texts(package: str) -> Mapping[str, str]:
    """Return the texts of a package's data files by their paths, in the order of these."""
    found = dict(_walk(files(package).joinpath("data"), ""))
    return MappingProxyType(dict(sorted(found.items())))


def _walk(folder: Traversable, prefix: str) -> Iterator[tuple[str, str]]:
    for each in folder.iterdir():
        path = f"{prefix}{each.name}"
        if each.is_dir():
            yield from _walk(each, f"{path}/")
        elif path.endswith((".toml", ".txt")):
            yield path, each.read_text("utf-8")


def _lines(package: str, path: str) -> list[str]:
    lines = (line.strip() for line in _texts(package)[path].splitlines())
    return [line for line in lines if line and not line.startswith("#")]
