"""Recovery, every two seconds: continue the turns of dead servers, and store what could not be stored.

A turn whose server died is claimed and continued here. One that two servers did not survive is given up.
What a turn learned while the memory could not be written is committed again. What survives a kill, turns with
their leases, is stored by conversations/repository.py; manager.py renews the leases; run_turn.py resumes from
the checkpoint.
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
from ace_graph.server.conversations.repository import Conversations
from ace_graph.server.errors import error_location
from ace_graph.server.turns.manager import Turns

logger = logging.getLogger("ace_graph")

INTERVAL_SECONDS = 2.0


@asynccontextmanager
async def recovery_loop(
    turns: Turns, conversations: Conversations, store: Store, clock: Clock
) -> AsyncGenerator[None]:
    """Recover at once and then every two seconds, until the block ends."""
    task = asyncio.create_task(_recover_forever(turns, conversations, store, clock), name="ace-recovery")
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
            logger.warning("[ACE Server] recovery failed and is tried again: %s", error)
        except Exception as error:
            # The loop must not end. Only the class is logged, because the message may hold content.
            logger.error("[ACE Server] unexpected error in recovery: %s", error_location(error))  # noqa: TRY400
        await clock.sleep(INTERVAL_SECONDS)


async def _resume_orphans(turns: Turns, conversations: Conversations) -> None:
    # Read once: a turn that is released here in the meantime is for another server.
    busy = turns.run_ids
    for ended in await conversations.give_up(busy):
        logger.error("[ACE Server] a turn is given up: run=%s: %s", ended.run_id, ended.reason)
    for turn in await conversations.claim_orphans(busy):
        turns.resume(turn)


async def _retry_unsaved(conversations: Conversations, store: Store) -> None:
    for kept in await conversations.unsaved():
        try:
            await commit_unsaved(store, kept.text)
            logger.info("[ACE Server] what could not be stored is stored now: turn=%s", kept.turn_id)
        except (LearnerForgotten, CommitTooOld, UsageError) as error:
            logger.info("[ACE Server] what could not be stored is dropped: %s", type(error).__name__)
        except StoreError:
            return  # the memory is still away: all of them wait
        await conversations.saved(kept.turn_id)
