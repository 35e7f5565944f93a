"""The Cypher of cleaning, of the list of learners and of the sizes. What varies is a parameter.

Everything that deletes holds the learner's lock; see neo4j_queries.

Does not: run anything.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "BEGIN",
    "COUNT_DELTAS",
    "DELETE_DELTAS",
    "DELETE_TURNS",
    "EMPTY_TURNS",
    "LEARNERS",
    "MARK_KEYS",
    "OLD_STEPS",
    "OLD_TURNS",
    "SIZES",
]

_OLD_TURN = """
RETURN t.key AS key, t.record_json AS record_json, t.seq AS seq,
  EXISTS { MATCH (p:AcePending {user_id: $uid, turn_id: t.turn_id}) } AS waits,
  EXISTS { MATCH (c:AceTurn {user_id: $uid, parent_id: t.turn_id}) } AS has_parts,
"""
_NOT_KEPT = "(NOT $failures OR NOT t.status IN ['failure', 'partial'] OR coalesce(t.deleted, false))"

OLD_STEPS: Final = f"""
MATCH (t:AceTurn) WHERE t.user_id = $uid AND t.completed_at < $before AND t.completed_at >= $at
  AND coalesce(t.has_steps, true) AND (t.completed_at > $at OR t.seq > $seq) AND {_NOT_KEPT}
{_OLD_TURN} t.completed_at AS at ORDER BY at, seq LIMIT $most
"""
"""Turns with steps that were completed long ago; nodes from before `has_steps` was kept may have none."""

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
"""Say that keys were removed up to this moment: a commit from before it is refused."""

_OLD_DELTAS = """
CALL (m) {
  MATCH (y:AceDelta {user_id: $uid})
  WHERE y.content AND (y.at >= $before OR y.version > m.base_version)
  RETURN min(y.version) AS young
}
CALL (m, young) {
  MATCH (d:AceDelta)
  WHERE d.user_id = $uid AND d.at < $before
    AND (NOT d.content OR d.version < coalesce(young, m.base_version + 1))
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
"""Content goes from the oldest version on, without a gap, and never past the base of the history."""

BEGIN: Final = """
MERGE (d:AceDuty {name: 'cleaning'})
SET d.asked_at = $now
WITH d WHERE d.began_at IS NULL OR abs($now - d.began_at) >= $every
SET d.began_at = $now
RETURN d.began_at AS began_at
"""
"""The first SET takes the lock of the node; who comes second sees what the first has set."""

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
