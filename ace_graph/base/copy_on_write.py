"""Copies of frozen mappings: made when they are first written to, at the speed of a dictionary's own copy."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


def copied(mapping: Mapping[K, V]) -> dict[K, V]:
    """Return a copy.

    `dict(mapping)` looks up every key of a MappingProxyType, which takes twenty times as long.
    """
    return mapping.copy() if isinstance(mapping, MappingProxyType) else dict(mapping)


class CopyOnWrite(Generic[K, V]):
    """A mapping that others hold too, until `writable` gives the copy of its own that is changed.

    Most commits write to few of the mappings of a memory, and each of them may be as long as the memory.
    """

    def __init__(self, shared: Mapping[K, V]) -> None:
        self._shared = shared
        self._own: dict[K, V] | None = None

    @property
    def now(self) -> Mapping[K, V]:
        """The mapping with the changes so far; only for reading."""
        return self._shared if self._own is None else self._own

    def writable(self) -> dict[K, V]:
        """Return the copy to change."""
        if self._own is None:
            self._own = copied(self._shared)
        return self._own

    def replace(self, changed: dict[K, V]) -> None:
        """Take a new dictionary in place of the mapping."""
        self._own = changed

    def frozen(self) -> Mapping[K, V]:
        """Return the mapping for an immutable value: the shared one where nothing was written."""
        return self._shared if self._own is None else MappingProxyType(self._own)
