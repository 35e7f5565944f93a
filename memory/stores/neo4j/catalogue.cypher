// The statements of catalogue.py, as in queries.cypher.

// GRANT
g.playbook_id AS playbook_id, g.subject AS subject, g.relation AS relation,
g.granted_by AS granted_by, g.at AS at

// READ
UNWIND $subjects AS subject
MATCH (g:AceGrant {playbook_id: $uid, subject: subject}) RETURN /* GRANT */

// LIST
MATCH (g:AceGrant {playbook_id: $uid}) WHERE g.subject > $after
RETURN /* GRANT */ ORDER BY g.subject LIMIT $limit

// PUT
UNWIND $grants AS grant
MERGE (g:AceGrant {playbook_id: grant.playbook_id, subject: grant.subject}) SET g += grant
WITH DISTINCT grant.playbook_id AS playbook_id
MATCH (m:AceMemoryState {user_id: playbook_id})
/* graph.CHANGED */

// DROP
MATCH (m:AceMemoryState {user_id: $uid})
MATCH (g:AceGrant {playbook_id: $uid, subject: $subject})
/* graph.CHANGED */
DELETE g RETURN count(*) AS gone

// ABOUT
MATCH (g:AceGrant) WHERE g.subject IN $subjects OR g.playbook_id IN $owned
RETURN /* GRANT */ ORDER BY g.playbook_id, g.subject

// PROPOSED_BY
MATCH (p:AceProposal {proposer: $user}) WHERE p.proposal_id > $after
RETURN p.proposal_json AS proposal_json ORDER BY p.proposal_id LIMIT $limit

// PROPOSALS
MATCH (p:AceProposal {playbook_id: $uid})
WHERE p.proposal_id > $after AND ($state IS NULL OR p.state = $state)
RETURN p.proposal_json AS proposal_json ORDER BY p.proposal_id LIMIT $limit

// DECIDE
MATCH (p:AceProposal {proposal_id: $proposal.proposal_id})
WHERE p.playbook_id = $proposal.playbook_id AND p.state = $held
SET p = $proposal RETURN count(*) AS decided

// SHARED
UNWIND $subjects AS subject
MATCH (g:AceGrant {subject: subject}) WHERE g.playbook_id > $after
RETURN DISTINCT g.playbook_id AS playbook_id ORDER BY playbook_id LIMIT $limit

// FORGET_GRANTS
// The lock of each playbook is taken, so that no drawing under way brings the user back.
OPTIONAL MATCH (own:AceGrant) WHERE own.subject IN $subjects
OPTIONAL MATCH (l:AceLock {user_id: own.playbook_id})
SET l.seq = l.seq + 1
WITH own
OPTIONAL MATCH (m:AceMemoryState {user_id: own.playbook_id})
/* graph.CHANGED */
WITH collect(own) AS gone
FOREACH (g IN gone | DELETE g)
WITH size(gone) AS gone
OPTIONAL MATCH (g:AceGrant {granted_by: $user})
SET g.granted_by = ''
RETURN DISTINCT gone

// TEAMS_OF
MATCH (m:AceTeamMember {member: $user}) RETURN m.team_id AS name ORDER BY name

// TEAMS
MATCH (m:AceTeamMember) WHERE m.team_id > $after RETURN DISTINCT m.team_id AS name ORDER BY name LIMIT $limit

// TEAMS_LIKE
MATCH (m:AceTeamMember {team_key: $key}) WHERE m.team_id <> $team RETURN DISTINCT m.team_id AS name

// MEMBERS
MATCH (m:AceTeamMember {team_id: $team}) WHERE m.member > $after
RETURN m.member AS name ORDER BY name LIMIT $limit

// ADD
UNWIND $members AS member
MERGE (m:AceTeamMember {team_id: $team, member: member})
ON CREATE SET m.team_key = $key, m.added = true
WITH m, m.added AS added REMOVE m.added
RETURN count(added) AS moved

// REMOVE
UNWIND $members AS member
MATCH (m:AceTeamMember {team_id: $team, member: member}) DELETE m RETURN count(*) AS moved

