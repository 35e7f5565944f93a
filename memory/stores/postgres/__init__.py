"""A store in a PostgreSQL database."""

from __future__ import annotations

from ace_graph.memory.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
