"""The vectors of bullets in the PostgreSQL store (see `ace_graph.memory.stores.vectors`)."""

from __future__ import annotations

from collections.abc import Mapping

from ace_graph.memory.stores.postgres.tables import Tables
from ace_graph.memory.stores.vectors import VectorChange

__all__ = ["put_vectors", "read_vectors"]


async def read_vectors(tables: Tables, learner: str, model: str) -> Mapping[str, bytes]:
    """Return the rows of a model by content hash, in one statement."""
    rows = await tables.rows(
        "SELECT name, vector FROM ace_vectors WHERE user_id = %s AND model = %s", (learner, model)
    )
    return {name: bytes(row) for name, row in rows}


async def put_vectors(tables: Tables, learner: str, epoch: str | None, change: VectorChange) -> bool:
    """Store and delete rows, under the learner's lock; False where the state is not of that epoch."""
    state = "SELECT 1 FROM ace_learners WHERE user_id = %s AND epoch = %s"
    if await tables.row(state, (learner, epoch)) is None:
        return False
    await tables.run(
        "DELETE FROM ace_vectors WHERE user_id = %s AND (model <> %s OR name = ANY(%s))",
        (learner, change.model, list(change.gone)),
    )
    if change.rows:
        await tables.run(
            "INSERT INTO ace_vectors (user_id, model, name, vector) "
            "SELECT %s::text, %s::text, * FROM unnest(%s::text[], %s::bytea[]) "
            "ON CONFLICT (user_id, model, name) DO UPDATE SET vector = excluded.vector",
            (learner, change.model, list(change.rows), list(change.rows.values())),
        )
    return True
