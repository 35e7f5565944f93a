"""Cleaning the Neo4j store in batches; the list of learners, and the sizes. With the Cypher for all of it.

`memory.retention` decides what is deleted. Every transaction that deletes holds the learner's lock.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final, LiteralString

from ace_graph.memory.record_retention import Cleaned, named_turns
from ace_graph.memory.stores.cleaning import Batch, OldTurn
from ace_graph.memory.stores.neo4j.commit import lock, read_locked
from ace_graph.memory.stores.neo4j.connection import (
    Neo4jConnection,
    Neo4jLink,
    Row,
    Runner,
    fetch,
    fetch_rows,
)
from ace_graph.memory.stores.neo4j.queries import turn_properties
from ace_graph.memory.stores.records import moment
from ace_graph.memory.trajectory import without_steps

_OLD_TURN = """
RETURN t.key AS key, t.seq AS seq, t.record_json AS record_json,
  EXISTS { MATCH (p:AcePending {user_id: $uid, turn_id: t.turn_id}) } AS waits,
  EXISTS { MATCH (c:AceTurn {user_id: $uid, parent_id: t.turn_id}) } AS has_parts,
"""
_NOT_KEPT = "(NOT $failures OR NOT t.status IN ['failure', 'partial'] OR coalesce(t.deleted, false))"
OLD_STEPS: Final = f"""
MATCH (t:AceTurn) WHERE t.user_id = $uid AND t.completed_at < $before AND t.completed_at >= $at
  AND coalesce(t.has_steps, true) AND (t.completed_at > $at OR t.seq > $seq) AND {_NOT_KEPT}
{_OLD_TURN} t.completed_at AS at ORDER BY at, seq LIMIT $most
"""
"""Old completed turns with steps; nodes from before `has_steps` was stored may have none."""
OLD_TURNS: Final = f"""
MATCH (t:AceTurn) WHERE t.user_id = $uid AND t.started_at < $before AND t.started_at >= $at
  AND (t.started_at > $at OR t.seq > $seq) AND {_NOT_KEPT}
{_OLD_TURN} t.started_at AS at ORDER BY at, seq LIMIT $most
"""
EMPTY_TURNS: Final = "UNWIND $turns AS each MATCH (t:AceTurn {key: each.key}) SET t += each.turn"
DELETE_TURNS: Final = "UNWIND $keys AS key MATCH (t:AceTurn {key: key}) DETACH DELETE t"
MARK_KEYS: Final = """
MATCH (m:AceMemoryState {user_id: $uid}) WHERE coalesce(m.keys_from < $keys_from, true)
SET m.keys_from = $keys_from
"""
"""Record that keys were removed up to this moment: an older commit is refused."""
_OLD_DELTAS = """
CALL (m) {
  MATCH (y:AceDelta {user_id: $uid})
  WHERE y.content AND (y.at >= $before OR y.version > m.history_base)
  RETURN min(y.version) AS young
}
CALL (m, young) {
  MATCH (d:AceDelta)
  WHERE d.user_id = $uid AND d.at < $before
    AND (NOT d.content OR d.version < coalesce(young, m.history_base + 1))
"""
COUNT_DELTAS: Final = f"""
MATCH (m:AceMemoryState {{user_id: $uid}})
{_OLD_DELTAS} RETURN count(d) AS deltas
}}
RETURN deltas
"""
DELETE_DELTAS: Final = f"""
MATCH (m:AceMemoryState {{user_id: $uid}})
{_OLD_DELTAS} WITH d ORDER BY d.version, d.seq LIMIT $most
  DETACH DELETE d
  RETURN count(*) AS deltas
}}
RETURN deltas
"""
"""Versions are deleted from the oldest on, without a gap, and never past the base of the history."""
BEGIN: Final = """
MERGE (d:AceDuty {name: 'cleaning'})
SET d.asked_at = $now
WITH d WHERE d.began_at IS NULL OR abs($now - d.began_at) >= $every
SET d.began_at = $now
RETURN d.began_at AS began_at
"""
"""The first SET locks the node, so a second caller sees what the first one has set."""
LEARNERS: Final = """
MATCH (m:AceMemoryState) WHERE m.user_id > $after
WITH m ORDER BY m.user_id LIMIT $limit
CALL (m) {
  OPTIONAL MATCH (t:AceTurn {user_id: m.user_id}) WHERE t.seq > 0 AND coalesce(t.deleted, false) = false
  RETURN coalesce(t.completed_at, t.started_at) AS last_turn ORDER BY t.seq DESC LIMIT 1
}
RETURN m.user_id AS learner_id, m.version AS version, m.created_at AS created_at,
  m.updated_at AS changed_at, last_turn ORDER BY m.user_id
