// The statements for a learner's state and history; input is always a parameter, never in the text. Each begins with a
// comment of its name alone; a name between /* and */ stands for that text.


// STATE
// The columns of `HEAD_COLUMNS`.
[m.epoch, m.version, m.etag, m.major, m.minor, m.access_clock, m.access_mark, m.history_base, m.history_next,
  m.content_base, m.base_bytes, m.effects_bytes, m.stamps_bytes, m.touches_bytes, m.keys_from] AS head,
m.access_json AS access_json

// CONTENT_PARTS
base: head(COLLECT {
  MATCH (m)-[:HAS_BASE]->(b:AceBase) WHERE NOT follows AND b.version = m.content_base
  RETURN [b.version, b.etag, b.checksum, b.memory_json]
}),
effects: COLLECT {
  MATCH (d:AceDelta)
  WHERE d.user_id = m.user_id AND d.content_version > CASE WHEN follows THEN $known.n ELSE m.content_base END
  RETURN [d.content_version, d.parent, d.etag, d.effect_json] ORDER BY d.content_version
}

// PARTS
// The parts of a state that are newer than what `$known` names, or all of them where that is less or nothing
// is known. They may be of several commits, as each is read when it comes: the chain of etags tells.
CALL (m) {
  WITH m, coalesce(m.epoch = $known.epoch, false) AS same
  WITH m, same, COLLECT {
    MATCH (d:AceDelta) WHERE same AND d.user_id = m.user_id AND d.content_version > $known.n
    RETURN d.effect_bytes
  } AS newer, COLLECT {
    MATCH (t:AceTouch) WHERE same AND t.user_id = m.user_id AND t.clock > $known.clock
    RETURN [t.clock, t.parent, t.mark, t.touches_json] ORDER BY t.clock
  } AS recent
  WITH m, recent, coalesce(same AND m.history_base <= $known.n AND $known.n <= m.version
    AND reduce(total = 0, each IN newer | total + each) <= m.base_bytes + m.effects_bytes, false) AS follows,
    coalesce(same AND CASE WHEN size(recent) = 0 THEN m.access_mark ELSE recent[0][1] END = $known.mark,
      false) AS used
  RETURN {
    follows: follows,
    /* CONTENT_PARTS */,
    stamps: head(COLLECT {
      MATCH (m)-[:HAS_STAMPS]->(s:AceStamps) WHERE NOT used RETURN [s.mark, s.checksum, s.stamps_json]
    }),
    used: used,
    touches: CASE WHEN used THEN recent ELSE COLLECT {
      MATCH (t:AceTouch) WHERE t.user_id = m.user_id AND t.clock >= 0
      RETURN [t.clock, t.parent, t.mark, t.touches_json] ORDER BY t.clock
    } END
  } AS parts
}

// LOAD
// Read the state in one round trip.
MATCH (m:AceMemoryState {user_id: $uid}) /* PARTS */ RETURN /* STATE */, parts

// ATTACHED_PARTS
{
  base: head(COLLECT {
    MATCH (p)-[:HAS_BASE]->(b:AcePlaybookBase) WHERE b.version = p.content_base
    RETURN [b.version, b.etag, b.checksum, b.memory_json]
  }),
  effects: COLLECT {
    MATCH (d:AcePlaybookDelta) WHERE d.user_id = p.user_id AND d.content_version > p.content_base
    RETURN [d.content_version, d.parent, d.etag, d.effect_json] ORDER BY d.content_version
  }
}

// LOAD_ATTACHED
// Read a learner's state and named playbooks in one round trip; runs in the namespace of learners.
CALL () {
  UNWIND $wanted AS wanted
  MATCH (p:AcePlaybook {owner_name: wanted.owner_name})
  RETURN collect(p {
    .name, .epoch, .version, .etag, .major, .minor, .content_base, playbook_id: p.user_id,
    place: wanted.place, owner: p.owner,
    grants: COLLECT {
      UNWIND wanted.subjects AS subject
      MATCH (g:AcePlaybookGrant {playbook_id: p.user_id, subject: subject})
      RETURN [g.playbook_id, g.subject, g.relation, g.granted_by, g.at]
    },
    parts: CASE WHEN p.epoch = wanted.epoch AND p.etag = wanted.etag THEN null
      ELSE /* ATTACHED_PARTS */ END
  }) AS attached
}
OPTIONAL MATCH (m:AceMemoryState {user_id: $uid})
CALL (m) {
  WITH m WHERE m IS NOT NULL
  /* PARTS */
  RETURN collect(parts) AS found
}
RETURN attached, /* STATE */, head(found) AS parts

