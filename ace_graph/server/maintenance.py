"""The server's periodic jobs: clean the memory, and the conversations if a limit is set."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from ace_graph.memory.stores.base import Store
from ace_graph.server.clock import Clock
from ace_graph.server.conversations.cleaning import ConversationLimits, begin_cleaning, clean_conversations
from ace_graph.server.conversations.database import Database
from ace_graph.settings import Settings
from ace_graph.trajectories.housekeeping import EVERY_SECONDS, Chore, cleaning_of

__all__ = ["maintenance_jobs"]

logger = logging.getLogger("ace_graph")


@dataclass(frozen=True)
class _CleanConversations:
    database: Database
    limits: ConversationLimits
    clock: Clock

    async def __call__(self) -> None:
        now = self.clock.now()
        if not await begin_cleaning(self.database, now, EVERY_SECONDS):
            return
        deleted = await clean_conversations(self.database, self.limits, now, self.clock.sleep)
        logger.info("[ACE Server][Clean] conversations=%d", deleted)


def maintenance_jobs(settings: Settings, store: Store, database: Database, clock: Clock) -> list[Chore]:
    """Return the jobs of these settings."""
    limits = ConversationLimits.of(settings)
    memory = cleaning_of(store, settings, clock.now, clock.sleep)
    return [memory, _CleanConversations(database, limits, clock)] if limits.any else [memory]
