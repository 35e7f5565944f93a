// The statements of commit.py, as in queries.cypher.

// LINKS
// Take the lock, and read how the parts of the state follow each other, without their texts.
MATCH (l:AceLock {user_id: $uid})
SET l.seq = l.seq + 1
WITH l
MATCH (m:AceMemoryState {user_id: $uid}) WHERE l.seq IS NOT NULL
RETURN l.seq AS seq, /* queries.STATE */, {
  follows: false,
  base: head(COLLECT {
    MATCH (m)-[:HAS_BASE]->(b:AceBase) WHERE b.version = m.content_base RETURN [b.version, b.etag, 0, '']
  }),
  effects: COLLECT {
    MATCH (d:AceDelta) WHERE d.user_id = m.user_id AND d.content_version > m.content_base
    RETURN [d.content_version, d.parent, d.etag, CASE WHEN d.effect_json IS NULL THEN null ELSE '' END]
    ORDER BY d.content_version
  },
  used: false,
  stamps: head(COLLECT { MATCH (m)-[:HAS_STAMPS]->(s:AceStamps) RETURN [s.mark, 0, ''] }),
  touches: COLLECT {
    MATCH (t:AceTouch) WHERE t.user_id = m.user_id AND t.clock >= 0
    RETURN [t.parent, t.mark, ''] ORDER BY t.clock
  }
} AS parts

// FOLD_CONTENT
// Store a base, move the marks of the history, and delete what nothing needs any more. Keys and reports
// are kept. The caller holds the lock.
MATCH (m:AceMemoryState {user_id: $uid})
CREATE (m)-[:HAS_BASE]->(new:AceBase) SET new = $base
SET m.history_base = $history_base, m.history_next = $history_next, m.base_bytes = $base_bytes,
  m.effects_bytes = reduce(total = 0, each IN COLLECT {
    MATCH (d:AceDelta) WHERE d.user_id = m.user_id AND d.content_version > $base.version
    RETURN d.effect_bytes
  } | total + each)
WITH m, m.content_base AS before
SET m.content_base = $base.version
WITH m, before
CALL (m, before) {
  MATCH (m)-[:HAS_BASE]->(old:AceBase)
  WHERE NOT old.version IN [$history_base, coalesce($history_next, -1), m.content_base]
    AND (old.version = before OR ($moved AND old.version < $history_base))
  DETACH DELETE old
}
CALL (m) {
  MATCH (m)-[:HAS_DELTA]->(d:AceDelta)
  WHERE $moved AND d.content AND d.version <= $history_base AND d.effect_json IS NOT NULL
  REMOVE d.effect_json
}

// FOLD_ACCESS
// Store the stamps at a commit in place of the earlier ones and the touches up to it, under the lock.
MATCH (m:AceMemoryState {user_id: $uid})
CALL (m) {
  MATCH (m)-[:HAS_STAMPS]->(old:AceStamps) DETACH DELETE old
}
CALL (m) {
  MATCH (m)-[:HAS_TOUCH]->(t:AceTouch) WHERE t.clock <= $clock DETACH DELETE t
}
CREATE (m)-[:HAS_STAMPS]->(new:AceStamps) SET new = $stamps
SET m.stamps_bytes = $stamps_bytes, m.touches_bytes = reduce(total = 0, each IN COLLECT {
  MATCH (m)-[:HAS_TOUCH]->(t:AceTouch) RETURN t.touches_bytes
} | total + each)
