"""What a server does between requests: takes up turns that others left, and stores what could not be stored.

What a turn overrides of a learner who was forgotten while it was being stored, taken back.

A commit that began a learner's memory can't tell that it came too late: there was nothing before it, and
there is nothing before it now. Whose conversations are gone by then was forgotten.

Does not: learn. That is the worker's part.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

from ace_graph.errors import AceError, CommitTooOld, LearnerForgotten, StoreError, UsageError
from ace_graph.memory.stores.base import Store
from ace_graph.memory.stores.unsaved import commit_unsaved
from ace_graph.server.clock import Clock
from ace_graph.server.conversations.repository import AcceptedTurn, Conversations
from ace_graph.server.errors import error_location
from ace_graph.server.turns.manager import Turns

__all__ = ["recovery_loop", "undo_forgotten_turn"]


async def undo_forgotten_turn(
    store: Store, conversations: Conversations, turn: AcceptedTurn, turn_id: str
) -> bool:
    """Forget the learner of whom the turn `turn_id` is all there is, where they have no conversation.

    Return whether it did. Raises what the store and the conversations raise.
    """
    if await conversations.of(turn.learner_id):
        return False
    known = await store.turns(turn.learner_id, 2)
    if [each.turn_id for each in known] != [turn_id]:
        return False
    return await store.forget(turn.learner_id)


logger = logging.getLogger("ace_graph")

EVERY_SECONDS = 2.0


@asynccontextmanager
async def recovery_loop(
    turns: Turns, conversations: Conversations, store: Store, clock: Clock
) -> AsyncGenerator[None]:
    """Look after things, now and every two seconds, until the block ends."""
    task = asyncio.create_task(_recover_forever(turns, conversations, store, clock), name="ace-recovery_loop")
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _recover_forever(turns: Turns, conversations: Conversations, store: Store, clock: Clock) -> None:
    while True:
        try:
            if not turns.draining:
                await _resume_orphans(turns, conversations)
                await _retry_unsaved(conversations, store)
        except AceError as error:
            logger.warning("[ACE Server] could not look after what others left: %s", error)
        except Exception as error:
            # It must go on whatever happens; the class is told, as the text may hold content.
            logger.error("[ACE Server] while looking after things: %s", error_location(error))  # noqa: TRY400
        await clock.sleep(EVERY_SECONDS)


async def _resume_orphans(turns: Turns, conversations: Conversations) -> None:
    busy = turns.names  # once: a turn that is put back here meanwhile is for another server
    for ended in await conversations.give_up(busy):
        logger.error("[ACE Server] a turn is given up: run=%s: %s", ended.run_id, ended.reason)
    for turn in await conversations.claim_orphans(busy):
        turns.resume(turn)


async def _retry_unsaved(conversations: Conversations, store: Store) -> None:
    for kept in await conversations.unsaved():
        try:
            await commit_unsaved(store, kept.text)
            logger.info("[ACE Server] a turn that could not be stored is stored now: %s", kept.turn_id)
        except (LearnerForgotten, CommitTooOld, UsageError) as error:
            logger.info("[ACE Server] a turn that could not be stored is let go: %s", type(error).__name__)
        except StoreError:
            return  # still down: all of them wait
        await conversations.saved(kept.turn_id)
