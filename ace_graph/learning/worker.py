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
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, Unpack

from langchain_core.language_models import BaseChatModel

from ace_graph.agent.models import close_model, make_model
from ace_graph.agent.resources import ResourceOptions, Resources, build_resources, random_id
from ace_graph.agent.runtime import logger
from ace_graph.agent.state import Learning
from ace_graph.base.clock import Sleep
from ace_graph.base.errors import ConfigurationError, StoreError
from ace_graph.base.executors import Work
from ace_graph.base.settings import Settings
from ace_graph.base.telemetry import shown_learner
from ace_graph.learning.graph_drawing import draw_changes, graph_drawing
from ace_graph.learning.pending import ItemOutcome, RetryPolicy, is_delivery, process_item, subject
from ace_graph.memory.commit import PendingItem
from ace_graph.memory.stores.base import checked_learner_id
from ace_graph.memory.stores.cache import SnapshotCache
from ace_graph.memory.stores.store import Store
from ace_graph.stores import open_store

# How much pending work a worker has reason to expect, so that it does not ask the store in vain.
#
# A turn of the same process says whose item it has stored, which is one reason to look: at once, or when
# the worker has ended the item of that learner that it works on, because only the first one can be claimed.
# Without such a reason a worker looks until it finds nothing, and again when something else may have become
# free.


class ExpectedWork:
    """Counts what was announced and what is being worked on. For one event loop."""

    def __init__(self) -> None:
        self._unknown = True
        self._announced = 0
        self._waiting = Counter[str]()
        self._running = Counter[str]()
        self._ended = 0
        self._hidden = False

    @property
    def any(self) -> bool:
        """Whether the store may have an item to claim, as far as this process knows."""
        return self._unknown or self._announced > 0

    def announce(self, learner_id: str | None) -> None:
        """Expect one more item of a learner; None: any number, of anybody."""
        if learner_id is None:
            self._unknown = True
        elif self._running[learner_id]:
            self._waiting[learner_id] += 1
        else:
            self._announced += 1

    @contextmanager
    def look(self) -> Generator[list[str]]:
        """Around one question to the store. What is announced meanwhile stays expected.

        The learner whose item was found goes into the list.
        """
        announced, unknown, ended = self._announced, self._unknown, self._ended
        self._unknown = False
        found = list[str]()
        try:
            yield found
        except BaseException:
            self._unknown = True
            raise
        if found:
            self._running[found[0]] += 1
            # One that nobody announced is of another process, or older: there may be more.
            self._unknown = self._unknown or unknown or not announced
            self._announced -= min(announced, 1)
        else:
            self._announced -= announced
            self._hidden = bool(self._running)
            self._unknown = self._unknown or self._ended != ended

    def end(self, learner_id: str) -> bool:
        """Count an item as worked on; return whether another may be free now."""
        self._ended += 1
        self._running[learner_id] -= 1
        self._running += Counter()  # without those that are at 0
        self._announced += self._waiting.pop(learner_id, 0)
        self._unknown = self._unknown or self._hidden
        self._hidden = False
        return self.any


_MAX_BACKOFF_STEPS = 16
"""More troubles in a row make no wait longer."""


def learning_resources(**given: Unpack[ResourceOptions]) -> tuple[Resources, Store]:
    """Return what learning from pending work needs. Raises ConfigurationError that names what to set."""
    given["learning"] = "inline"
    resources = build_resources(**given)
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


