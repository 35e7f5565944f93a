"""The pending work of the Neo4j store: nodes in, items out, and back.

Does not: take the learner's lock, except where it claims; whoever calls the rest holds it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import LiteralString
from zlib import crc32

from neo4j import AsyncSession, AsyncTransaction

from ace_graph.errors import TrajectoryNotFound
from ace_graph.memory.commit import commit_key
from ace_graph.memory.payload import load_record
from ace_graph.memory.pending import Amend, Pending, PendingCounts, PendingItem, bounded_error
from ace_graph.memory.stores import neo4j_pending_queries as cypher
from ace_graph.memory.stores.neo4j_connection import Link, Neo4jConnection, Row, fetch
from ace_graph.memory.stores.neo4j_rows import Properties, turn_properties
from ace_graph.memory.trajectory import TrajectoryFilter
from ace_graph.memory.turn import TurnRecord

__all__ = [
    "Wish",
    "amend_turn",
    "claim_next",
    "complete",
    "count_items",
    "find_turns",
    "give_back",
    "new_items",
    "read_items",
    "renew_lease",
    "revive",
]


@dataclass(frozen=True)
class Wish:
    """One call of claim; `lease` is the token of the lease if there is one."""

    owner: str
    now: datetime
    seconds: float
    learner: str | None
    lease: str


def new_items(learner: str, pending: Pending | PendingItem | None, now: datetime) -> list[Properties]:
    """Return the properties of the node for new work, if there is any."""
    if pending is None or isinstance(pending, PendingItem):
        return []
    moment = now.timestamp()
    return [
        {
            **pending.model_dump(),
            "key": commit_key(learner, pending.pending_id),
            "user_id": learner,
            "state": "pending",
            "attempts": 0,
            "created_at": moment,
            "free_at": moment,
        }
    ]


async def claim_next(connection: Neo4jConnection, link: Link, wish: Wish) -> PendingItem | None:
    """Lease the best item that nobody else gets first."""
    now = wish.now.timestamp()
    if wish.learner is not None:
        free = await connection.rows(link, cypher.FREE_OF, uid=wish.learner, now=now)
    else:
        free = await connection.rows(link, cypher.FREE_NEAR, now=now)
        free = free or await connection.rows(link, cypher.FREE, now=now)
    for candidate in _turned(free, wish.lease):
        rows = await connection.rows(
            link,
            cypher.CLAIM,
            uid=candidate["uid"],
            key=candidate["key"],
            now=now,
            until=(wish.now + timedelta(seconds=wish.seconds)).timestamp(),
            lease=wish.lease,
            owner=wish.owner,
        )
        if rows:
            return _item(rows[0])
    return None


def _turned(free: list[Row], lease: str) -> list[Row]:
    """Begin at another one of the best, so that workers who look at once do not all try for the same."""
    best = [row for row in free if row["priority"] == free[0]["priority"]]
    start = crc32(lease.encode()) % len(best) if best else 0
    return [*best[start:], *best[:start], *free[len(best) :]]


async def complete(run: AsyncTransaction, learner: str, item: PendingItem) -> bool:
    """Delete the item; False when it was gone."""
    return await _done(run, cypher.COMPLETE, key=commit_key(learner, item.pending_id))


async def renew_lease(run: AsyncTransaction, item: PendingItem, until: datetime) -> bool:
    """Extend the lease while it is the caller's."""
    key = commit_key(item.learner_id, item.pending_id)
    return await _done(run, cypher.RENEW, key=key, lease=item.lease, until=until.timestamp())


async def give_back(run: AsyncTransaction, item: PendingItem, error: str, retry_at: datetime | None) -> bool:
    """Give the item back with the error, or make a dead letter of it."""
    return await _done(
        run,
        cypher.GIVE_BACK,
        key=commit_key(item.learner_id, item.pending_id),
        lease=item.lease,
        state="dead" if retry_at is None else "pending",
        error=bounded_error(error),
        attempts=item.attempts,
        until=(retry_at or item.free_at).timestamp(),
    )


async def revive(run: AsyncTransaction, learner: str, pending_id: str, now: datetime) -> bool:
    """Make a dead letter pending again."""
    return await _done(run, cypher.REVIVE, key=commit_key(learner, pending_id), now=now.timestamp())


async def read_items(
    run: AsyncSession | AsyncTransaction, learner: str | None, dead: bool | None, limit: int
) -> tuple[PendingItem, ...]:
    """Return the items in the order in which they are next."""
    states = ["pending", "dead"] if dead is None else ["dead" if dead else "pending"]
    rows = await fetch(run, cypher.LIST, uid=learner, states=states, limit=limit)
    return tuple(map(_item, rows))


async def count_items(run: AsyncSession) -> PendingCounts:
    """Return how many items there are of each kind."""
    found = {str(row["state"]): int(str(row["items"])) for row in await fetch(run, cypher.COUNT)}
    return PendingCounts(found.get("pending", 0), found.get("dead", 0))


async def amend_turn(run: AsyncTransaction, learner: str, amend: Amend) -> TurnRecord | None:
    """Change the record of the newest attempt at the turn. Raises TrajectoryNotFound."""
    rows = await fetch(run, cypher.NEWEST, uid=learner, turn_id=amend.turn_id)
    if not rows:
        if amend.missing_ok:
            return None
        raise TrajectoryNotFound(f"there is no trajectory {amend.turn_id}: trajectory list shows the ids")
    changed = amend.change(load_record(str(rows[0]["record_json"])))
    await fetch(run, cypher.AMEND, key=rows[0]["key"], turn=turn_properties(changed))
    return changed


async def find_turns(
    run: AsyncSession, learner: str, wanted: TrajectoryFilter, limit: int, skip: int
) -> tuple[TurnRecord, ...]:
    """Return the turns that are meant, the newest first."""
    asked = {name: value for name, value in asdict(wanted).items() if value is not None}
    query = cypher.turns_query(asked)
    rows = await fetch(run, query, uid=learner, limit=limit, skip=skip, **asked)
    return tuple(load_record(str(row["record_json"])) for row in rows)


async def _done(run: AsyncTransaction, query: LiteralString, **parameters: object) -> bool:
    return bool(await fetch(run, query, **parameters))


def _item(row: Row) -> PendingItem:
    times = {name: datetime.fromtimestamp(float(str(row[name])), UTC) for name in ("created_at", "free_at")}
    return PendingItem.model_validate({**row, **times})
