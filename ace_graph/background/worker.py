"""The worker: claims pending items, learns from them and completes them. Any number may run.

    worker = build_worker(model=chat_model, store=store, concurrency=4)
    await worker.run()        # until worker.stop(), which lets running items finish
    await worker.drain()      # until nothing is pending or leased, dead letters aside

Run it inside a server's process, beside the graph, or as a process of its own (`ace-graph worker`). A
worker that is killed loses nothing and repeats nothing: its lease runs out, and another worker processes the
item under the same op id.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from langchain_core.language_models import BaseChatModel

from ace_graph.background.expected_work import ExpectedWork
from ace_graph.background.lease import RetryPolicy, Sleep
from ace_graph.background.process_item import ItemOutcome, process_item, subject
from ace_graph.build_resources import build_resources
from ace_graph.errors import ConfigurationError, StoreError
from ace_graph.memory.pending import PendingItem
from ace_graph.memory.stores.base import PendingStore, Store, keeps_pending
from ace_graph.memory.stores.cache import SnapshotCache
from ace_graph.resources import Resources, random_id
from ace_graph.runtime import logger
from ace_graph.settings import Settings
from ace_graph.telemetry import shown_learner

__all__ = ["RetryPolicy", "Worker", "build_worker", "learning_resources"]

_MAX_BACKOFF_STEPS = 16
"""More troubles in a row make no wait longer."""


def learning_resources(
    *,
    model: BaseChatModel | str | None = None,
    store: Store | str | None = None,
    prompts_dir: Path | str | None = None,
    clock: Callable[[], datetime] | None = None,
    new_id: Callable[[], str] | None = None,
    snapshots: SnapshotCache | None = None,
    settings: Settings | None = None,
) -> tuple[Resources, PendingStore]:
    """Return what learning from pending work needs. Raises ConfigurationError that names what to set."""
    resources = build_resources(
        settings=settings,
        model=model,
        store=store,
        prompts_dir=prompts_dir,
        learning="inline",
        clock=clock,
        new_id=new_id,
        snapshots=snapshots,
    )
    if not keeps_pending(resources.store):
        raise ConfigurationError(
            f"the store {resources.store.name} keeps no pending work: use SQLite, Neo4j, PostgreSQL or memory"
        )
    return resources, resources.store


def build_worker(
    *,
    model: BaseChatModel | str | None = None,
    store: Store | str | None = None,
    prompts_dir: Path | str | None = None,
    concurrency: int = 4,
    terms: RetryPolicy = RetryPolicy(),  # noqa: B008  a frozen value
    on_learned: Callable[[ItemOutcome], None] | None = None,
    clock: Callable[[], datetime] | None = None,
    sleep: Sleep = asyncio.sleep,
    new_id: Callable[[], str] | None = None,
    snapshots: SnapshotCache | None = None,
    settings: Settings | None = None,
) -> Worker:
    """Return a worker on the same arguments that build_ace_graph takes; what is left out is in the settings.

    `concurrency` is how many items it works on at once, each of another learner. `on_learned` is told how
    every item ended. `clock` and `sleep` replace the time. `snapshots` is what a graph in the same process
    holds, so that neither reads what the other has just written. The store is the caller's to close.
    Raises ConfigurationError; ModelNotConfigured where no model is named (ACE_MODEL=offline is one).
    """
    resources, opened = learning_resources(
        model=model,
        store=store,
        prompts_dir=prompts_dir,
        clock=clock,
        new_id=new_id,
        snapshots=snapshots,
        settings=settings,
    )
    return Worker(resources, opened, terms, concurrency=concurrency, sleep=sleep, on_learned=on_learned)


@dataclass
class _Signals:
    """What can end an idle worker's wait."""

    stop: asyncio.Event
    work: asyncio.Event


