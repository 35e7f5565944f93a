"""The words that decide whether two texts make the same claim: word sets, numbers, units, roots.

The words are in the tables `claims` of the languages, the numbers in data/numbers.toml. Roots and numbers are
English.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from types import MappingProxyType

from ace_graph.languages.tables import table_of_all
from ace_graph.tables import groups, pairs, word_sets

__all__ = [
    "Lexicon",
    "forms_of_one_word",
    "lexicon",
    "number_of",
    "root",
    "scale_of",
    "unit_of",
]

_PACKAGE = "ace_graph.memory.similarity"


@dataclass(frozen=True)
class Lexicon:
    """The word sets of the tables `claims`, which say what each of them is for."""

    articles: frozenset[str]
    fillers: frozenset[str]
    negations: frozenset[str]
    seldom: frozenset[str]
    directions: frozenset[str]
    subordinate: frozenset[str]
    sequence: frozenset[str]
    copulas: frozenset[str]
    places: frozenset[str]
    labels: frozenset[str]
    amounts: frozenset[str]
    joining: frozenset[str]
    determiners: frozenset[str]
    opening: frozenset[str]
    light: frozenset[str]
    sufficing: frozenset[str]
    obliging: frozenset[str]
    permitting: frozenset[str]
    wishing: frozenset[str]
    ordering: frozenset[str]
    """Roots, unlike the words in the files."""
    particles: Mapping[str, str]
    """Roots by their opposites: down -> up."""


@cache
def lexicon() -> Lexicon:
    """Return the word sets of all languages."""
    tables = dict(table_of_all("claims"))
    particles = pairs(tables.pop("particles"))
    ordering = frozenset(map(root, tables.pop("ordering").split()))
    sets = {name: frozenset(text.split()) for name, text in tables.items()}
    return Lexicon(**sets, ordering=ordering, particles=particles)


def number_of(word: str) -> str | None:
    """Return the number that a case-folded word names, in digits, else None."""
    return _numbers().get(word)


@cache
def _numbers() -> Mapping[str, str]:
    return pairs(word_sets(_PACKAGE, "numbers.toml")["numbers"])


def unit_of(word: str) -> str | None:
    """Return the unit that a case-folded word names, in one spelling and singular, else None."""
    units = _units()
    return units.get(word) or units.get(word.removesuffix("s")) or units.get(word.removesuffix("es"))


@cache
def _units() -> Mapping[str, str]:
    table = word_sets(_PACKAGE, "numbers.toml")["units"]
    return MappingProxyType({name: group[0] for group in groups(table) for name in group})


def scale_of(unit: str) -> tuple[int, str] | None:
    """Return how many of the smallest unit of its kind a unit is, and that unit; None where it has none."""
    return _scales().get(unit)


@cache
def _scales() -> Mapping[str, tuple[int, str]]:
    table = word_sets(_PACKAGE, "numbers.toml")["scales"]
    return MappingProxyType({unit: (int(many), base) for unit, base, many in groups(table)})


@lru_cache(maxsize=32_768)
def root(word: str) -> str:
    """Return a case-folded English word without its inflection (plural, -ed, -ing), other words as they are.

    Weaker than a stemmer on purpose: experience and experiment, or useful and useless, stay apart.
    """
    if len(word) <= 3 or not word.isascii() or not word.isalpha():
        return word.removesuffix("s") if len(word) == 3 and word.isalpha() and word.isascii() else word
    stripped = _without_suffix(word)
    if stripped.endswith("e") and len(stripped) > 3:
        stripped = stripped[:-1]
    if len(stripped) > 3 and stripped[-1] == stripped[-2] and stripped[-1] not in "aeiou":
        stripped = stripped[:-1]
    return f"{stripped[:-1]}i" if stripped.endswith("y") and len(stripped) > 3 else stripped


def forms_of_one_word(x: str, y: str) -> bool:
    """Whether two words of one root are forms of one word: plan and planning, not plan and plane."""
    if x == y or x.endswith(_VERBAL) or y.endswith(_VERBAL) or unit_of(x) is not None:
        return True
    return not _bases(x).isdisjoint(_bases(y))


def _bases(word: str) -> set[str]:
    """Return a word and what it may be the plural or the third person of."""
    found = {word, word.removesuffix("s")}
    if word.endswith(_SIBILANT):
        found.add(word[:-2])
    if word.endswith("ies"):
        found.add(f"{word[:-3]}y")
    return found


_VERBAL = ("ing", "ings", "ed")
_SIBILANT = ("ses", "xes", "zes", "ches", "shes", "oes")


def _without_suffix(word: str) -> str:
    if word.endswith(("ss", "us", "is", "eed", "ous")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    for suffix in ("ings", "ing", "ed", "es", "s"):
        rest = word.removesuffix(suffix)
        if rest != word and len(rest) >= 3 and any(vowel in rest for vowel in "aeiouy"):
            return rest
    return word