class Worker:
    """Works on `concurrency` items at once. Make it with `build_worker`; run it once, on one event loop."""

    def __init__(
        self,
        resources: Resources,
        store: Store,
        terms: RetryPolicy = RetryPolicy(),  # noqa: B008  a frozen value
        *,
        concurrency: int = 4,
        sleep: Sleep = asyncio.sleep,
        on_learned: Callable[[ItemOutcome], None] | None = None,
    ) -> None:
        """Raises ConfigurationError for a concurrency below 1."""
        if concurrency < 1:
            raise ConfigurationError("a worker's concurrency must be at least 1")
        self.store, self.terms = store, terms
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{(resources.new_id or random_id)()[:8]}"
        self._resources, self._concurrency, self._sleep = resources, concurrency, sleep
        self._on_learned = on_learned
        self._stopping, self._woken = asyncio.Event(), asyncio.Event()
        self._looking = asyncio.Lock()
        self._expected = ExpectedWork()

    async def run(self) -> None:
        """Work until `stop` is called; then finish the running items. When cancelled it releases them.

        A store that can't be reached is asked again, less and less often, at most every 30 seconds. In Neo4j
        it also draws the graph (ACE_NEO4J_GRAPH).
        """
        resources = self._resources
        drawing = graph_drawing(self.store, resources.settings, self._sleep, resources.cache)
        async with drawing, asyncio.TaskGroup() as slots:
            for _ in range(self._concurrency):
                slots.create_task(self._serve())

    async def drain(self) -> None:
        """Work until nothing is pending or leased by anybody, dead letters aside.

        Waits for the leases of other workers and for retries, and draws the graph at the end. Raises
        StoreError.
        """
        async with asyncio.TaskGroup() as slots:
            for _ in range(self._concurrency):
                slots.create_task(self._drain())
        if self._resources.settings.neo4j_graph:
            await draw_changes(self.store, self._resources.cache)

    def stop(self) -> None:
        """Ask it to end; call it on its own event loop (a signal handler of the loop may)."""
        self._stopping.set()
        self._woken.set()

    def wake(self, learner_id: str | None = None) -> None:
        """Say that there is new work, so that an idle worker looks at once; on its own event loop.

        Where it is one item of a learner, it asks the store once for it; else until there is nothing.
        """
        self._expected.announce(learner_id)
        self._woken.set()

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
        while not self._stopping.is_set():
            try:
                item = await self._found()
                if item is not None:
                    try:
                        await self._learn(item)
                    finally:
                        if self._expected.end(item.learner_id):  # the learner's next item is free now
                            self._woken.set()
                troubles = 0
                continue
            except StoreError as error:
                logger.warning("[ACE Worker] the store can't be used now: %s", error)
            except Exception as error:
                # It must go on whatever happens; the class is told, as the text may hold content.
                logger.error("[ACE Worker] unexpected %s", type(error).__name__)
                logger.debug("[ACE Worker] where it came from", exc_info=error)
            troubles = min(troubles + 1, _MAX_BACKOFF_STEPS)
            await self._idle(min(30.0, self.terms.poll_seconds * 2.0**troubles))

    async def _found(self) -> PendingItem | None:
        """Return the next item, None if there is none.

        One slot at a time asks the store, or waits while it has no reason to; others would get the same.
        """
        async with self._looking:
            if not self._expected.any:
                await self._idle(self.terms.poll_seconds)
            self._woken.clear()
            if self._stopping.is_set():
                return None
            with self._expected.look() as found:
                item = await self._claimed()
                if item is not None:
                    found.append(item.learner_id)
            return item

    async def _drain(self) -> None:
        while not self._stopping.is_set():
            if await self.learn_one() is None:
                if not (await self.store.count_pending()).pending:
                    return
                await self._idle(self.terms.poll_seconds)

    async def _idle(self, seconds: float) -> None:
        """Wait so long, or until there is work, or until it is asked to end."""
        if self._stopping.is_set():
            return
        slept = asyncio.ensure_future(self._sleep(seconds))
        woken = asyncio.ensure_future(self._woken.wait())
        try:
            await asyncio.wait((slept, woken), return_when=asyncio.FIRST_COMPLETED)
        finally:
            slept.cancel()
            woken.cancel()
            await asyncio.gather(slept, woken, return_exceptions=True)


# The unit of work of learning in the background: one function that any task engine can call.
#
#     from ace_graph import learn_pending
#
#     outcome = await learn_pending("alice", out["learning"]["pending"], model=model, store=store)
#
# It is idempotent: called twice, at once, again after a crash, or after a worker has done it, it takes
# effect once. Its arguments are two texts, so a task engine (Celery, huey, Ray, a LangGraph server's run)
# can carry them. A turn's `learning["pending"]` is the id; `outcome.retry_after` says when to call it
# again, if at all.


_OWNER = "learn_pending"


@dataclass(frozen=True)
class PendingOutcome:
    """What became of one pending id.

    done     its lessons are in the memory, by this call (`learning` says what changed) or an earlier one,
             or there was nothing left to do because the learner was forgotten
    retry    not yet: it failed (`error`), or another worker has claimed it or an earlier item of this
             learner; call again in `retry_after` seconds
    dead     it failed too often; `reflect ID` on the command line makes it pending again
    """

    status: Literal["done", "retry", "dead"]
    learning: Learning | None = None
    error: str | None = None
    retry_after: float | None = None


