"""Reads a learner's history and turns, and the export of everything.

The caller holds the learner's lock where several reads must be consistent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from ace_graph.memory.commit import History
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.serialization import load_record
from ace_graph.memory.stores.base import LearnerExport, PlaybookExport, SharingExport, VectorChange
from ace_graph.memory.stores.neo4j import queries as cypher
from ace_graph.memory.stores.neo4j.catalogue import list_entries
from ace_graph.memory.stores.neo4j.commit import read_locked
from ace_graph.memory.stores.neo4j.pending import read_items
from ace_graph.memory.stores.neo4j.queries import read_entry
from ace_graph.memory.stores.neo4j.runner import Runner, fetch
from ace_graph.memory.stores.neo4j.sharing import read_sharing
from ace_graph.memory.stores.snapshot_and_log import StoredBase, load_base
from ace_graph.memory.turn import TurnRecord

_ALL = 2**31


async def read_history(run: Runner, learner_id: str, *, everything: bool = False) -> History:
    """Return the content changes whose effects are kept; with `everything` all deltas.

    Raises CorruptPayload, NewerFormat.
    """
    base_n, base = await read_base(run, learner_id)
    query = cypher.EXPORT_DELTAS if everything else cypher.DELTAS
    rows = await fetch(run, query, uid=learner_id)
    return History(base_n, base, tuple(map(read_entry, rows)))


async def read_turns(run: Runner, learner_id: str, limit: int = _ALL) -> tuple[TurnRecord, ...]:
    """Return at most `limit` turn records, the newest first. Raises CorruptPayload."""
    rows = await fetch(run, cypher.TURNS, uid=learner_id, limit=max(0, limit))
    return tuple(load_record(str(row["record_json"])) for row in rows)


async def read_export(run: Runner, learner_id: str) -> LearnerExport:
    """Return everything stored about a learner, with the playbooks that the learner owns, or a playbook."""
    snapshot = await read_locked(run, learner_id)
    history = await read_history(run, learner_id, everything=True)
    turns, pending = await read_turns(run, learner_id), await read_items(run, learner_id, None, _ALL)
    named = run.of("playbooks")
    owned = await list_entries(named, learner_id, _ALL, "") if run.namespace == "learners" else ()
    playbooks = [PlaybookExport(entry, await read_export(named, entry.playbook_id)) for entry in owned]
    sharing = SharingExport()
    if run.namespace == "learners":
        sharing = await read_sharing(run, learner_id, [entry.playbook_id for entry in owned])
    return LearnerExport(learner_id, snapshot, history, turns, pending, tuple(playbooks), sharing)


async def read_base(run: Runner, learner_id: str) -> tuple[int, Playbook]:
    rows = await fetch(run, cypher.BASE, uid=learner_id)
    if not rows or not rows[0]["n"]:
        return 0, Playbook()
    n, base = int(str(rows[0]["n"])), StoredBase(*cast("list[Any]", rows[0]["base"]))
    return n, load_base(base.checked().text)


# The vectors of bullets in the Neo4j store (see `ace_graph.memory.stores.base`): a node for each.


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
