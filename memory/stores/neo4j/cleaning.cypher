// The statements of cleaning.py, as in queries.cypher.

// OLD_TURN
RETURN t.key AS key, t.seq AS seq, t.record_json AS record_json,
  EXISTS { MATCH (p:AcePending {user_id: $uid, turn_id: t.turn_id}) } AS waits,
  EXISTS { MATCH (c:AceTurn {user_id: $uid, parent_id: t.turn_id}) } AS has_parts,

// NOT_KEPT
(NOT $failures OR NOT t.status IN ['failure', 'partial'] OR coalesce(t.deleted, false))

// OLD_STEPS
// Old completed turns with steps; nodes from before `has_steps` was stored may have none.
MATCH (t:AceTurn) WHERE t.user_id = $uid AND t.completed_at < $before AND t.completed_at >= $at
  AND coalesce(t.has_steps, true) AND (t.completed_at > $at OR t.seq > $seq) AND /* NOT_KEPT */
/* OLD_TURN */ t.completed_at AS at ORDER BY at, seq LIMIT $most

// OLD_TURNS
MATCH (t:AceTurn) WHERE t.user_id = $uid AND t.started_at < $before AND t.started_at >= $at
  AND (t.started_at > $at OR t.seq > $seq) AND /* NOT_KEPT */
/* OLD_TURN */ t.started_at AS at ORDER BY at, seq LIMIT $most

// MARK_KEYS
// Record that keys were removed up to this moment: an older commit is refused.
MATCH (m:AceMemoryState {user_id: $uid}) WHERE coalesce(m.keys_from < $keys_from, true)
SET m.keys_from = $keys_from

// OLD_DELTAS
CALL (m) {
  MATCH (y:AceDelta {user_id: $uid})
  WHERE y.content AND (y.at >= $before OR y.version > m.history_base)
  RETURN min(y.version) AS young
}
CALL (m, young) {
  MATCH (d:AceDelta)
  WHERE d.user_id = $uid AND d.at < $before
    AND (NOT d.content OR d.version < coalesce(young, m.history_base + 1))

// COUNT_DELTAS
MATCH (m:AceMemoryState {user_id: $uid})
/* OLD_DELTAS */ RETURN count(d) AS deltas
}
RETURN deltas

// DELETE_DELTAS
// Versions are deleted from the oldest on, without a gap, and never past the base of the history.
MATCH (m:AceMemoryState {user_id: $uid})
/* OLD_DELTAS */ WITH d ORDER BY d.version, d.seq LIMIT $most
  DETACH DELETE d
  RETURN count(*) AS deltas
}
RETURN deltas

// BEGIN
// The first SET locks the node, so a second caller sees what the first one has set.
MERGE (d:AceDuty {name: 'cleaning'})
SET d.asked_at = $now
WITH d WHERE d.began_at IS NULL OR abs($now - d.began_at) >= $every
SET d.began_at = $now
RETURN d.began_at AS began_at

// LEARNERS
MATCH (m:AceMemoryState) WHERE m.user_id > $after
WITH m ORDER BY m.user_id LIMIT $limit
CALL (m) {
  OPTIONAL MATCH (t:AceTurn {user_id: m.user_id}) WHERE t.seq > 0 AND coalesce(t.deleted, false) = false
  RETURN coalesce(t.completed_at, t.started_at) AS last_turn ORDER BY t.seq DESC LIMIT 1
}
RETURN m.user_id AS learner_id, m.version AS version, m.created_at AS created_at,
  m.updated_at AS changed_at, last_turn ORDER BY m.user_id

// SIZES
CALL () { MATCH (m:AceMemoryState) RETURN count(m) AS learners }
CALL () { MATCH (t:AceTurn) RETURN count(t) AS turns }
CALL () { MATCH (d:AceDelta) RETURN count(d) AS deltas }
CALL () { MATCH (p:AcePending) RETURN count(p) AS pending }
RETURN learners, turns, deltas, pending
