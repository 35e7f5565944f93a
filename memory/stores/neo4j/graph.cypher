// The statements of graph.py, as in queries.cypher. `AceTurn`, `AceTeam`, `AceLock` and `AceMemoryState` between
// backticks are the nodes of learners in both namespaces.

// CHANGED
// Mark what the graph does not show yet, for DUE.
SET m.changes = coalesce(m.changes, 0) + 1, m.undrawn_since = coalesce(m.undrawn_since, datetime())

// DUE
MATCH (m:AceMemoryState) WHERE m.undrawn_since IS NOT NULL
RETURN m.user_id AS key ORDER BY m.undrawn_since LIMIT $limit

// LAG
MATCH (m:AceMemoryState) WHERE m.undrawn_since IS NOT NULL
RETURN count(m) AS undrawn, min(m.undrawn_since) AS since

// BEGIN
MATCH (m:AceMemoryState {user_id: $uid})
RETURN m.epoch AS epoch, coalesce(m.changes, 0) AS changes, m.undrawn_since IS NOT NULL AS due,
  coalesce(m.owner, m.user_id) AS owner, m.drawn_people AS people

// DRAWN
MATCH (:AceMemoryState {user_id: $uid})-[:HAS_BULLET|HAD_BULLET]->(b:AceBullet)
RETURN b.id AS id, b.fingerprint AS fingerprint, b.strength AS strength

// UNCHANGED
// Take the lock, and go on only where the memory is as it was when the drawing began.
MATCH (l:AceLock {user_id: $uid})
SET l.seq = l.seq + 1
WITH l
MATCH (m:AceMemoryState {user_id: $uid})
WHERE l.seq IS NOT NULL AND m.epoch = $epoch AND coalesce(m.changes, 0) = $changes

// PUT
// Draw bullets with all that leads from them. A bullet that is gone and not drawn yet gets an empty node first.
/* UNCHANGED */
UNWIND $rows AS row
MERGE (b:AceBullet {user_id: $uid, id: row.id})
SET b = row.properties
WITH m, b, row
CALL (m, b) {
  MATCH (m)-[old:HAS_BULLET|HAD_BULLET]->(b) DELETE old
}
CALL (b) {
  MATCH (b)-[old:LEARNED_FROM|ABOUT|REPLACES|MERGED_FROM]->() DELETE old
}
FOREACH (live IN CASE WHEN row.live THEN [1] ELSE [] END | CREATE (m)-[:HAS_BULLET]->(b))
FOREACH (gone IN CASE WHEN row.live THEN [] ELSE [1] END | CREATE (m)-[:HAD_BULLET]->(b))
FOREACH (topic IN row.topics |
  MERGE (t:AceTopic {user_id: $uid, name: topic})
  MERGE (m)-[:HAS_TOPIC]->(t)
  CREATE (b)-[:ABOUT]->(t))
FOREACH (id IN row.replaces |
  MERGE (gone:AceBullet {user_id: $uid, id: id})
  MERGE (m)-[:HAD_BULLET]->(gone)
  CREATE (b)-[:REPLACES]->(gone))
FOREACH (id IN row.merged_from |
  MERGE (gone:AceBullet {user_id: $uid, id: id})
  MERGE (m)-[:HAD_BULLET]->(gone)
  CREATE (b)-[:MERGED_FROM]->(gone))
WITH b, row
CALL (b, row) {
  UNWIND row.turns AS turn_id
  MATCH (t:`AceTurn` {user_id: $owner, turn_id: turn_id})
  CREATE (b)-[:LEARNED_FROM]->(t)
}
RETURN count(b) AS held

// STRENGTHS
/* UNCHANGED */
CALL (m) {
  UNWIND $rows AS row
  MATCH (b:AceBullet {user_id: $uid, id: row.id}) SET b.strength = row.strength
}
RETURN count(m) AS held

// FINISH
// Delete what is no longer part of the picture, and record the version that it shows.
/* UNCHANGED */
CALL (m) {
  UNWIND $gone AS id
  MATCH (b:AceBullet {user_id: $uid, id: id}) DETACH DELETE b
}
CALL (m) {
  MATCH (m)-[:HAS_TOPIC]->(t:AceTopic) WHERE NOT EXISTS { (t)<-[:ABOUT]-() } DETACH DELETE t
}
SET m.drawn_version = m.version, m.drawn_at = datetime()
REMOVE m.undrawn_since
RETURN count(m) AS held

// GRANTS
MATCH (g:AceGrant {playbook_id: $uid}) WHERE NOT g.relation IN ['declined', 'shows']
RETURN g.subject AS subject, g.relation AS relation, g.at AS at ORDER BY g.subject

// LINKED
MATCH (:AceMemoryState {user_id: $uid})-[:OWNS|GRANTED]-(u:User)
RETURN DISTINCT u.id AS user, elementId(u) AS node

// PERSON
// The User node of somebody who owns or may use a playbook. Nothing makes its id unique, so it is made under the
// lock of that learner, as by a first commit.
MERGE (l:AceLock {user_id: $user}) ON CREATE SET l.seq = 0
SET l.seq = l.seq + 1
WITH l WHERE l.seq IS NOT NULL
OPTIONAL MATCH (known:User)-[:HAS_ACE_MEMORY]->(:AceMemoryState {user_id: $user})
WITH known LIMIT 1
CALL (known) {
  WITH known WHERE known IS NULL
  MERGE (u:User {id: $user}) ON CREATE SET u.ace_created = true
  RETURN u
UNION
  WITH known WHERE known IS NOT NULL
  RETURN known AS u
}
RETURN elementId(u) AS node LIMIT 1

// PEOPLE
// Draw whose a playbook is and with whom it is shared. The locks of these people are held: see PERSON.
/* UNCHANGED */
CALL (m) {
  MATCH (m)-[old:OWNS|GRANTED]-() DELETE old
}
CALL (m) {
  UNWIND $owners AS node
  MATCH (u:User) WHERE elementId(u) = node
  CREATE (u)-[:OWNS]->(m)
}
CALL (m) {
  UNWIND $users AS grant
  MATCH (u:User) WHERE elementId(u) = grant.node
  CREATE (m)-[:GRANTED {relation: grant.relation, at: grant.at}]->(u)
}
CALL (m) {
  UNWIND $teams AS grant
  MERGE (t:`AceTeam` {id: grant.name})
  CREATE (m)-[:GRANTED {relation: grant.relation, at: grant.at}]->(t)
}
SET m.drawn_people = $fingerprint
RETURN count(m) AS held

// RELEASE
// Delete a User node that PERSON made and nothing needs any more, with the lock that was made with it.
MATCH (l:AceLock {user_id: $user})
WHERE NOT EXISTS { (:AceMemoryState {user_id: $user}) }
SET l.seq = l.seq + 1
WITH l
OPTIONAL MATCH (u:User) WHERE elementId(u) = $node AND /* queries.ONLY_OURS */
DELETE u, l

// EMPTY_TEAMS
MATCH (t:AceTeam) WHERE NOT EXISTS { (t)--() } DELETE t
