"""Which of some texts share all but a few of their terms with another: only they can be rivals, or say the
same.

Two texts that differ in at most three terms each have one in common among the first four of both, if all
terms stand in one fixed order. So a text is looked up by four terms instead of compared with every other.

Does not: read the texts. `similarity.compare` decides what the ones found mean.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

__all__ = ["OWN_TERMS", "PrefixFilter", "in_order"]

OWN_TERMS = 3
"""Rivals differ in a word or two; texts with more terms of their own than this are never compared."""


def in_order(terms: Iterable[str]) -> tuple[str, ...]:
    """Return the terms in the one order that all texts share: the longest, which tend to be rare, first."""
    return tuple(sorted(sorted(terms), key=len, reverse=True))


class PrefixFilter:
    """Grows by `add`. Terms are those of `in_order`, each once; marks are what `marks` gives for them.

    Terms that nearly all of the texts share, `common`, are looked up last: they tell no two texts apart.
    """

    def __init__(self, common: Container[str] = ()) -> None:
        self._common = common
        self._keys: dict[str, list[str]] = {}
        self._terms: dict[str, tuple[str, ...]] = {}

    def marks(self, terms: tuple[str, ...], slot: str | None = None) -> list[str]:
        """Return what a text is found by: the first of its terms, and its slot, the profile value it is."""
        found = [term for term in terms if term not in self._common][: OWN_TERMS + 1]
        if len(found) <= OWN_TERMS:
            found += [term for term in terms if term in self._common][: OWN_TERMS + 1 - len(found)]
        return [*(found or [""]), *([] if slot is None else [_slot_mark(slot)])]

    def add(self, key: str, terms: tuple[str, ...], marks: Iterable[str]) -> None:
        """Remember a text by its `key`."""
        self._terms[key] = terms
        for mark in marks:
            self._keys.setdefault(mark, []).append(key)

    def near(self, terms: tuple[str, ...], marks: Iterable[str]) -> list[str]:
        """Return the keys of the texts that share all but `OWN_TERMS` and at least half of their terms.

        A text of the same slot is near whatever its words. They come in the order in which they were added.
        """
        found: set[str] = set()
        for mark in marks:
            met = self._keys.get(mark, ())
            found.update(met if mark[:1] == " " else [key for key in met if _alike(terms, self._terms[key])])
        return [key for key in self._terms if key in found] if found else []


def _slot_mark(slot: str) -> str:
    return f" {slot}"  # no term begins with a space


def _alike(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    if abs(len(a) - len(b)) > OWN_TERMS:
        return False
    larger, shared = max(len(a), len(b)), len(set(a).intersection(b))
    return shared >= larger - OWN_TERMS and 2 * shared >= larger
