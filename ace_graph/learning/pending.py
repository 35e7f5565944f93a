"""Working on one claimed item: reflect, curate, commit under the item's op id; or a consolidation, a dream.

The effect happens at most once, because a commit with the same op id changes nothing the second time. So a
worker may be killed at any point, and two may work on one item. `worker` and `learn_pending` claim items.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import TracebackType
from typing import Literal, Self

from langgraph.runtime import Runtime

from ace_graph.agent.context import ACEContext
from ace_graph.agent.models.call import Usage
from ace_graph.agent.resources import Resources
from ace_graph.agent.runtime import Run, logger
from ace_graph.agent.state import Learning
from ace_graph.base.clock import Sleep
from ace_graph.base.errors import AceError, LearnerForgotten, PlaybookChanged, PlaybookNotFound, StoreError
from ace_graph.base.prices import cost_of
from ace_graph.learning.dreaming import accept_dream, dream
from ace_graph.learning.learn_into import (
    deliver,
    find_destination,
    lessons_for,
    only_lessons,
    without_lessons,
)
from ace_graph.learning.pipeline import LearningPass, LearningResult, committed, learn_from
from ace_graph.learning.tasks import PendingWork, read_work
from ace_graph.learning.turn_record import model_name
from ace_graph.memory.commit import Amend, PendingItem
from ace_graph.memory.consolidation import RUN, ConsolidationWork, read_consolidation
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.dream import supported
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.store import Store
from ace_graph.memory.trajectory import TrajectoryFilter, with_cost, with_reflections
from ace_graph.memory.turn import LearnedInto, TurnRecord
from ace_graph.playbooks.consolidation import consolidate


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


# A claimed item that asks for a consolidation, or for a dream: do that, then complete the item.
#
# Every batch is a commit of its own under an id that follows from the run's. A worker that is killed in
# between leaves the item; whoever claims it next goes on after the last batch that was stored.


async def consolidate_item(
    item: PendingItem, work: ConsolidationWork, store: Store, resources: Resources
) -> None:
    """Run the consolidation, by rules. A playbook that was deleted meanwhile, or has another version than
    the one that was asked for, leaves nothing to do.

    Or dream; what ACE_DREAM_ACCEPTS lets a rule accept is accepted. Raises LearnerForgotten, and what the
    store raises.
    """
    if (await store.load(item.learner_id)).absent:
        raise LearnerForgotten("the learner was forgotten before the work began")
    if work.work == "dream":
        asked, fewest = (store, item.learner_id), resources.settings.dream_accepts
        made = await dream(*asked, embeddings=resources.embeddings, clock=resources.clock)
        by_rule = [each.item_id for each in made.open if fewest is not None and supported(each, fewest)]
        if by_rule:
            await accept_dream(*asked, item_ids=by_rule, clock=resources.clock)
        logger.info(
            "[ACE Worker] dream %s: %d changes, %d accepted", made.dream_id, len(made.open), len(by_rule)
        )
        return
    try:
        done = await consolidate(
            store,
            work.name,
            item.learner_id,
            work.options(store.policy.consolidate_batch),
            run_id=item.pending_id,
            now=resources.clock(),
            expected_etag=work.expected_etag,
        )
    except (PlaybookChanged, PlaybookNotFound) as error:
        why = "has another version by now" if isinstance(error, PlaybookChanged) else "is not there any more"
        logger.info("[ACE Worker] consolidation %s: the playbook %s", item.pending_id, why)
        return
    logger.info(
        "[ACE Worker] consolidation %s: merged %d into %d, refused %d, left %d",
        item.pending_id,
        done.merged,
        len(done.groups),
        len(done.refused),
        done.left,
    )


AUTHOR = "ace_worker"
ItemStatus = Literal["learned", "consolidated", "dreamed", "repeated", "failed", "dead", "forgotten", "lost"]


_DONE: dict[Literal["consolidate", "dream"], ItemStatus] = {"consolidate": "consolidated", "dream": "dreamed"}


@dataclass(frozen=True)
class ItemOutcome:
    """What became of an item.

    learned    committed now; `learning` says what changed
    consolidated  it was a consolidation, which is done; `consolidation.run_state` says what it merged
    dreamed    it was a dream, which waits for a decision now
    repeated   it was committed before; nothing changed
    failed     `error` says why; it is pending again from `retry_at` on
    dead       it failed too often; a dead letter until somebody retries it
    forgotten  the learner was forgotten meanwhile; nothing is stored
    lost       another worker has claimed it, or it was deleted with its learner
    """

    learner_id: str
    pending_id: str
    turn_id: str
    status: ItemStatus
    learning: Learning | None = None
    error: str | None = None
    retry_at: datetime | None = None


def is_delivery(item: PendingItem) -> bool:
    """Whether an item only takes a turn's lessons to a named playbook, which calls no model."""
    try:
        return read_consolidation(item) is None and read_work(item.body).undelivered is not None
    except AceError:
        return False  # whoever works on it will say what is wrong with it


