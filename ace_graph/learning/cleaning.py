"""Deletes what is stored and old: traces, turn records and deltas, of one learner or of all."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from random import Random

from ace_graph.base.clock import Sleep
from ace_graph.base.errors import AceError, CommitContention, CorruptPayload, NewerFormat
from ace_graph.base.retention import Retention
from ace_graph.base.settings import Settings
from ace_graph.learning.reflection import every_turn
from ace_graph.memory.commit import Amend
from ace_graph.memory.record_retention import START, Cleaned
from ace_graph.memory.stores.base import pages
from ace_graph.memory.stores.store import KeyedStore, Store
from ace_graph.memory.trajectory import TrajectoryFilter, without_steps
from ace_graph.memory.turn import TurnRecord
from ace_graph.playbooks.versions import keep_versions

# Deletes what is older than its retention: steps, turn records and deltas, of one learner or of all.
#
#     result = await clean_learners(store, Retention(), datetime.now(UTC))  # safe to repeat and to interrupt
#
# A pass goes from learner to learner and deletes a bounded batch in each transaction, with a pause after
# it, so that no other writer waits for it.


logger = logging.getLogger("ace_graph")
RETENTION_DAYS = 30.0
BATCH = 200
PAUSE_SECONDS = 0.02


@dataclass(frozen=True)
class CleaningResult:
    """What a pass did: learners visited, learners or playbooks that it could not clean, and what it deleted.

    `versions` counts versions of named playbooks whose content was dropped.
    """

    learners: int = 0
    failed: int = 0
    cleaned: Cleaned = Cleaned()  # noqa: RUF009  a frozen value
    versions: int = 0


async def clean_learners(
    store: Store,
    retention: Retention,
    now: datetime,
    *,
    learner_id: str | None = None,
    dry_run: bool = False,
    sleep: Sleep = asyncio.sleep,
    on_learner: Callable[[int], None] = lambda _: None,
) -> CleaningResult:
    """Clean all learners, or one, as `retention` says at `now`; with `dry_run` count what would go.

    Then old versions of their named playbooks are dropped, as the store's policy says.

    A learner whose rows can't be read is passed over, logged and counted. `on_learner` is called with the
    number of learners done. Raises StoreUnavailable and what else the store raises for all of them.
    """
    cutoffs, result = retention.cutoffs(now), CleaningResult()
    async for learner in learner_ids(store, learner_id):
        failed, cleaned = 0, Cleaned()
        try:
            cleaned = Cleaned(next=START)
            while cleaned.next is not None:
                one = await store.clean(learner, cutoffs, cleaned.next, most=BATCH, dry_run=dry_run)
                cleaned += one
                if one.steps or one.turns or one.deltas:
                    await sleep(PAUSE_SECONDS)
        except (CorruptPayload, NewerFormat, CommitContention) as error:
            failed = 1
            logger.warning("[ACE Memory] a learner was not cleaned: %s", error)
        result = CleaningResult(result.learners + 1, result.failed + failed, result.cleaned + cleaned)
        on_learner(result.learners)
    # Drop old versions of the named playbooks, of all owners or of one
    failed = versions = 0
    async for playbook_id in _playbook_ids(store, learner_id):
        try:
            versions += await keep_versions(store, playbook_id, now, dry_run=dry_run)
        except (CorruptPayload, NewerFormat, CommitContention) as error:
            failed += 1
            logger.warning("[ACE Memory] old versions of a playbook were not dropped: %s", error)
    return replace(result, failed=result.failed + failed, versions=versions)


async def _playbook_ids(store: Store, owner: str | None) -> AsyncIterator[str]:
    if owner is None:
        async for playbook_id in learner_ids(store.playbooks):
            yield playbook_id
        return
    async for entry in pages(partial(store.playbooks.entries, owner), lambda last: last.name_key):
        yield entry.playbook_id


async def learner_ids(store: KeyedStore, only: str | None = None) -> AsyncIterator[str]:
    """Yield the ids of all learners of a store, or `only` that one."""
    if only is not None:
        yield only
        return
    async for found in pages(store.learners, lambda last: last.learner_id):
        yield found.learner_id


@dataclass(frozen=True)
class Trimmed:
    """The ids of turns whose steps were deleted, and of those old enough but not reflected on."""

    trimmed: tuple[str, ...]
    unreflected: tuple[str, ...]


async def trim_trajectories(
    store: Store, learner_id: str, now: datetime, days: float = RETENTION_DAYS
) -> Trimmed:
    """Drop the steps of what was completed more than `days` ago and reflected on. Safe to repeat."""
    old = TrajectoryFilter(until=now - timedelta(days=days))
    gone, kept = list[str](), list[str]()

    def trimmed(turn: TurnRecord) -> TurnRecord:
        return without_steps(turn, "retention") if turn.steps and turn.reflections else turn

    async for turn in every_turn(store, learner_id, old):
        if turn.steps and turn.reflections:
            await store.amend(learner_id, Amend(turn.turn_id, trimmed))
            gone.append(turn.turn_id)
        elif turn.steps:
            kept.append(turn.turn_id)
    return Trimmed(tuple(gone), tuple(kept))


# Runs the periodic jobs of a server or a worker, such as cleaning the memory.
#
#     async with run_jobs([memory_cleaning(store, settings, clock, sleep)], sleep):
#         ...                                    # serve, or work
#
# Of all processes on a store one cleans, every six hours; the store decides which.


INTERVAL_SECONDS = 6 * 3600.0
CHECK_SECONDS = 600.0
FIRST_CHECK_SECONDS = 60.0
PeriodicJob = Callable[[], Awaitable[None]]
"""Does its work if it is due, otherwise nothing."""


def memory_cleaning(
    store: Store, settings: Settings, clock: Callable[[], datetime], sleep: Sleep
) -> PeriodicJob:
    """Return the job of cleaning a store."""

    async def clean() -> None:
        now = clock()
        if not await store.begin_cleaning(now, INTERVAL_SECONDS):
            return
        result = await clean_learners(store, settings.retention, now, sleep=sleep)
        logger.info(
            "[ACE Memory][Clean] learners=%d steps=%d turns=%d deltas=%d unreflected=%d failed=%d",
            result.learners,
            result.cleaned.steps,
            result.cleaned.turns,
            result.cleaned.deltas,
            result.cleaned.unreflected,
            result.failed,
        )

    return clean


@asynccontextmanager
async def run_jobs(
    jobs: Sequence[PeriodicJob], sleep: Sleep, chance: Callable[[], float] | None = None
) -> AsyncGenerator[None]:
    """Run the jobs now and then until the block ends; a cleaning that is under way stops between two batches.

    Each job has a task of its own, so that a long one delays no other. It waits a random time at first and
    between two checks, so that servers started together do not check at once. `chance` gives numbers from 0
    to 1.
    """
    draw = chance or Random().random  # noqa: S311  the program's own generator may be seeded, or watched by its tests

    async def repeat(job: PeriodicJob) -> None:
        await sleep(FIRST_CHECK_SECONDS * draw())
        while True:
            await try_job(job, "cleaning failed", "cleaning")
            await sleep(CHECK_SECONDS * (0.5 + draw()))

    async with in_background([repeat(job) for job in jobs], "ace-periodic-job"):
        yield


@asynccontextmanager
async def in_background(works: Iterable[Coroutine[object, object, None]], name: str) -> AsyncGenerator[None]:
    """Run each work in a task of its own until the block ends."""
    tasks = [asyncio.create_task(work, name=name) for work in works]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def try_job(job: PeriodicJob, failed: str, what: str) -> None:
    """Do the work of a job, and log what it raises: it must go on whatever happens."""
    try:
        await job()
    except AceError as error:
        logger.warning("[ACE Memory] %s, it is tried again: %s", failed, error)
    except Exception as error:
        # Only the class is logged: the text may hold content.
        logger.error("[ACE Memory] %s: unexpected %s", what, type(error).__name__)  # noqa: TRY400
        logger.debug("[ACE Memory] where it came from", exc_info=error)
