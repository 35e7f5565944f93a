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


_PREFIX = MAX_DIFFERENCE + 1


class PrefixFilter:
    """Texts by their signatures. A text's terms are those of `in_order`, each once.

    `common` are terms that nearly all of the texts share; they come last in a signature, because they hardly
    tell two texts apart.
    """

    def __init__(self, common: Container[str] = ()) -> None:
        self._common = common
        self._keys: dict[str, list[str]] = {}
        self._terms: dict[str, tuple[str, ...]] = {}
        self._places: dict[str, int] = {}

    def signature(self, terms: tuple[str, ...], slot: str | None = None) -> list[str]:
        """Return what a text is found by: the first of its terms, and the profile slot that it fills."""
        common, signature = self._common, list[str]()
        for term in terms:
            if term not in common:
                signature.append(term)
                if len(signature) == _PREFIX:
                    break
        if len(signature) < _PREFIX:
            signature += [term for term in terms if term in common][: _PREFIX - len(signature)]
        if not signature:
            signature.append("")
        if slot is not None:
            signature.append(f" {slot}")  # no term begins with a space
        return signature

    def add(self, key: str, terms: tuple[str, ...], signature: Iterable[str]) -> None:
        """Add a text under its `key`."""
        self._terms[key] = terms
        self._places.setdefault(key, len(self._places))
        for part in signature:
            self._keys.setdefault(part, []).append(key)

    def candidates(self, terms: tuple[str, ...], signature: Iterable[str]) -> list[str]:
        """Return the keys of the texts that share all but MAX_DIFFERENCE, and at least half, of their terms.

        A text of the same slot is a candidate whatever its terms. Keys come in the order of their `add`.
        """
        found, wanted = set[str](), frozenset[str]()
        for part in signature:
            keys = self._keys.get(part)
            if keys is None:
                continue
            wanted = wanted or frozenset(terms)
            for key in keys:
                if key not in found and (part[:1] == " " or _similar(wanted, self._terms[key])):
                    found.add(key)
        return sorted(found, key=self._places.__getitem__)


def _similar(a: frozenset[str], b: tuple[str, ...]) -> bool:
    fewer, larger = len(a), len(b)
    if fewer > larger:
        fewer, larger = larger, fewer
    if larger - fewer > MAX_DIFFERENCE:
        return False
    shared = len(a.intersection(b))
    return shared >= larger - MAX_DIFFERENCE and 2 * shared >= larger
