"""The vectors of bullets in the Neo4j store (see `ace_graph.memory.stores.vectors`): a node for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ace_graph.memory.stores.neo4j.runner import Runner, fetch
from ace_graph.memory.stores.vectors import VectorChange

__all__ = ["put_vectors", "read_vectors"]

_READ: Final = """
MATCH (:AceMemoryState {user_id: $uid})-[:HAS_VECTOR]->(v:AceVector {model: $model})
RETURN v.name AS name, v.vector AS vector
"""

_PUT: Final = """
MATCH (m:AceMemoryState {user_id: $uid, epoch: $epoch})
CALL (m) {
  MATCH (m)-[:HAS_VECTOR]->(old:AceVector)
  WHERE old.model <> $model OR old.name IN $gone
  DETACH DELETE old
}
CALL (m) {
  UNWIND $rows AS row
  MERGE (v:AceVector {user_id: $uid, model: $model, name: row[0]})
  SET v.vector = row[1]
  MERGE (m)-[:HAS_VECTOR]->(v)
}
RETURN true AS done
"""


async def read_vectors(run: Runner, learner: str, model: str) -> Mapping[str, bytes]:
    """Return the rows of a model by content hash, in one statement."""
    rows = await fetch(run, _READ, uid=learner, model=model)
    return {str(row["name"]): row["vector"] for row in rows if isinstance(row["vector"], bytes)}


async def put_vectors(run: Runner, learner: str, epoch: str | None, change: VectorChange) -> bool:
    """Store and delete rows, under the learner's lock; False where the state is not of that epoch."""
    rows = [[name, row] for name, row in change.rows.items()]
    done = await fetch(
        run, _PUT, uid=learner, epoch=epoch, model=change.model, gone=list(change.gone), rows=rows
    )
    return bool(done)
