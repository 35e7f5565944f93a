"""A lease on pending work: renewed while the work goes on, and the work stops when the lease is lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import TracebackType
from typing import Self

from ace_graph.base.errors import StoreError
from ace_graph.memory.commit import PendingItem
from ace_graph.memory.stores.base import Store

logger = logging.getLogger("ace_graph")

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True)
class RetryPolicy:
    """How long a lease lasts, how often work is tried and how long it waits in between, in seconds.

    The wait doubles with every attempt. `poll_seconds`: how often an idle worker looks for work.
    """

    lease_seconds: float = 30.0
    max_attempts: int = 5
    first_wait: float = 2.0
    longest_wait: float = 300.0
    poll_seconds: float = 1.0

    def retry_at(self, attempts: int, now: datetime) -> datetime | None:
        """Return when work that failed `attempts` times is tried again, None when it is given up."""
        if attempts >= self.max_attempts:
            return None
        wait = self.first_wait * 2.0 ** max(0, attempts - 1)
        return now + timedelta(seconds=min(self.longest_wait, wait))


class LeaseLost(Exception):
    """Another worker has the item by now. Raised within this package only."""


class Lease:
    """Renews the lease of `item` every third of its time; leaves its block with LeaseLost when it is gone.

    A store that can't be reached for a while is asked again; the lease may run out meanwhile.
    """

    def __init__(
        self,
        store: Store,
        item: PendingItem,
        *,
        seconds: float,
        clock: Callable[[], datetime],
        sleep: Sleep,
    ) -> None:
        self._store, self._item, self._seconds = store, item, seconds
        self._clock, self._sleep = clock, sleep
        self._lost = False
        self._renewing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        worker = asyncio.current_task()
        if worker is None:
            raise RuntimeError("a lease is held by a task")
        self._renewing = asyncio.create_task(self._renew(worker))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.gather(self._renewing, return_exceptions=True)
        if self._lost and isinstance(error, asyncio.CancelledError):
            worker = asyncio.current_task()
            if worker is not None and worker.uncancel() == 0:
                raise LeaseLost from error

    async def _renew(self, worker: asyncio.Task[object]) -> None:
        while True:
            await self._sleep(self._seconds / 3)
            try:
                kept = await self._store.renew(self._item, self._clock() + timedelta(seconds=self._seconds))
            except StoreError as error:
                logger.warning("[ACE Worker] the lease could not be renewed: %s", error)
                continue
            if not kept:
                self._lost = True
                worker.cancel()
                return
