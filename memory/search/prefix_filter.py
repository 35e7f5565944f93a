"""Prefix filtering: which of some texts share all but a few of their terms with another one.

Two texts that differ in at most three terms have one in common among the first four of each, if all texts
keep their terms in one fixed order. So a text is looked up by four terms instead of compared with every other
(AllPairs: Bayardo, Ma and Srikant, "Scaling up all pairs similarity search", 2007). What the candidates mean
for each other is decided by `similarity.compare`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

__all__ = ["MAX_DIFFERENCE", "PrefixFilter", "in_order"]

MAX_DIFFERENCE = 3
"""Terms that a candidate may lack, or have beyond the text: rivals differ in a word or two."""


def in_order(terms: Iterable[str]) -> tuple[str, ...]:
    """Return the terms in the one order that all texts share: the longest, which tend to be rare, first."""
    return tuple(sorted(sorted(terms), key=len, reverse=True))


class PrefixFilter:
    """Texts by their signatures. A text's terms are those of `in_order`, each once.

    `common` are terms that nearly all of the texts share; they come last in a signature, because they hardly
    tell two texts apart.
    """

    def __init__(self, common: Container[str] = ()) -> None:
        self._common = common
        self._keys: dict[str, list[str]] = {}
        self._terms: dict[str, tuple[str, ...]] = {}

    def signature(self, terms: tuple[str, ...], slot: str | None = None) -> list[str]:
        """Return what a text is found by: the first of its terms, and the profile slot that it fills."""
        prefix = [term for term in terms if term not in self._common][: MAX_DIFFERENCE + 1]
        if len(prefix) <= MAX_DIFFERENCE:
            prefix += [term for term in terms if term in self._common][: MAX_DIFFERENCE + 1 - len(prefix)]
        return [*(prefix or [""]), *([] if slot is None else [f" {slot}"])]  # no term begins with a space

    def add(self, key: str, terms: tuple[str, ...], signature: Iterable[str]) -> None:
        """Add a text under its `key`."""
        self._terms[key] = terms
        for part in signature:
            self._keys.setdefault(part, []).append(key)

    def candidates(self, terms: tuple[str, ...], signature: Iterable[str]) -> list[str]:
        """Return the keys of the texts that share all but MAX_DIFFERENCE, and at least half, of their terms.

        A text of the same slot is a candidate whatever its terms. Keys come in the order of their `add`.
        """
        found: set[str] = set()
        for part in signature:
            keys = self._keys.get(part, ())
            same_slot = part.startswith(" ")
            found.update(keys if same_slot else [key for key in keys if _similar(terms, self._terms[key])])
        return [key for key in self._terms if key in found] if found else []


def _similar(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    if abs(len(a) - len(b)) > MAX_DIFFERENCE:
        return False
    larger, shared = max(len(a), len(b)), len(set(a).intersection(b))
    return shared >= larger - MAX_DIFFERENCE and 2 * shared >= larger