async def process_item(
    item: PendingItem,
    store: Store,
    resources: Resources,
    terms: RetryPolicy,
    sleep: Sleep = asyncio.sleep,
) -> ItemOutcome:
    """Work on an item that the caller has claimed on `store`, and complete or release it.

    Raises StoreError only when the store can't release the item either; then its lease runs out. A
    cancelled call releases the item at once.
    """
    clock = resources.clock
    if item.attempts > terms.max_attempts:
        why = item.error or "every worker that claimed it stopped before the end"
        return await _failed(item, store, f"given up: {why}", None)
    lease = Lease(store, item, seconds=terms.lease_seconds, clock=clock, sleep=sleep)
    try:
        consolidation = read_consolidation(item)
        if consolidation is None:
            async with lease:
                work = read_work(item.body)
                context = ACEContext(
                    learner_id=item.learner_id,
                    max_reflection_rounds=work.max_reflection_rounds,
                    model=work.model,
                    temperature=work.temperature,
                    learn_into=work.learn_into if work.curates else None,
                    teams=work.teams,
                    agent=work.agent,
                )
                run = Run(resources, context, item.learner_id, Runtime(context=context))
                base = await _base_of(item, store, resources)
                # The last try keeps the lessons in the own memory rather than fail with the other store
                late = item.attempts < terms.max_attempts
                result, learned_into = await _learn(work, base, run, item.pending_id, late=late)
            return await _commit(item, store, base, result, learned_into, run)
        async with lease:
            await consolidate_item(item, consolidation, store, resources)
        # Complete the item in a commit that changes nothing else
        delta = Delta(
            op_id=item.pending_id,
            now=clock(),
            operations=(),
            author=AUTHOR,
            reason=f"{_DONE[consolidation.work]} in the background",
            source=item.turn_id,
        )
        commit = await store.commit(item.learner_id, delta, await store.load(item.learner_id), None, item)
        resources.cache.put(item.learner_id, commit.snapshot)
        return _ended(item, _DONE[consolidation.work] if commit.status == "applied" else "repeated")
    except LeaseLost:
        return _ended(item, "lost")
    except LearnerForgotten:
        resources.cache.drop(item.learner_id)
        return _ended(item, "forgotten")
    except AceError as error:
        logger.warning("[ACE Worker] %s: %s", subject(item.turn_id), error)
        return await _failed(item, store, str(error), terms.retry_at(item.attempts, clock()))
    except asyncio.CancelledError:
        await _release(item, store, clock)
        raise
    except Exception as error:
        logger.exception("[ACE Worker] %s failed", subject(item.turn_id))
        why = f"{type(error).__name__}: {error}"
        return await _failed(item, store, why, terms.retry_at(item.attempts, clock()))


def subject(turn_id: str) -> str:
    """Return how log lines name the turn of an item, or the consolidation that it is."""
    return turn_id if turn_id.startswith(RUN) else f"turn {turn_id}"


async def _base_of(item: PendingItem, store: Store, resources: Resources) -> Snapshot:
    """Return the memory to learn onto: read, unless this process knows it with the item's turn.

    What came later from elsewhere is met at the commit, as after a read. A repeated attempt reads.
    """
    known = resources.cache.get(item.learner_id)
    if known is not None and item.attempts <= 1 and _has_turn(known, item.turn_id):
        return known
    base = await store.load(item.learner_id, known)
    resources.cache.put(item.learner_id, base)
    return base


def _has_turn(snapshot: Snapshot, turn_id: str) -> bool:
    return any(turn.turn_id == turn_id for turn in snapshot.access.recent_turns)