async def learn_pending(
    learner_id: str,
    pending_id: str,
    *,
    model: BaseChatModel | str | None = None,
    store: Store | str | None = None,
    prompts_dir: Path | str | None = None,
    terms: RetryPolicy = RetryPolicy(),  # noqa: B008  a frozen value
    clock: Callable[[], datetime] | None = None,
    sleep: Sleep = asyncio.sleep,
    settings: Settings | None = None,
) -> PendingOutcome:
    """Learn from what a turn left under `pending_id`, the learner's earlier items first.

    The other arguments are those of build_ace_graph; a store that is made here is closed here. Raises
    ConfigurationError, InvalidContext, StoreError; a model that fails is no exception but a `retry`.
    """
    learner = checked_learner_id(learner_id)
    resources, opened = learning_resources(
        model=model, store=store, prompts_dir=prompts_dir, clock=clock, settings=settings
    )
    try:
        return await drain_until(learner, pending_id, resources, opened, terms, sleep)
    finally:
        if opened is not store:
            await opened.close()


async def drain_until(
    learner: str,
    pending_id: str,
    resources: Resources,
    store: Store,
    terms: RetryPolicy,
    sleep: Sleep = asyncio.sleep,
) -> PendingOutcome:
    """Work on the learner's items in order until that of `pending_id` has ended."""
    while True:
        items = await store.list_pending(learner, limit=1_000_000)
        waiting = next((item for item in items if item.pending_id == pending_id), None)
        if waiting is None:
            return PendingOutcome("done")
        if waiting.state == "dead":
            return PendingOutcome("dead", error=waiting.error)
        item = await store.claim(_OWNER, resources.clock(), terms.lease_seconds, learner)
        if item is None:
            return await _not_yet(store, learner, resources.clock(), terms)
        done = await process_item(item, store, resources, terms, sleep)
        if item.pending_id == pending_id and done.learning is not None:
            return PendingOutcome("done", done.learning)
        if done.status == "failed" and done.retry_at is not None:
            seconds = (done.retry_at - resources.clock()).total_seconds()
            return PendingOutcome("retry", error=done.error, retry_after=max(0.0, seconds))
        if done.status == "lost":
            return await _not_yet(store, learner, resources.clock(), terms)


async def consolidate_at_once(learner: str, run_id: str, resources: Resources) -> None:
    """Work on the consolidation that a commit has stored, now; ACE_CONSOLIDATE_ASYNC says whether.

    What fails stays pending, and is logged.
    """
    store = resources.store
    try:
        await drain_until(learner, run_id, resources, store, RetryPolicy())
    except StoreError as error:
        logger.warning("[ACE Memory] the consolidation %s stays pending: %s", run_id, error)


async def deliver_left(learner: str, resources: Resources) -> None:
    """Take lessons to their named playbooks that a process left when it died between its two commits.

    Nothing is reflected on: it ends at work of another kind, which is a worker's. What fails stays pending,
    and is logged.
    """
    store = resources.store
    terms = RetryPolicy()
    try:
        while any(map(is_delivery, await store.list_pending(learner, dead=False, limit=1))):
            item = await store.claim(_OWNER, resources.clock(), terms.lease_seconds, learner)
            if item is None:
                return
            await process_item(item, store, resources, terms)
    except StoreError as error:
        logger.warning("[ACE Memory] lessons of an earlier turn stay pending: %s", error)


async def _not_yet(store: Store, learner: str, now: datetime, terms: RetryPolicy) -> PendingOutcome:
    """Another worker has claimed it, or its next try is not due."""
    times = [item.free_at for item in await store.list_pending(learner, dead=False) if item.free_at > now]
    seconds = (min(times) - now).total_seconds() if times else terms.poll_seconds
    return PendingOutcome("retry", retry_after=max(0.0, seconds))


@dataclass(frozen=True)
class LearnJob:
    """Learns from as many pending items as it is told, of any learners, or until none may be had now.

    The result counts how the items ended, by status. What a process that dies held becomes free when its
    lease runs out.
    """

    settings: Settings

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[Work[int, Counter[str]]]:
        """Open the store and make the model of the settings; see `Job.opened`."""
        async with open_store(settings=self.settings) as store:
            model = make_model(self.settings)
            worker = build_worker(model=model, store=store, settings=self.settings)

            async def learn(most: int) -> Counter[str]:
                ends = Counter[str]()
                while ends.total() < most and (done := await worker.learn_one()) is not None:
                    ends[done.status] += 1
                return ends

            try:
                yield learn
            finally:
                await close_model(model)
