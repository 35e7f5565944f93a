"""`ace-graph worker`: learns from the turns that are pending, here or on the nodes of a cluster.

Without a model it is an error: the offline tutor never takes the place of a model here.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from ace_graph.base.errors import UsageError
from ace_graph.cli.command import Bounds, Call, On, command
from ace_graph.cli.terminal import print_notice

if TYPE_CHECKING:
    from ace_graph.base.settings import Settings
    from ace_graph.learning.pending import ItemOutcome
    from ace_graph.learning.worker import Worker
    from ace_graph.memory.stores.store import Store

logger = logging.getLogger("ace_graph")

_PART = 10
"""How many items a node is asked to learn from before it tells how they ended."""

commands = typer.Typer()


@command(commands, "store")
def worker(
    call: Call,
    once: Annotated[bool, "Stop when nothing is pending or leased; dead letters don't count."] = False,
    concurrency: Annotated[int, "Turns processed at once, each of a different learner.", Bounds(1)] = 4,
    on: On = None,
) -> None:
    """Learn from turns answered with ACE_LEARNING=background; any number of workers may run.

    \b
    ACE_LEARNING=background ace-graph run < question.json
    ace-graph worker --once
    ace-graph worker --once --on ray

    It needs a model (GEMINI_API_KEY, or ACE_MODEL). A worker that dies loses nothing. Ctrl-C stops
    it after the turns in progress.
    """
    if on is not None and not once:
        raise UsageError("--on needs --once: add it, or start a worker on each machine")
    from ace_graph.agent.models import choose_model, open_model
    from ace_graph.learning.worker import build_worker
    from ace_graph.stores import check_store

    settings = call.settings()
    choice = choose_model(settings)
    ends = Counter[str]() if on is None else _learned_on_nodes(call, settings, concurrency, on)

    def count(done: ItemOutcome) -> None:
        ends[done.status] += 1

    async def work(store: Store) -> None:
        await check_store(store)
        async with open_model(settings) as model:
            worker = build_worker(
                model=model, store=store, settings=settings, concurrency=concurrency, on_learned=count
            )
            _stop_on_signals(worker)
            logger.info("[ACE Worker] model=%s store=%s: at work", choice, store.name)
            async with _events_noted(store, settings):
                await (worker.drain() if once else _run(worker, store, settings))

    call.on_store(work, settings)
    summary = ", ".join(f"{end} {ends[end]}" for end in sorted(ends)) or "nothing was pending"
    if once:
        print_notice(f"worker: {summary}")
    else:
        logger.info("[ACE Worker] stopped: %s", summary)


def _learned_on_nodes(call: Call, settings: Settings, concurrency: int, on: str) -> Counter[str]:
    """Let the nodes learn from what is pending now; return how many items ended how.

    What is left, such as the items of a node that died, is learned from here.
    """
    from ace_graph.cli.passes import executor_for
    from ace_graph.learning.worker import LearnJob

    known, ends = settings.with_absolute_paths(), Counter[str]()
    with executor_for(on, known.store_url) as executor:
        waiting = call.on_store(lambda store: store.count_pending(), settings).pending
        parts = [_PART] * (waiting // _PART) + [waiting % _PART] * (waiting % _PART > 0)

        def take(learned: Counter[str]) -> None:
            ends.update(learned)
            print_notice(f"worker: {ends.total()} of {waiting}")

        asyncio.run(executor.run(LearnJob(known), iter(parts), take, concurrency=concurrency))
    return ends


@asynccontextmanager
async def _events_noted(store: Store, settings: Settings) -> AsyncGenerator[None]:
    """Note the events of webhooks, which a server with the same ACE_CONVERSATIONS delivers."""
    if not settings.webhooks:
        yield
        return
    from ace_graph.base.clock import SystemClock
    from ace_graph.server.conversations.open import open_conversations
    from ace_graph.server.webhooks import noted_events, targets_of

    clock = SystemClock()
    async with (
        open_conversations(settings, clock) as conversations,
        noted_events(targets_of(settings), store, conversations.database, clock),
    ):
        yield


async def _run(worker: Worker, store: Store, settings: Settings) -> None:
    from ace_graph.base.clock import utc_now
    from ace_graph.learning.cleaning import memory_cleaning, run_jobs

    cleaning = memory_cleaning(store, settings, utc_now, asyncio.sleep)
    async with run_jobs([cleaning], asyncio.sleep):
        await worker.run()


def _stop_on_signals(worker: Worker) -> None:
    """End in order on SIGTERM and Ctrl-C; the second one ends at once."""
    loop = asyncio.get_running_loop()

    def stop(number: signal.Signals) -> None:
        loop.remove_signal_handler(number)
        worker.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop, number)
