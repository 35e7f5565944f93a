// The statements of pending.py, as in queries.cypher.

// ITEM
p.user_id AS learner_id, p.pending_id AS pending_id, p.turn_id AS turn_id, p.body AS body,
p.priority AS priority, p.state AS state, p.attempts AS attempts, p.created_at AS created_at,
p.free_at AS free_at, p.lease AS lease, p.owner AS owner, p.error AS error

// FIRST
// The item is the first of its learner, and no item of that learner is leased.
NOT EXISTS {
  MATCH (q:AcePending {user_id: p.user_id, state: 'pending'})
  WHERE q.priority > p.priority OR (q.priority = p.priority AND q.seq < p.seq)
    OR (q.lease IS NOT NULL AND q.free_at > $now)
}

// CANDIDATE
p.user_id AS uid, p.key AS key, p.priority AS priority

// FREE
// Items that can be claimed, the best first; CLAIM checks again, under the lock.
MATCH (p:AcePending) WHERE p.state = 'pending' AND p.free_at <= $now AND /* FIRST */
RETURN /* CANDIDATE */ ORDER BY p.priority DESC, p.created_at, p.seq LIMIT 10

// FREE_NEAR
// The same among the first hundred items only: nearly always enough, and much cheaper.
MATCH (p:AcePending) WHERE p.state = 'pending' AND p.free_at <= $now
WITH p ORDER BY p.priority DESC, p.created_at, p.seq LIMIT 100
WITH p WHERE /* FIRST */
RETURN /* CANDIDATE */ ORDER BY p.priority DESC, p.created_at, p.seq LIMIT 10

// FREE_OF
MATCH (p:AcePending {user_id: $uid, state: 'pending'}) WHERE p.free_at <= $now AND /* FIRST */
RETURN /* CANDIDATE */ LIMIT 1

// CLAIM
MATCH (l:AceLock {user_id: $uid})
SET l.seq = l.seq + 1
WITH l
MATCH (p:AcePending {key: $key})
WHERE l.seq IS NOT NULL AND p.state = 'pending' AND p.free_at <= $now AND /* FIRST */
SET p.lease = $lease, p.owner = $owner, p.free_at = $until, p.attempts = p.attempts + 1
RETURN /* ITEM */

// RELEASE
MATCH (p:AcePending {key: $key}) WHERE p.lease = $lease
SET p.state = $state, p.error = $error, p.free_at = $until, p.attempts = $attempts, p.lease = null
RETURN 1 AS done

// RETRY
MATCH (p:AcePending {key: $key}) WHERE p.state = 'dead'
SET p.state = 'pending', p.attempts = 0, p.free_at = $now, p.lease = null
RETURN 1 AS done

// LIST
MATCH (p:AcePending) WHERE ($uid IS NULL OR p.user_id = $uid) AND p.state IN $states
RETURN /* ITEM */ ORDER BY p.priority DESC, p.created_at, p.seq LIMIT $limit

// NEWEST
MATCH (t:AceTurn {user_id: $uid, turn_id: $turn_id})
RETURN t.key AS key, t.record_json AS record_json ORDER BY t.seq DESC LIMIT 1
