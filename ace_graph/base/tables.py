"""Tables in package data: word lists and TOML files in the folder `data` of a package.

The files of a package are read together when one is first needed, and kept; `preload` reads them all, so that
nothing blocks an event loop later. Each file begins with a comment that says what is in it and how it is
written, so that a table can be corrected without reading code. What depends on a language is in
`ace_graph.memory.languages`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import MappingProxyType
from typing import cast

PACKAGES = (
    "ace_graph.learning",
    "ace_graph.memory.languages",
    "ace_graph.memory.screening",
    "ace_graph.memory.similarity",
)
"""The packages whose tables a turn needs."""


_NAMED = re.compile(r"^(?://|--) ([A-Z_]+)\n(?:(?://|--) .*\n)*", re.MULTILINE)


def preload(packages: Iterable[str] = PACKAGES) -> None:
    """Read the files of the packages; they are parsed when they are first needed."""
    for package in packages:
        _texts(package)


def has_table(package: str, path: str) -> bool:
    """Whether a package has a file of this path."""
    return path in _texts(package)


@cache
def read_words(package: str, path: str) -> frozenset[str]:
    """Return the words of a text file: separated by spaces or line ends, without comment lines."""
    return frozenset(word for line in read_lines(package, path) for word in line.split())


def read_lines(package: str, path: str) -> tuple[str, ...]:
    """Return the lines of a text file in their order, without comment lines and empty ones."""
    lines = (line.strip() for line in _texts(package)[path].splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))


@cache
def read_toml(package: str, path: str) -> Mapping[str, object]:
    """Return what a TOML file holds."""
    return MappingProxyType(tomllib.loads(_texts(package)[path]))


def word_sets(package: str, path: str) -> Mapping[str, str]:
    """Return the texts of a TOML file that holds nothing else, by name."""
    return cast("Mapping[str, str]", read_toml(package, path))


@cache
def named_texts(package: str, file: str) -> Mapping[str, str]:
    """Return the texts of a file of SQL or Cypher in a package's folder, by their names.

    A name stands alone in a comment before its text; comments right behind it are about the text.
    """
    _, *named = _NAMED.split(files(package).joinpath(file).read_text("utf-8"))
    return MappingProxyType(dict(zip(named[::2], named[1::2], strict=True)))


def groups(table: str) -> list[list[str]]:
    """Return the groups of a table: words side by side, groups separated by bars and line ends."""
    return [group.split() for line in table.splitlines() for group in line.split("|") if group.strip()]


def pairs(table: str) -> Mapping[str, str]:
    """Return the groups of a table, each of two words, as the second by the first."""
    return MappingProxyType({group[0]: group[1] for group in groups(table)})


@cache
def _texts(package: str) -> Mapping[str, str]:
    found = dict(_walk(files(package).joinpath("data"), ""))
    return MappingProxyType(dict(sorted(found.items())))


def _walk(folder: Traversable, prefix: str) -> Iterator[tuple[str, str]]:
    for each in folder.iterdir():
        path = f"{prefix}{each.name}"
        if each.is_dir():
            yield from _walk(each, f"{path}/")
        elif path.endswith((".toml", ".txt")):
            yield path, each.read_text("utf-8")