// ENTRY
m.user_id AS playbook_id, m.owner AS owner, m.name AS name, m.created_at AS created_at,
m.updated_at AS updated_at, m.description AS description, m.scope AS scope, m.visibility AS visibility,
m.lessons AS lessons, m.epoch AS epoch, m.version AS version, m.etag AS etag, m.major AS major, m.minor AS minor

// OWN
// A learner's memory as an entry; runs in the namespace of learners.
MATCH (m:AceMemoryState {user_id: $uid})
RETURN 'default' AS playbook_id, m.user_id AS owner, 'default' AS name, m.created_at AS created_at,
  m.updated_at AS updated_at, '' AS description, 'agent' AS scope, 'private' AS visibility,
  'written' AS lessons, m.epoch AS epoch, m.version AS version, m.etag AS etag, m.major AS major, m.minor AS minor

// SET_FIELDS
MATCH (m:AceMemoryState {user_id: $uid}) WHERE m.owner_name IS NOT NULL
SET m.description = coalesce($description, m.description), m.scope = coalesce($scope, m.scope),
  m.lessons = coalesce($lessons, m.lessons)
RETURN m.user_id AS playbook_id

// OWNERS
MATCH (m:AceMemoryState) WHERE m.owner > $after
RETURN DISTINCT m.owner AS owner ORDER BY owner LIMIT $limit

// ENTRIES
MATCH (m:AceMemoryState) WHERE m.owner = $owner AND m.name_key > $after
RETURN /* ENTRY */ ORDER BY m.name_key LIMIT $limit

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
  /* queries.PARTS */
  RETURN collect(parts) AS found
}
RETURN attached, /* queries.STATE */, head(found) AS parts

// VERSIONS
MATCH (m:AceMemoryState {user_id: $uid})-[:HAS_DELTA]->(d:AceDelta) WHERE d.content
RETURN d.version AS n, d.major AS major, d.minor AS minor, d.at AS at, d.author AS author,
  d.reason AS reason, d.op_id AS op_id ORDER BY d.version

// KEPT
MATCH (m:AceMemoryState {user_id: $uid})
OPTIONAL MATCH (m)-[:HAS_BASE]->(b:AceBase)
RETURN m.version AS newest, m.etag AS etag, m.history_base AS base, m.content_base AS of_state,
  collect(b.version) AS kept

// CONTENT
MATCH (:AceMemoryState {user_id: $uid})-[:HAS_BASE]->(b:AceBase) WHERE b.version = $n
RETURN [b.version, b.etag, b.checksum, b.memory_json] AS base

// ETAGS
MATCH (d:AceDelta) WHERE d.user_id = $uid AND d.content_version IN $versions
RETURN d.content_version AS n, d.etag AS etag

// EFFECTS
MATCH (:AceMemoryState {user_id: $uid})-[:HAS_DELTA]->(d:AceDelta)
WHERE d.content AND d.version > $base AND d.version <= $n
RETURN d.effect_json AS effect_json ORDER BY d.version

// KEEP
// Replace the contents that are kept; the caller holds the lock.
MATCH (m:AceMemoryState {user_id: $uid})
SET m.history_base = $base, m.content_base = $of_state REMOVE m.history_next
WITH m
CALL (m) {
  MATCH (m)-[:HAS_BASE]->(b:AceBase) WHERE NOT b.version IN $versions DETACH DELETE b
}
CALL (m) {
  UNWIND $contents AS content
  CREATE (m)-[:HAS_BASE]->(b:AceBase) SET b = content
}
CALL (m) {
  MATCH (m)-[:HAS_DELTA]->(d:AceDelta)
  WHERE d.content AND d.version <= $base AND d.effect_json IS NOT NULL
  REMOVE d.effect_json
}
SET m.base_bytes = coalesce(head(COLLECT {
    MATCH (m)-[:HAS_BASE]->(b:AceBase) WHERE b.version = $of_state RETURN size(b.memory_json)
  }), 0),
  m.effects_bytes = reduce(total = 0, each IN COLLECT {
    MATCH (d:AceDelta) WHERE d.user_id = m.user_id AND d.content_version > $of_state RETURN d.effect_bytes
  } | total + each)
