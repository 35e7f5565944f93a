"""A store that lives in one process."""

from __future__ import annotations

from ace_graph.memory.stores.in_memory.store import InMemoryStore, Learners

__all__ = ["InMemoryStore", "Learners"]
