// The statements of history.py, as in queries.cypher.

// READ_VECTORS
MATCH (:AceMemoryState {user_id: $uid})-[:HAS_VECTOR]->(v:AceVector {model: $model})
RETURN v.name AS name, v.vector AS vector

// PUT
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

// STATE_ALONE
MATCH (m:AceMemoryState {user_id: $uid})
OPTIONAL MATCH (l:AceLock {user_id: $uid})
RETURN l.seq AS seq, m.created_at AS created_at, m.updated_at AS updated_at, /* queries.STATE */, null AS parts

// BASES
MATCH (:AceMemoryState {user_id: $uid})-[:HAS_BASE]->(b:AceBase)
RETURN [b.version, b.etag, b.checksum, b.memory_json] AS row ORDER BY b.version

// STAMPS
MATCH (:AceMemoryState {user_id: $uid})-[:HAS_STAMPS]->(s:AceStamps)
RETURN [s.mark, s.checksum, s.stamps_json] AS row

// TOUCHES
MATCH (:AceMemoryState {user_id: $uid})-[:HAS_TOUCH]->(t:AceTouch)
RETURN [t.clock, t.parent, t.mark, t.touches_json] AS row ORDER BY t.clock

// DELTA_KEYS
MATCH (:AceMemoryState {user_id: $uid})-[:HAS_DELTA]->(d:AceDelta) RETURN d.key AS key ORDER BY d.seq

// DELTAS
UNWIND $keys AS key MATCH (d:AceDelta {key: key})
RETURN key, [d.op_id, d.version, d.content, d.at, d.author, d.reason, d.source, d.report_json, d.effect_json,
  d.effect_bytes, d.parent, d.etag, d.major, d.minor] AS row

// TURN_KEYS
MATCH (:AceMemoryState {user_id: $uid})-[:HAS_TURN]->(t:AceTurn) RETURN t.key AS key ORDER BY t.seq

// TURNS
UNWIND $keys AS key MATCH (t:AceTurn {key: key})
RETURN key, [t.op_id, t.report_json, t.record_json] AS row

// ITEMS
MATCH (:AceMemoryState {user_id: $uid})-[:HAS_PENDING]->(p:AcePending)
RETURN /* pending.ITEM */ ORDER BY p.seq, p.pending_id

// TAKE_OR_MAKE
MERGE (l:AceLock {user_id: $uid}) ON CREATE SET l.seq = 0
SET l.seq = l.seq + 1
RETURN l.seq AS seq

// DROP
MATCH (m:AceMemoryState {user_id: $uid})
CALL (m) {
  MATCH (m)-[:/* queries.PARTS_OF */]->(part)
  DETACH DELETE part
}
DETACH DELETE m

// CREATE_OWNED
MERGE (u:User {id: $uid}) ON CREATE SET u.ace_created = true
WITH u LIMIT 1
CREATE (u)-[:HAS_ACE_MEMORY]->(m:AceMemoryState) SET m = $state
/* graph.CHANGED */

// CREATE_NAMED
CREATE (m:AceMemoryState) SET m = $state
/* graph.CHANGED */

// UNSTAGE
MATCH (n:AceStaged {user_id: $uid}) WITH n LIMIT 500 DELETE n RETURN count(*) AS gone

// STAGED
MATCH (m:AceMemoryState {user_id: $uid})
MATCH (n:AceStaged {user_id: $uid, part: $part})
REMOVE n:AceStaged, n.part
