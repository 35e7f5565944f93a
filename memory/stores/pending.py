"""Pending learning work in rows: items are claimed with a lease, stored and completed.

Whoever leases, stores or completes an item holds the lock of its learner, so that no two items of one learner
are leased at once. Times are seconds since 1970, UTC.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from typing import NamedTuple
from zlib import crc32

from ace_graph.base.errors import LearnerForgotten
from ace_graph.memory.commit import Pending, PendingItem, bounded_error
from ace_graph.memory.stores.backend import Row, Rows, Where
from ace_graph.memory.stores.records import ITEM_COLUMNS, item_of, new_item
from ace_graph.memory.stores.states import of

WAITS: Where = ("state", "=", "pending")
DEAD: Where = ("state", "=", "dead")
_ORDER = "priority DESC, created_at, user_id, seq"
_PAGE = 50


async def claim_next(
    rows: Rows, owner: str, now: datetime, seconds: float, learner: str | None, token: str
) -> PendingItem | None:
    """Lease the next item, of all learners or of one; None where none is free.

    Of each learner the first item is looked at. Learners that another worker or a commit has locked are
    passed over, unless there are no others. Workers begin at different places among the items with the
    highest priority, so that not all of them try the same one.
    """
    lease = _Lease(token, owner, now.timestamp(), now.timestamp() + seconds)
    passed, locked = dict[str, None](), list[str]()
    while found := await _free(rows, lease.at, learner, passed):
        best = [row for row in found if row[1] == found[0][1]]
        start = crc32(token.encode()) % len(best) if rows.locks_rows else 0
        for key, _ in (*best[start:], *best[:start], *found[len(best) :]):
            if key in passed:
                continue
            passed[key] = None
            async with rows.writing():
                if not await rows.lock(key, wait=False):
                    locked.append(key)
                elif item := await _lease_first(rows, key, lease):
                    return item
    for key in locked:
        async with rows.writing():
            await rows.lock(key)
            if item := await _lease_first(rows, key, lease):
                return item
    return None


class _Lease(NamedTuple):
    """What a claim asks for; the times are seconds."""

    token: str
    owner: str
    at: float
    until: float


async def _free(rows: Rows, at: float, learner: str | None, passed: Collection[str]) -> list[Row]:
    """Return learners with an item that is free, and its priority, the most urgent first."""
    if learner in passed:
        return []
    where: list[Where] = [WAITS, ("free_at", "<=", at)]
    if learner is not None:
        where.append(of(learner))
    if passed:
        where.append(("user_id", "not in", list(passed)))
    return await rows.select("pending", "user_id, priority", *where, order=_ORDER, limit=_PAGE)


async def _lease_first(rows: Rows, key: str, lease: _Lease) -> PendingItem | None:
    """Lease the first item of a learner whose lock is held, where it is free and no other one is leased."""
    leased: tuple[Where, ...] = (("free_at", ">", lease.at), ("lease", "!=", ""))
    if await rows.row("pending", "pending_id", of(key), WAITS, *leased) is not None:
        return None
    first = await rows.row("pending", ITEM_COLUMNS, of(key), WAITS, order="priority DESC, seq")
    item = None if first is None else item_of(first)
    if item is None or item.free_at.timestamp() > lease.at:
        return None
    attempts = item.attempts + 1
    values = {"lease": lease.token, "owner": lease.owner, "free_at": lease.until, "attempts": attempts}
    await rows.update("pending", values, of(key), _named(item.pending_id))
    return item.model_copy(update={**values, "free_at": datetime.fromtimestamp(lease.until, UTC)})


def _named(pending_id: str) -> Where:
    return "pending_id", "=", pending_id


async def renew(rows: Rows, item: PendingItem, until: datetime) -> bool:
    """Extend the lease; False where the caller does not hold it any more."""
    return await _change_leased(rows, item, {"free_at": until.timestamp()})


async def release(rows: Rows, item: PendingItem, error: str, retry_at: datetime | None) -> bool:
    """Release the item with the error; False where the caller does not hold the lease any more."""
    state, free_at = "dead" if retry_at is None else "pending", (retry_at or item.free_at).timestamp()
    values = {"state": state, "error": bounded_error(error), "free_at": free_at, "attempts": item.attempts}
    return await _change_leased(rows, item, {**values, "lease": None})


async def _change_leased(rows: Rows, item: PendingItem, values: dict[str, object]) -> bool:
    held: tuple[Where, ...] = (_named(item.pending_id), ("lease", "=", item.lease))
    return await rows.update("pending", values, of(item.learner_id), *held) > 0


async def revive(rows: Rows, learner: str, pending_id: str, now: datetime) -> bool:
    """Make a dead letter pending again; False where there is none."""
    values = {"state": "pending", "attempts": 0, "free_at": now.timestamp(), "lease": None}
    return await rows.update("pending", values, of(learner), _named(pending_id), DEAD) > 0


async def write_pending(rows: Rows, learner: str, pending: Pending | None, now: datetime, seq: int) -> None:
    """Store new work, unless it is there already."""
    if pending is not None:
        await rows.add("pending", {**new_item(learner, pending, now), "seq": seq})


async def complete_item(rows: Rows, learner: str, item: PendingItem) -> None:
    """Delete the item that a commit completes. Raises LearnerForgotten when it is gone."""
    if not await rows.delete("pending", of(learner), _named(item.pending_id)):
        raise LearnerForgotten(
            "the learner was forgotten while a worker processed the item: nothing is stored"
        )


async def read_items(
    rows: Rows, learner: str | None = None, dead: bool | None = None, limit: int | None = None
) -> tuple[PendingItem, ...]:
    """Return the items in the order of the queue."""
    if learner is None and dead is None:  # an index begins with the state
        waiting, dead_letters = [await read_items(rows, dead=each, limit=limit) for each in (False, True)]
        return tuple(sorted((*waiting, *dead_letters), key=_place_in_queue)[:limit])
    where = list[Where]() if learner is None else [of(learner)]
    if dead is not None:
        where.append(DEAD if dead else WAITS)
    return tuple(map(item_of, await rows.select("pending", ITEM_COLUMNS, *where, order=_ORDER, limit=limit)))


def _place_in_queue(item: PendingItem) -> tuple[float, datetime, str]:
    return -item.priority, item.created_at, item.learner_id