async def _learn(
    work: PendingWork, base: Snapshot, run: Run, pending_id: str, *, late: bool
) -> tuple[LearningResult, LearnedInto | None]:
    """Learn from the tasks; return what is for the own memory, and where lessons for a named playbook went.

    They go there first: the commit to the own memory deletes the item, so after a crash in between both are
    repeated, and a playbook that knows the op id changes nothing. What it did not take is in the result.
    """
    if base.absent:
        raise LearnerForgotten("the learner was forgotten before the work began")
    destination = await find_destination(run, late=late)
    if (turns := work.undelivered) is not None:
        if destination is None:
            return LearningResult(turns.operations), None
        delivery = await deliver(destination, turns.lessons, turns.learned, turns.op_id, run, late=late)
        return LearningResult(only_lessons(turns.operations, delivery.left)), delivery.report
    elsewhere = destination is not None and destination.playbook is not None
    how, result = LearningPass(run, pending_id, late=True, elsewhere=elsewhere), LearningResult()
    for task in work.looks:
        result += await learn_from(task, base, how, first_ref=result.next_ref)
    if not work.curates:
        return replace(result, operations=()), None
    if destination is None or not result.lessons:
        return result, None
    lessons = await lessons_for(destination, result.operations, result.lessons)
    delivery = await deliver(destination, lessons, len(result.lessons), pending_id, run, late=late)
    gone = {each.ref or "" for each in lessons} - delivery.left
    return replace(result, operations=without_lessons(result.operations, gone)), delivery.report


async def _commit(
    item: PendingItem,
    store: Store,
    base: Snapshot,
    result: LearningResult,
    learned_into: LearnedInto | None,
    run: Run,
) -> ItemOutcome:
    analyzed = () if await _is_counted(item, store, base) else result.analyzed
    delta = Delta(
        op_id=item.pending_id,
        now=run.resources.clock(),
        operations=(*result.operations, *analyzed),
        author=AUTHOR,
        reason="; ".join(part for part in ("learned in the background", result.reason) if part),
        source=item.turn_id,
        origin="turn",
    )
    model = model_name(run)  # here, because a store may amend in a thread of its own

    def learned_from(turn: TurnRecord) -> TurnRecord:
        """The turn's record with what came of learning from it, and what that cost."""
        if learned_into is not None:
            turn = turn.model_copy(update={"learned_into": learned_into})
        spent = sum(result.usage.values(), Usage())
        tokens = spent.input_tokens, spent.output_tokens
        cost = cost_of(model, *tokens, run.resources.settings.prices)
        return with_cost(with_reflections(turn, result.reflections), spent.calls, tokens, cost)

    newest = run.resources.cache.newest(item.learner_id, base)
    amend = Amend(item.turn_id, learned_from, missing_ok=True)
    commit = await store.commit(item.learner_id, delta, newest, amend, item)
    run.resources.cache.put(item.learner_id, commit.snapshot)
    learning = committed(item.turn_id, newest, commit, result, run, learned_into=learned_into)
    return _ended(item, "learned" if commit.status == "applied" else "repeated", learning)


async def _is_counted(item: PendingItem, store: Store, base: Snapshot) -> bool:
    """Whether the item's turn was reflected on before. Recent turns are not asked for: they count once."""
    if _has_turn(base, item.turn_id):
        return False
    wanted = TrajectoryFilter(turn_id=item.turn_id)
    found = await store.find_turns(item.learner_id, wanted, limit=1)
    return any(not each.fallback for turn in found for each in turn.reflections)


async def _failed(item: PendingItem, store: Store, why: str, retry_at: datetime | None) -> ItemOutcome:
    if not await store.fail(item, why, retry_at):
        return _ended(item, "lost")
    if retry_at is None:
        logger.error("[ACE Worker] %s is a dead letter: %s", subject(item.turn_id), why)
    status: ItemStatus = "dead" if retry_at is None else "failed"
    return _ended(item, status, error=why, retry_at=retry_at)


async def _release(item: PendingItem, store: Store, clock: Callable[[], datetime]) -> None:
    """Release the item at once, so that nobody waits for the lease of a worker that was stopped.

    It does not count as an attempt: a service that is restarted often must not make dead letters.
    """
    uncounted = item.model_copy(update={"attempts": max(0, item.attempts - 1)})
    try:
        await asyncio.shield(store.fail(uncounted, "the worker was stopped", clock()))
    except StoreError as error:
        logger.warning("[ACE Worker] the item could not be released: %s", error)


def _ended(
    item: PendingItem,
    status: ItemStatus,
    learning: Learning | None = None,
    *,
    error: str | None = None,
    retry_at: datetime | None = None,
) -> ItemOutcome:
    return ItemOutcome(item.learner_id, item.pending_id, item.turn_id, status, learning, error, retry_at)