// REPEATED
OPTIONAL MATCH (d:AceDelta {key: $key})
OPTIONAL MATCH (t:AceTurn {key: $key})
WITH l, m, coalesce(d.report_json, t.report_json) AS repeated

// WRITE_HISTORY
FOREACH (delta IN CASE WHEN fresh THEN $deltas ELSE [] END |
  CREATE (m)-[:HAS_DELTA]->(new:AceDelta) SET new = delta, new.seq = seq)
FOREACH (turn IN CASE WHEN fresh THEN $turns ELSE [] END |
  CREATE (m)-[:HAS_TURN]->(new:AceTurn) SET new = turn, new.seq = seq)
FOREACH (item IN CASE WHEN fresh THEN $pending ELSE [] END |
  MERGE (new:AcePending {key: item.key}) ON CREATE SET new = item, new.seq = seq
  MERGE (m)-[:HAS_PENDING]->(new))
FOREACH (touch IN CASE WHEN fresh THEN $touches ELSE [] END |
  CREATE (m)-[:HAS_TOUCH]->(new:AceTouch) SET new = touch)
FOREACH (base IN CASE WHEN fresh THEN $bases ELSE [] END |
  CREATE (m)-[:HAS_BASE]->(new:AceBase) SET new = base)

// SET_STATE
FOREACH (state IN CASE WHEN fresh THEN [$state] ELSE [] END |
  SET m += state, m.effects_bytes = m.effects_bytes + $effect_bytes,
    m.touches_bytes = m.touches_bytes + $touches_bytes)
FOREACH (changed IN CASE WHEN fresh AND $state.etag IS NOT NULL THEN [1] ELSE [] END | /* graph.CHANGED */)

// FOLDS_NOTHING
// The rule of `snapshot_and_log.folding`: nothing is due to be written whole.
m.touches_bytes + $touches_bytes <
    CASE WHEN m.stamps_bytes / 4 > $least_touches THEN m.stamps_bytes / 4 ELSE $least_touches END
  AND (NOT $content_changed OR (
    $state.version - coalesce(m.history_next, m.history_base) < $kept
    AND m.effects_bytes + $effect_bytes <
      CASE WHEN m.base_bytes / 4 > $least_tail THEN m.base_bytes / 4 ELSE $least_tail END))

// UPDATE
// Lock, compare, write in one round trip. Nothing is written on a conflict, where something is due to be
// written whole, or by a commit that is older than the stored keys.
MATCH (l:AceLock {user_id: $uid})
SET l.seq = l.seq + 1
WITH l
MATCH (m:AceMemoryState {user_id: $uid})
/* REPEATED */
WITH m, l.seq AS seq, l.seq IS NOT NULL AND repeated IS NULL
  AND coalesce(m.epoch = $known.epoch AND m.etag = $known.etag AND m.access_clock = $known.clock
    AND m.access_mark = $known.mark, false)
  AND coalesce(m.keys_from <= $begun, true) AND /* FOLDS_NOTHING */ AS fresh
/* SET_STATE */
/* WRITE_HISTORY */
RETURN fresh

// IF_ABSENT
MERGE (l:AceLock {user_id: $uid}) ON CREATE SET l.seq = 0
SET l.seq = l.seq + 1
WITH l
OPTIONAL MATCH (old:AceMemoryState {user_id: $uid})
WITH l, old WHERE old IS NULL AND l.seq IS NOT NULL

// OWNED_BY_USER
// An existing User node is used as it is; one that is created here is marked, because only such a node may be
// deleted again.
MERGE (u:User {id: $uid}) ON CREATE SET u.ace_created = true
WITH l, u LIMIT 1
CREATE (u)-[:HAS_ACE_MEMORY]->(m:AceMemoryState) SET m = $state
/* graph.CHANGED */

