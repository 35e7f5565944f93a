"""The Cypher of pending work. As everywhere, what varies is a parameter.

Everything that changes an item holds the lock of the item's learner; see neo4j_queries. Times are seconds
since 1970, UTC.

Does not: run anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import LiteralString

__all__ = [
    "AMEND",
    "CLAIM",
    "COMPLETE",
    "COUNT",
    "FREE",
    "FREE_NEAR",
    "FREE_OF",
    "GIVE_BACK",
    "LIST",
    "NEWEST",
    "RENEW",
    "REVIVE",
    "turns_query",
]

_ITEM = """
p.user_id AS learner_id, p.pending_id AS pending_id, p.turn_id AS turn_id, p.body AS body,
p.priority AS priority, p.state AS state, p.attempts AS attempts, p.created_at AS created_at,
p.free_at AS free_at, p.lease AS lease, p.owner AS owner, p.error AS error
"""

_FIRST = """
NOT EXISTS {
  MATCH (q:AcePending {user_id: p.user_id, state: 'pending'})
  WHERE q.priority > p.priority OR (q.priority = p.priority AND q.seq < p.seq)
    OR (q.lease IS NOT NULL AND q.free_at > $now)
}
"""
"""The item is the first of its learner, and nobody works for that learner."""

_CANDIDATE = "p.user_id AS uid, p.key AS key, p.priority AS priority"

FREE = f"""
MATCH (p:AcePending) WHERE p.state = 'pending' AND p.free_at <= $now AND {_FIRST}
RETURN {_CANDIDATE} ORDER BY p.priority DESC, p.created_at, p.seq LIMIT 10
"""
"""Items that could be claimed a moment ago, the best first; CLAIM looks again, under the lock."""

FREE_NEAR = f"""
MATCH (p:AcePending) WHERE p.state = 'pending' AND p.free_at <= $now
WITH p ORDER BY p.priority DESC, p.created_at, p.seq LIMIT 100
WITH p WHERE {_FIRST}
RETURN {_CANDIDATE} ORDER BY p.priority DESC, p.created_at, p.seq LIMIT 10
"""
"""The same among the first hundred: enough nearly always, and it asks about a hundred items, not all."""

FREE_OF = f"""
MATCH (p:AcePending {{user_id: $uid, state: 'pending'}}) WHERE p.free_at <= $now AND {_FIRST}
RETURN {_CANDIDATE} LIMIT 1
"""

CLAIM = f"""
MATCH (l:AceLock {{user_id: $uid}})
SET l.seq = l.seq + 1
WITH l
MATCH (p:AcePending {{key: $key}})
WHERE l.seq IS NOT NULL AND p.state = 'pending' AND p.free_at <= $now AND {_FIRST}
SET p.lease = $lease, p.owner = $owner, p.free_at = $until, p.attempts = p.attempts + 1
RETURN {_ITEM}
"""

RENEW = "MATCH (p:AcePending {key: $key}) WHERE p.lease = $lease SET p.free_at = $until RETURN 1 AS done"

GIVE_BACK = """
MATCH (p:AcePending {key: $key}) WHERE p.lease = $lease
SET p.state = $state, p.error = $error, p.free_at = $until, p.attempts = $attempts, p.lease = null
RETURN 1 AS done
"""

REVIVE = """
MATCH (p:AcePending {key: $key}) WHERE p.state = 'dead'
SET p.state = 'pending', p.attempts = 0, p.free_at = $now, p.lease = null
RETURN 1 AS done
"""

COMPLETE = "MATCH (p:AcePending {key: $key}) DETACH DELETE p RETURN 1 AS done"

LIST = f"""
MATCH (p:AcePending) WHERE ($uid IS NULL OR p.user_id = $uid) AND p.state IN $states
RETURN {_ITEM} ORDER BY p.priority DESC, p.created_at, p.seq LIMIT $limit
"""

COUNT = "MATCH (p:AcePending) RETURN p.state AS state, count(*) AS items"

NEWEST = """
MATCH (t:AceTurn {user_id: $uid, turn_id: $turn_id})
RETURN t.key AS key, t.record_json AS record_json ORDER BY t.seq DESC LIMIT 1
"""

_WANTED: Mapping[str, LiteralString] = MappingProxyType(
    {
        "turn_id": " AND t.turn_id = $turn_id",
        "agent": " AND t.agent = $agent",
        "task_type": " AND t.task_type = $task_type",
        "status": " AND t.status = $status",
        "parent_id": " AND t.parent_id = $parent_id",
        "since": " AND t.completed_at >= $since",
        "until": " AND t.completed_at <= $until",
    }
)


def turns_query(names: Iterable[str]) -> LiteralString:
    """Return the statement for the filters named, each of which uses an index with the learner's id."""
    query: LiteralString = "MATCH (t:AceTurn) WHERE t.user_id = $uid"
    for name in names:
        query += _WANTED[name]
    return query + (
        " AND coalesce(t.deleted, false) = false"
        " RETURN t.record_json AS record_json ORDER BY t.seq DESC SKIP $skip LIMIT $limit"
    )


AMEND = "MATCH (t:AceTurn {key: $key}) SET t += $turn"
