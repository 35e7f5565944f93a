"""A store in Neo4j."""

from __future__ import annotations

from ace_graph.memory.stores.neo4j.store import Neo4jStore

__all__ = ["Neo4jStore"]
