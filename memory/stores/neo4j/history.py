"""Reads a learner's history and turns, and the export of everything.

The caller holds the learner's lock where several reads must be consistent.
"""

from __future__ import annotations

from neo4j import AsyncSession, AsyncTransaction

from ace_graph.memory.commit import History
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.serialization import load_playbook, load_record
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import LearnerExport
from ace_graph.memory.stores.neo4j import queries as cypher
from ace_graph.memory.stores.neo4j.connection import fetch
from ace_graph.memory.stores.neo4j.pending import read_items
from ace_graph.memory.stores.neo4j.rows import read_entry
from ace_graph.memory.turn import TurnRecord

__all__ = ["read_export", "read_history", "read_turns"]

_ALL = 2**31


async def read_history(run: AsyncTransaction, learner_id: str, *, everything: bool = False) -> History:
    """Return the content changes whose effects are kept; with `everything` all deltas.

    Raises CorruptPayload, NewerFormat.
    """
    base_n, base = await _read_base(run, learner_id)
    query = cypher.EXPORT_DELTAS if everything else cypher.DELTAS
    rows = await fetch(run, query, uid=learner_id)
    return History(base_n, base, tuple(map(read_entry, rows)))


async def read_turns(
    run: AsyncSession | AsyncTransaction, learner_id: str, limit: int = _ALL
) -> tuple[TurnRecord, ...]:
    """Return at most `limit` turn records, the newest first. Raises CorruptPayload."""
    rows = await fetch(run, cypher.TURNS, uid=learner_id, limit=max(0, limit))
    return tuple(load_record(str(row["record_json"])) for row in rows)


async def read_export(run: AsyncTransaction, learner_id: str, snapshot: Snapshot) -> LearnerExport:
    """Return everything stored about a learner whose state is `snapshot`."""
    history = await read_history(run, learner_id, everything=True)
    turns, pending = await read_turns(run, learner_id), await read_items(run, learner_id, None, _ALL)
    return LearnerExport(learner_id, snapshot, history, turns, pending)


async def _read_base(run: AsyncTransaction, learner_id: str) -> tuple[int, Playbook]:
    rows = await fetch(run, cypher.BASE, uid=learner_id)
    if not rows or not rows[0]["n"]:
        return 0, Playbook()
    return int(str(rows[0]["n"])), load_playbook(str(rows[0]["memory_json"]))
