"""What a store can say of itself: server, schema, how many learners. For people, not for programs.

Does not: write, or fail for a store of another make.
"""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from typing import Final

from ace_graph.memory.stores.base import Store
from ace_graph.memory.stores.in_memory.store import InMemoryStore
from ace_graph.memory.stores.sqlite.store import SQLiteStore
from ace_graph.portal import portal

__all__ = ["describe"]

_ABOUT_NEO4J: Final = """
CALL dbms.components() YIELD name, versions, edition WHERE name = 'Neo4j Kernel'
OPTIONAL MATCH (m:AceMemoryState)
WITH versions[0] AS version, edition, count(m) AS learners
OPTIONAL MATCH (s:AceMigration)
RETURN version, edition, learners, max(s.name) AS schema
"""


async def describe(store: Store) -> str:
    """Return one line about a store that was used before. Raises what the store raises."""
    if isinstance(store, SQLiteStore):
        return await asyncio.to_thread(_sqlite, store)
    if isinstance(store, InMemoryStore):
        return "in this process only"
    return await _neo4j(store)


def _sqlite(store: SQLiteStore) -> str:
    with closing(sqlite3.connect(f"{store.path.as_uri()}?mode=ro", uri=True)) as connection:
        (learners,) = connection.execute("SELECT count(*) FROM ace_learners").fetchone()
        (schema,) = connection.execute("SELECT max(name) FROM ace_migrations").fetchone()
    return f"SQLite {sqlite3.sqlite_version}, schema {schema}, learners: {learners}"


async def _neo4j(store: Store) -> str:
    from ace_graph.memory.stores.neo4j.store import Neo4jStore  # the driver costs 0.2 s

    if not isinstance(store, Neo4jStore):
        return store.name
    connection = store.connection
    (row,) = await portal().run(connection.work(lambda link: connection.rows(link, _ABOUT_NEO4J)))
    about = f"Neo4j {row['version']} {row['edition']}"
    return f"{about}, schema {row['schema']}, learners: {row['learners']}"
