"""The vectors that this process knows, each quantised, by the hash of its text."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping

__all__ = ["Rows"]

_BYTES_PER_ROW = 150
"""What the key and the table take beside the vector."""


class Rows:
    """Content hash -> row, the least recently used dropped first. Safe to use from any thread."""

    def __init__(self, max_bytes: int = 128_000_000) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._held: OrderedDict[str, bytes] = OrderedDict()
        self._bytes = 0

    def known(self, hashes: Iterable[str]) -> dict[str, bytes]:
        """Return the rows that are there of these texts."""
        with self._lock:
            found = {key: row for key in hashes if (row := self._held.get(key)) is not None}
            for key in found:
                self._held.move_to_end(key)
            return found

    def put(self, rows: Mapping[str, bytes]) -> None:
        """Keep these rows."""
        with self._lock:
            for key, row in rows.items():
                old = self._held.pop(key, None)
                self._bytes += len(row) - len(old) if old is not None else len(row) + _BYTES_PER_ROW
                self._held[key] = row
            while self._bytes > self._max_bytes:
                _, dropped = self._held.popitem(last=False)
                self._bytes -= len(dropped) + _BYTES_PER_ROW

    def clear(self) -> None:
        """Drop all rows."""
        with self._lock:
            self._held.clear()
            self._bytes = 0