class Worker:
    """Works on `concurrency` items at once. Make it with `build_worker`; run it once, on one event loop."""

    def __init__(
        self,
        resources: Resources,
        store: PendingStore,
        terms: RetryPolicy = RetryPolicy(),  # noqa: B008  a frozen value
        *,
        concurrency: int = 4,
        sleep: Sleep = asyncio.sleep,
        on_learned: Callable[[ItemOutcome], None] | None = None,
    ) -> None:
        """Raises ConfigurationError for a concurrency below 1."""
        if concurrency < 1:
            raise ConfigurationError("a worker's concurrency is 1 or more")
        self.store, self.terms = store, terms
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{(resources.new_id or random_id)()[:8]}"
        self._resources, self._concurrency, self._sleep = resources, concurrency, sleep
        self._on_learned = on_learned
        self._signals = _Signals(asyncio.Event(), asyncio.Event())
        self._looking = asyncio.Lock()
        self._expected = ExpectedWork()

    async def run(self) -> None:
        """Work until `stop` is called; then finish the running items. When cancelled it releases them.

        A store that can't be reached is asked again, less and less often, at most every 30 seconds.
        """
        async with asyncio.TaskGroup() as slots:
            for _ in range(self._concurrency):
                slots.create_task(self._serve())

    async def drain(self) -> None:
        """Work until nothing is pending or leased by anybody, dead letters aside.

        Waits for the leases of other workers and for retries. Raises StoreError.
        """
        async with asyncio.TaskGroup() as slots:
            for _ in range(self._concurrency):
                slots.create_task(self._drain())

    def stop(self) -> None:
        """Ask it to end; call it on its own event loop (a signal handler of the loop may)."""
        self._signals.stop.set()
        self._signals.work.set()

    def wake(self, learner_id: str | None = None) -> None:
        """Say that there is new work, so that an idle worker looks at once; on its own event loop.

        Where it is one item of a learner, it asks the store once for it; else until there is nothing.
        """
        self._expected.announce(learner_id)
        self._signals.work.set()

    async def learn_one(self) -> ItemOutcome | None:
        """Claim the next item of any learner and learn from it; None when none may be had now.

        Raises StoreError.
        """
        item = await self._claimed()
        return None if item is None else await self._learn(item)

    async def _claimed(self) -> PendingItem | None:
        now, seconds = self._resources.clock(), self.terms.lease_seconds
        return await self.store.claim(self.owner, now, seconds)

    async def _learn(self, item: PendingItem) -> ItemOutcome:
        done = await process_item(item, self.store, self._resources, self.terms, self._sleep)
        logger.info(
            "[ACE Worker] %s of learner=%s: %s",
            subject(done.turn_id),
            shown_learner(done.learner_id),
            done.status,
        )
        if self._on_learned is not None:
            self._on_learned(done)
        return done

    async def _serve(self) -> None:
        troubles = 0
        while not self._signals.stop.is_set():
            try:
                item = await self._found()
                if item is not None:
                    try:
                        await self._learn(item)
                    finally:
                        if self._expected.end(item.learner_id):  # the learner's next item is free now
                            self._signals.work.set()
                troubles = 0
            except StoreError as error:
                logger.warning("[ACE Worker] the store can't be used now: %s", error)
                troubles = await self._wait_out(troubles)
            except Exception as error:
                # It must go on whatever happens; the class is told, as the text may hold content.
                logger.error("[ACE Worker] unexpected %s", type(error).__name__)
                logger.debug("[ACE Worker] where it came from", exc_info=error)
                troubles = await self._wait_out(troubles)

    async def _wait_out(self, troubles: int) -> int:
        """Wait longer with every trouble in a row, at most 30 seconds; return how many there are now."""
        troubles = min(troubles + 1, _MAX_BACKOFF_STEPS)
        await self._idle(min(30.0, self.terms.poll_seconds * 2.0**troubles))
        return troubles

    async def _found(self) -> PendingItem | None:
        """Return the next item, None if there is none.

        One slot at a time asks the store, or waits while it has no reason to; others would get the same.
        """
        async with self._looking:
            if not self._expected.any:
                await self._idle(self.terms.poll_seconds)
            self._signals.work.clear()
            if self._signals.stop.is_set():
                return None
            with self._expected.look() as look:
                item = await self._claimed()
                if item is not None:
                    look.found(item.learner_id)
            return item

    async def _drain(self) -> None:
        while not self._signals.stop.is_set():
            if await self.learn_one() is None:
                if not (await self.store.count_pending()).pending:
                    return
                await self._idle(self.terms.poll_seconds)

    async def _idle(self, seconds: float) -> None:
        """Wait so long, or until there is work, or until it is asked to end."""
        if self._signals.stop.is_set():
            return
        slept = asyncio.ensure_future(self._sleep(seconds))
        woken = asyncio.ensure_future(self._signals.work.wait())
        try:
            await asyncio.wait((slept, woken), return_when=asyncio.FIRST_COMPLETED)
        finally:
            slept.cancel()
            woken.cancel()
            await asyncio.gather(slept, woken, return_exceptions=True)