// CREATE
// The first commit of a learner, where no other one was faster.
/* IF_ABSENT */
/* OWNED_BY_USER */
WITH m, l.seq AS seq, true AS fresh
/* WRITE_HISTORY */
RETURN fresh

// BEGIN_OWNED
// The state of a learner alone.
CALL () {
  /* IF_ABSENT */
  /* OWNED_BY_USER */
  RETURN m
}
RETURN count(m) AS begun

// BEGIN_NAMED
// The state of a named playbook, which belongs to no User node.
CALL () {
  /* IF_ABSENT */
  CREATE (m:AceMemoryState) SET m = $state
  /* graph.CHANGED */
  RETURN m
}
RETURN count(m) AS begun

// LOCK
// Take the lock until the transaction ends, and read the state under it.
MATCH (l:AceLock {user_id: $uid})
SET l.seq = l.seq + 1
WITH l
OPTIONAL MATCH (m:AceMemoryState {user_id: $uid})
/* REPEATED */
CALL (m) {
  WITH m WHERE m IS NOT NULL
  /* PARTS */
  RETURN collect(parts) AS found
}
RETURN l.seq AS seq, repeated, /* STATE */, head(found) AS parts

// WRITE
// Write under the lock that the transaction holds. It does not match the lock node again: that would look it
// up in its unique index, whose entry the waiting transactions hold, and deadlock with them.
MATCH (m:AceMemoryState {user_id: $uid})
WITH m, $seq AS seq, true AS fresh
/* SET_STATE */
/* WRITE_HISTORY */
RETURN fresh

// LAST_TURNS
UNWIND $keys AS key
CALL (key) {
  MATCH (t:AceTurn {user_id: key}) WHERE t.seq > 0 AND coalesce(t.deleted, false) = false
  RETURN coalesce(t.completed_at, t.started_at) AS at ORDER BY t.seq DESC LIMIT 1
}
RETURN key, at

// PARTS_OF
// What belongs to a memory, and is deleted with it.
HAS_DELTA|HAS_TURN|HAS_BASE|HAS_STAMPS|HAS_TOUCH|HAS_PENDING|HAS_VECTOR|HAS_BULLET|HAD_BULLET|HAS_TOPIC

// ONLY_OURS
// The User node was created here, and nothing was added to it.
u.ace_created AND NOT EXISTS { (u)--() } AND size(labels(u)) = 1 AND size(keys(u)) = 2

// DELETE_LEARNER
// Delete everything about the learner, with the relations of named playbooks to their User node; the User node too if
// it was created here and nothing was added. Without a memory such a node has no relation to find it by.
MATCH (l:AceLock {user_id: $uid})
SET l.seq = l.seq + 1
WITH l
OPTIONAL MATCH (m:AceMemoryState {user_id: $uid})
CALL (m) {
  MATCH (u:User)-[:HAS_ACE_MEMORY]->(m)
  RETURN collect(u) AS owning
}
CALL (m) {
  WITH m WHERE m IS NULL
  MATCH (u:User {id: $uid})
  RETURN collect(u) AS alone
}
WITH l, m, owning + alone AS users
CALL (m) {
  MATCH (m)-[:/* PARTS_OF */]->(part)
  DETACH DELETE part
}
DETACH DELETE m
DELETE l
WITH users, m IS NOT NULL AS found
CALL (users) {
  UNWIND users AS u
  MATCH (u)-[drawn:OWNS|GRANTED]-(:AcePlaybook)
  DELETE drawn
}
CALL (users) {
  UNWIND users AS u
  WITH u WHERE /* ONLY_OURS */
  DELETE u
}
RETURN found

// UNSTAGE
MATCH (n:AceStaged {user_id: $uid}) WITH n LIMIT 500 DELETE n RETURN count(*) AS gone

// STAGED
MATCH (m:AceMemoryState {user_id: $uid})
MATCH (n:AceStaged {user_id: $uid, part: $part})
REMOVE n:AceStaged, n.part

// DESCRIBE
CALL dbms.components() YIELD name, versions, edition WHERE name = 'Neo4j Kernel'
OPTIONAL MATCH (s:AceSchema)
RETURN versions[0] AS version, edition, max(s.name) AS schema
