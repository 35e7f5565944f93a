"""A store in one SQLite file."""

from __future__ import annotations

from ace_graph.memory.stores.sqlite.store import SQLiteStore

__all__ = ["SQLiteStore"]
