"""The pending work of the Neo4j store, and changes of turns. The Cypher is in pending.cypher.

Every transaction that changes an item holds the lock of the item's learner (queries.py says why). CLAIM takes
it; for everything else the caller has taken it. Times are seconds since 1970, UTC.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import LiteralString
from zlib import crc32

from ace_graph.base.errors import TrajectoryNotFound
from ace_graph.memory.commit import Amend, Pending, PendingItem, commit_key
from ace_graph.memory.serialization import load_record
from ace_graph.memory.stores.neo4j.connection import (
    Neo4jConnection,
    Neo4jLink,
    Runner,
    fetch,
    fetch_rows,
)
from ace_graph.memory.stores.neo4j.queries import Properties, statement, turn_properties
from ace_graph.memory.stores.records import item_of, new_item
from ace_graph.memory.trajectory import TrajectoryFilter
from ace_graph.memory.turn import TurnRecord

ITEM = statement("pending.ITEM")
FREE = statement("pending.FREE")
FREE_NEAR = statement("pending.FREE_NEAR")
FREE_OF = statement("pending.FREE_OF")
CLAIM = statement("pending.CLAIM")

RENEW = "MATCH (p:AcePending {key: $key}) WHERE p.lease = $lease SET p.free_at = $until RETURN 1 AS done"

RELEASE = statement("pending.RELEASE")
RETRY = statement("pending.RETRY")

COMPLETE = "MATCH (p:AcePending {key: $key}) DETACH DELETE p RETURN 1 AS done"

LIST = statement("pending.LIST")

COUNT = "MATCH (p:AcePending) RETURN p.state AS state, count(*) AS items"

NEWEST = statement("pending.NEWEST")

_CONDITIONS: Mapping[str, LiteralString] = MappingProxyType(
    {
        "turn_id": " AND t.turn_id = $turn_id",
        "turn_ids": " AND t.turn_id IN $turn_ids",
        "agent": " AND t.agent = $agent",
        "task_type": " AND t.task_type = $task_type",
        "status": " AND t.status = $status",
        "parent_id": " AND t.parent_id = $parent_id",
        "since": " AND t.completed_at >= $since",
        "until": " AND t.completed_at <= $until",
    }
)


def turns_query(names: Iterable[str]) -> LiteralString:
    """Return the statement for these filters, each of which has an index with the learner's id."""
    query: LiteralString = "MATCH (t:AceTurn) WHERE t.user_id = $uid"
    for name in names:
        query += _CONDITIONS[name]
    return query + (
        " AND coalesce(t.deleted, false) = false"
        " RETURN t.record_json AS record_json ORDER BY t.seq DESC SKIP $skip LIMIT $limit"
    )


AMEND = "MATCH (t:AceTurn {key: $key}) SET t += $turn"


@dataclass(frozen=True)
class ClaimRequest:
    """The arguments of one call of `claim`; `lease` is the token for the new lease."""

    owner: str
    now: datetime
    seconds: float
    learner: str | None
    lease: str


def new_items(learner: str, pending: Pending | PendingItem | None, now: datetime) -> list[Properties]:
    """Return the properties of the node for new work, none without new work."""
    if pending is None or isinstance(pending, PendingItem):
        return []
    return [{**new_item(learner, pending, now), "key": commit_key(learner, pending.pending_id)}]


async def claim_next(
    connection: Neo4jConnection, link: Neo4jLink, request: ClaimRequest
) -> PendingItem | None:
    """Lease the best item that no other worker leases first."""
    now = request.now.timestamp()
    if request.learner is not None:
        candidates = await connection.rows(link, FREE_OF, uid=request.learner, now=now)
    else:
        candidates = await connection.rows(link, FREE_NEAR, now=now)
        candidates = candidates or await connection.rows(link, FREE, now=now)
    # Rotate the best candidates by the lease token, so that not all workers try the same one first
    best = [row for row in candidates if row["priority"] == candidates[0]["priority"]]
    start = crc32(request.lease.encode()) % len(best) if best else 0
    for candidate in [*best[start:], *best[:start], *candidates[len(best) :]]:
        rows = await connection.rows(
            link,
            CLAIM,
            uid=candidate["uid"],
            key=candidate["key"],
            now=now,
            until=(request.now + timedelta(seconds=request.seconds)).timestamp(),
            lease=request.lease,
            owner=request.owner,
        )
        if rows:
            return item_of(tuple(rows[0].values()))
    return None


async def complete(run: Runner, learner: str, item: PendingItem) -> bool:
    """Delete the item; False when it is gone."""
    return await _changed(run, COMPLETE, key=commit_key(learner, item.pending_id))


async def read_items(
    run: Runner, learner: str | None, dead: bool | None, limit: int
) -> tuple[PendingItem, ...]:
    """Return the items in the order of the queue."""
    states = ["pending", "dead"] if dead is None else ["dead" if dead else "pending"]
    rows = await fetch_rows(run, LIST, uid=learner, states=states, limit=limit)
    return tuple(map(item_of, rows))


async def amend_turn(run: Runner, learner: str, amend: Amend) -> TurnRecord | None:
    """Change the record of the newest attempt at the turn. Raises TrajectoryNotFound."""
    rows = await fetch(run, NEWEST, uid=learner, turn_id=amend.turn_id)
    if not rows:
        if amend.missing_ok:
            return None
        raise TrajectoryNotFound(f"there is no trajectory {amend.turn_id}: trajectory list shows the ids")
    changed = amend.change(load_record(str(rows[0]["record_json"])))
    await fetch(run, AMEND, key=rows[0]["key"], turn=turn_properties(changed))
    return changed


async def find_turns(
    run: Runner, learner: str, wanted: TrajectoryFilter, limit: int, skip: int
) -> tuple[TurnRecord, ...]:
    """Return the turns that match, the newest first."""
    asked = {name: value for name, value in asdict(wanted).items() if value is not None}
    if wanted.turn_ids is not None:
        asked["turn_ids"] = sorted(wanted.turn_ids)
    query = turns_query(asked)
    rows = await fetch(run, query, uid=learner, limit=limit, skip=skip, **asked)
    return tuple(load_record(str(row["record_json"])) for row in rows)


async def _changed(run: Runner, query: LiteralString, **parameters: object) -> bool:
    return bool(await fetch(run, query, **parameters))