"""
SIZES: Final = """
CALL () { MATCH (m:AceMemoryState) RETURN count(m) AS learners }
CALL () { MATCH (t:AceTurn) RETURN count(t) AS turns }
CALL () { MATCH (d:AceDelta) RETURN count(d) AS deltas }
CALL () { MATCH (p:AcePending) RETURN count(p) AS pending }
RETURN learners, turns, deltas, pending
"""
_BEGINNING_OF_TIME = datetime(1, 1, 1, tzinfo=UTC)


_QUERIES: Final[dict[str, LiteralString]] = {"steps": OLD_STEPS, "turns": OLD_TURNS, "deltas": COUNT_DELTAS}
"""The statements that find the old rows of each part."""


def _parameters(batch: Batch) -> dict[str, object]:
    return {
        "uid": batch.learner,
        "before": batch.before,
        "at": batch.place.at or _BEGINNING_OF_TIME,
        "seq": batch.place.seq,
        "failures": batch.cutoffs.keep_failures,
        "most": batch.most,
    }


async def clean_batch(
    connection: Neo4jConnection, link: Neo4jLink, batch: Batch, *, dry_run: bool
) -> Cleaned:
    """Read one batch of rows and delete what is too old. Without any rows, no lock is taken."""
    if batch.before is None:
        return Cleaned(next=batch.following)
    found = await connection.rows(link, _QUERIES[batch.place.part], **_parameters(batch))
    if batch.place.part == "deltas":
        count = _number(found)
        if dry_run or not count:
            return Cleaned(deltas=count)
        async with connection.transaction(link) as transaction:
            state = await lock(transaction, batch.learner)
            if state is None or state.epoch is None:
                return Cleaned()
            deleted = _number(await fetch(transaction, DELETE_DELTAS, **_parameters(batch)))
            if deleted:
                await _mark_keys(transaction, batch)
            return Cleaned(deltas=deleted, next=batch.place if deleted == batch.most else None)
    if not found:
        return Cleaned(next=batch.following)
    async with connection.transaction(link) as transaction:
        snapshot = await read_locked(transaction, batch.learner)
        if snapshot.absent:
            return Cleaned(next=batch.following)
        rows = await fetch_rows(transaction, _QUERIES[batch.place.part], **_parameters(batch))
        # The server would compare the driver's own UTC zone as a different zone.
        in_utc = ((*row, moment(at).astimezone(UTC)) for *row, at in rows)
        old = batch.with_fates(in_utc, named_turns(snapshot))
        if not dry_run:
            await _delete_or_empty(transaction, batch, old)
        return batch.cleaned(old)


async def _delete_or_empty(run: Runner, batch: Batch, old: list[OldTurn]) -> None:
    if batch.place.part == "turns":
        going = [row.key for row in old if row.fate == "goes"]
        if going:
            await fetch(run, DELETE_TURNS, keys=going)
            await _mark_keys(run, batch)
        return
    # Nodes from before `has_steps` was stored seem to have steps.
    emptied = [
        {"key": row.key, "turn": turn_properties(without_steps(row.turn, "retention"))}
        for row in old
        if row.fate == "loses steps"
    ]
    emptied += [{"key": row.key, "turn": turn_properties(row.turn)} for row in old if not row.turn.steps]
    if emptied:
        await fetch(run, EMPTY_TURNS, turns=emptied)


async def _mark_keys(run: Runner, batch: Batch) -> None:
    if batch.cutoffs.records is not None:
        moment = batch.cutoffs.records.timestamp()
        await fetch(run, MARK_KEYS, uid=batch.learner, keys_from=moment)


def _number(rows: list[Row]) -> int:
    return int(str(rows[0]["deltas"])) if rows else 0
