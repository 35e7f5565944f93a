"""The job of doing the same to many items of one store, each by itself: learners, playbooks."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from ace_graph.executors.base import Work
from ace_graph.memory.stores.base import PendingStore
from ace_graph.settings import Settings
from ace_graph.stores import open_store

__all__ = ["StoreJob"]

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class StoreJob(Generic[Item, Result]):
    """Calls `act` with the store that `settings` name and an item. For Ray, `act` is pickled."""

    settings: Settings
    act: Callable[[PendingStore, Item], Awaitable[Result]]

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[Work[Item, Result]]:
        """Open the store; see `Job.opened`."""
        async with open_store(settings=self.settings) as store:
            yield partial(self.act, store)
