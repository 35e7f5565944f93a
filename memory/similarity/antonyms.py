"""English words that exclude each other: opposites, and words for different things (data/antonyms.toml).

Putting one for the other changes what a text says, so neither is ever taken for a typo. Only opposites make
two texts contradict: "increase it" and "decrease it" can't both be good advice, while "read the file" and
"write the file" are two things to do. The tables need not be complete: a word that one text alone has keeps
two texts apart in any case.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cache
from types import MappingProxyType

from ace_graph.memory.similarity.lexicon import root
from ace_graph.tables import groups, word_sets

__all__ = ["any_exclusive", "are_contradictory", "are_mutually_exclusive"]

_Groups = Mapping[str, Mapping[int, int]]


def are_contradictory(a: str, b: str) -> bool:
    """Whether two roots are opposites: listed so, or one is the other behind a prefix (valid, invalid)."""
    return _listed_together("contradictory", a, b) or _prefix_between(a, b) in _prefixes("opposing_prefixes")


def are_mutually_exclusive(a: str, b: str) -> bool:
    """Whether two roots name different things, however alike they look: opposites and alternatives."""
    return (
        are_contradictory(a, b)
        or _listed_together("alternative", a, b)
        or _prefix_between(a, b) in _prefixes("altering_prefixes")
    )


def any_exclusive(first: Collection[str], second: Collection[str]) -> bool:
    """Whether a root of the first excludes one of the second, in time linear in their number."""
    others = frozenset(second)
    return any(are_mutually_exclusive(a, b) for a in first for b in _candidates(a) if b in others)


def _candidates(word: str) -> Iterator[str]:
    """Yield every root that may exclude this one: in a group with it, or with a prefix more or less."""
    for name in ("contradictory", "alternative"):
        for group in _table(name).get(word, {}):
            yield from _members(name)[group]
    for prefix in _prefixes("opposing_prefixes") | _prefixes("altering_prefixes"):
        yield f"{prefix}{word}"
        if word.startswith(prefix):
            yield word.removeprefix(prefix)


def _listed_together(name: str, a: str, b: str) -> bool:
    """Whether a group of a table holds both words, and no group as words of one meaning."""
    table = _table(name)
    of_a, of_b = table.get(a, {}), table.get(b, {})
    shared = of_a.keys() & of_b.keys()
    return a != b and bool(shared) and all(of_a[group] != of_b[group] for group in shared)


def _prefix_between(a: str, b: str) -> str | None:
    short, long = sorted((a, b), key=len)
    return long.removesuffix(short) if len(short) > 2 and long != short and long.endswith(short) else None


@cache
def _table(name: str) -> _Groups:
    """Return for each root its groups, and its meaning in each of them."""
    table: dict[str, dict[int, int]] = {}
    for number, group in enumerate(groups(word_sets("ace_graph.memory.similarity", "antonyms.toml")[name])):
        for meaning, words in enumerate(group):
            for word in words.split("="):
                table.setdefault(root(word), {}).setdefault(number, meaning)
    return MappingProxyType(table)


@cache
def _members(name: str) -> Mapping[int, frozenset[str]]:
    """Return for each group of a table its roots."""
    members: dict[int, set[str]] = {}
    for word, groups_of in _table(name).items():
        for group in groups_of:
            members.setdefault(group, set()).add(word)
    return MappingProxyType({group: frozenset(words) for group, words in members.items()})


@cache
def _prefixes(name: str) -> frozenset[str]:
    return frozenset(word_sets("ace_graph.memory.similarity", "antonyms.toml")[name].split())
