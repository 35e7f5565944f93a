"""Deletes conversations beyond the limits: idle ones, and the oldest of a learner who has too many.

Each is deleted with its checkpoints in a transaction of its own. One that has a turn under way, or was used
in the meantime, stays. What was learned in them stays, too.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from ace_graph.base.clock import Clock, Sleep
from ace_graph.base.settings import Settings
from ace_graph.learning.cleaning import INTERVAL_SECONDS, PeriodicJob
from ace_graph.server.conversations.database import SQL, ConversationDatabase, Execute, Row

logger = logging.getLogger("ace_graph")
_PAGE = 100
_PAUSE_SECONDS = 0.02


@dataclass(frozen=True)
class ConversationLimits:
    """Most days that a conversation may be idle, and most conversations of a learner; None: no limit."""

    days: float | None = None
    kept: int | None = None

    @property
    def any(self) -> bool:
        return self.days is not None or self.kept is not None

    @classmethod
    def of(cls, settings: Settings) -> ConversationLimits:
        return cls(settings.conversation_days or None, settings.conversations_kept or None)


def conversation_cleaning(
    database: ConversationDatabase, limits: ConversationLimits, clock: Clock
) -> PeriodicJob:
    async def clean() -> None:
        now = clock.now()
        if await begin_cleaning(database, now, INTERVAL_SECONDS):
            deleted = await clean_conversations(database, limits, now, clock.sleep)
            logger.info("[ACE Server][Clean] conversations=%d", deleted)

    return clean


async def clean_conversations(
    database: ConversationDatabase,
    limits: ConversationLimits,
    now: datetime,
    sleep: Sleep,
    *,
    dry_run: bool = False,
) -> int:
    """Delete the conversations that are beyond the limits, or count them; return how many.

    Raises StoreUnavailable.
    """
    gone = set[str]()
    finders = list[AsyncIterator[Row]]()
    if limits.days is not None:
        finders.append(_idle(database, (now - timedelta(days=limits.days)).isoformat()))
    if limits.kept is not None:
        finders.append(_too_many(database, limits.kept))
    for found in finders:
        async for row in found:
            if str(row[2]) in gone or not (dry_run or await _delete(database, row)):
                continue
            gone.add(str(row[2]))
            if not dry_run:
                await sleep(_PAUSE_SECONDS)
    if gone and not dry_run:
        await database.scrub()
    return len(gone)


async def _idle(database: ConversationDatabase, before: str) -> AsyncIterator[Row]:
    """Yield the conversations that were used last before a time, the longest idle first."""
    used_at = thread_id = ""
    while rows := await database.execute(SQL["IDLE"], (before, used_at, thread_id, _PAGE)):
        for row in rows:
            yield row
        thread_id, used_at = map(str, rows[-1][2:])


async def _too_many(database: ConversationDatabase, kept: int) -> AsyncIterator[Row]:
    """Yield what a learner has beyond so many conversations, learner by learner."""
    after = ""
    while learners := await database.execute(SQL["LEARNERS_WITH_TOO_MANY"], (after, kept, _PAGE)):
        for (learner,) in learners:
            for row in await database.execute(SQL["TOO_MANY"], (learner, kept)):
                yield row
        after = str(learners[-1][0])


async def _delete(database: ConversationDatabase, row: Row) -> bool:
    """Delete a conversation unless it was used since it was found; return whether it was deleted."""

    async def delete(execute: Execute) -> bool:
        gone = await execute(SQL["DELETE_UNLESS_USED"], row)
        if gone:
            await database.delete_thread(str(row[2]), execute)
        return bool(gone)

    return await database.transaction(delete)


async def begin_cleaning(database: ConversationDatabase, now: datetime, every: float) -> bool:
    """Whether a cleaning is due: True for one caller of all servers in `every` seconds."""
    moment = now.timestamp()
    due = await database.execute(SQL["BEGIN_CLEANING"], (moment, every))
    return bool(due)


async def count_conversations(database: ConversationDatabase) -> int:
    ((count,),) = await database.execute("SELECT count(*) FROM ace_conversations", ())
    return int(str(count))
