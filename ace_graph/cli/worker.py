"""`worker`, `reflect` and `feedback`: learn from pending turns, from one trajectory, from feedback.

The offline tutor never takes the place of a model here; only `feedback` works without one.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TypeVar

from ace_graph.background.learn_job import LearnJob
from ace_graph.background.learn_pending import PendingOutcome
from ace_graph.background.process_item import ItemOutcome
from ace_graph.background.worker import Worker, build_worker, learning_resources
from ace_graph.cleaning.schedule import memory_cleaning, run_jobs
from ace_graph.cli.app import print_notice
from ace_graph.cli.cluster import executor_for
from ace_graph.cli.environment import load_settings
from ace_graph.cli.passes import settings_with
from ace_graph.cli.store_access import on_trajectories
from ace_graph.cli.terminal import learning_summary, print_json, printable
from ace_graph.errors import ModelNotConfigured, UsageError
from ace_graph.memory.clock import utc_now
from ace_graph.memory.evidence import Verdict
from ace_graph.memory.stores.base import PendingStore, Store
from ace_graph.models import choose_model, close_model, make_model
from ace_graph.resources import Resources
from ace_graph.settings import Settings
from ace_graph.stores import check_store, open_store
from ace_graph.trajectories.feedback import FeedbackGiven, give_feedback, reflect_on

__all__ = ["feedback", "reflect", "run_worker"]

logger = logging.getLogger("ace_graph")

T = TypeVar("T")
_PART = 10
"""How many items a node is asked to learn from before it tells how they ended."""
_VERDICTS: dict[str, Verdict] = {"good": "success", "bad": "failure"}


def run_worker(url: str | None, concurrency: int, *, once: bool, on: str | None, debug: bool) -> int:
    """Work until told to stop, or with `once` until nothing is pending or leased. Return the exit code.

    With `on`, the nodes of a cluster learn first; what is left, such as the items of a node that died, is
    learned from here.
    """
    if on is not None and not once:
        raise UsageError("--on is for work that ends: add --once, or start a worker on each machine")
    settings = load_settings(debug=debug)
    choice = choose_model(settings)
    ends = Counter[str]() if on is None else _learned_on_nodes(url, concurrency, on)

    def count(done: ItemOutcome) -> None:
        ends[done.status] += 1

    async def work() -> None:
        async with open_store(url, settings=settings) as store:
            await check_store(store)
            model = make_model(settings)
            try:
                worker = build_worker(
                    model=model, store=store, settings=settings, concurrency=concurrency, on_learned=count
                )
                _stop_on_signals(worker)
                logger.info("[ACE Worker] model=%s store=%s: at work", choice, store.name)
                await (worker.drain() if once else _run(worker, store, settings))
            finally:
                await close_model(model)

    asyncio.run(work())
    summary = ", ".join(f"{end} {ends[end]}" for end in sorted(ends)) or "nothing was pending"
    if once:
        print_notice(f"worker: {summary}")
    else:
        logger.info("[ACE Worker] stopped: %s", summary)
    return 0


def _learned_on_nodes(url: str | None, concurrency: int, on: str) -> Counter[str]:
    """Let the nodes learn from what is pending now; return how many items ended how."""
    settings, ends = settings_with(url), Counter[str]()
    with executor_for(on, settings.store_url) as executor:
        waiting = asyncio.run(_count_pending(settings))
        parts = [_PART] * (waiting // _PART) + [waiting % _PART] * (waiting % _PART > 0)

        def take(learned: Counter[str]) -> None:
            ends.update(learned)
            print_notice(f"worker: {ends.total()} of {waiting}")

        asyncio.run(executor.run(LearnJob(settings), iter(parts), take, concurrency=concurrency))
    return ends


async def _count_pending(settings: Settings) -> int:
    async with open_store(settings=settings) as store:
        return (await store.count_pending()).pending


async def _run(worker: Worker, store: Store, settings: Settings) -> None:
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


def reflect(url: str | None, learner: str, trajectory_id: str, *, as_json: bool, debug: bool) -> int:
    """Learn from one trajectory now; a dead letter is tried again. 1 where it could not be learned from."""
    settings = load_settings(debug=debug)
    choose_model(settings)
    done = _with_model(
        url, settings, lambda resources, store: reflect_on(learner, trajectory_id, resources, store)
    )
    if as_json:
        print_json(
            {
                "trajectory_id": trajectory_id,
                "status": done.status,
                "learning": dict(done.learning) if done.learning else None,
                "error": done.error,
            }
        )
    elif done.learning is not None:
        print(learning_summary(done.learning))
    if done.status != "done":
        print_notice(f"not learned: {printable(done.error or 'a worker is at it')}")
    return int(done.status != "done")


def feedback(
    url: str | None, learner: str, trajectory_id: str, verdict: str, text: str, *, as_json: bool, debug: bool
) -> int:
    """Judge a trajectory; learn from it now where learning is inline and there is a model."""
    if verdict not in _VERDICTS:
        raise UsageError(f"{verdict[:40]!r} is no verdict: say good or bad")
    settings = load_settings(debug=debug)
    given = on_trajectories(
        url, lambda store: give_feedback(store, learner, trajectory_id, _VERDICTS[verdict], text)
    )
    outcome = _learned_now(url, settings, learner, given)
    if as_json:
        print_json(
            {
                "trajectory_id": trajectory_id,
                "verdict": _VERDICTS[verdict],
                "tagged": list(given.commit.report.tagged),
                "score_before": given.before,
                "score_after": given.after,
                "pending": given.pending_id if outcome is None or outcome.status != "done" else None,
            }
        )
        return 0
    print(f"Noted. Voted on {', '.join(given.commit.report.tagged) or 'no bullet'}.")
    if outcome is not None and outcome.learning is not None:
        print(learning_summary(outcome.learning))
    elif given.pending_id is not None:
        print("A worker will learn from it, or: ace-graph reflect ID")
    return 0


def _learned_now(
    url: str | None, settings: Settings, learner: str, given: FeedbackGiven
) -> PendingOutcome | None:
    pending_id = given.pending_id
    if pending_id is None or settings.learning not in (None, "inline"):
        return None
    try:
        choose_model(settings)
    except ModelNotConfigured:
        return None
    return _with_model(
        url, settings, lambda resources, store: reflect_on(learner, pending_id, resources, store)
    )


def _with_model(
    url: str | None, settings: Settings, job: Callable[[Resources, PendingStore], Awaitable[T]]
) -> T:
    async def work() -> T:
        async with open_store(url, settings=settings) as opened:
            model = make_model(settings)
            try:
                resources, store = learning_resources(model=model, store=opened, settings=settings)
                return await job(resources, store)
            finally:
                await close_model(model)

    return asyncio.run(work())
