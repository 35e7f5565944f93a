"""Work outside the graph: recorded, executed and judged."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from typing import Literal, cast
from uuid import uuid4

from pydantic import JsonValue, ValidationError

from ace_graph.base.clock import utc_now
from ace_graph.base.errors import ChangeRefused, TrajectoryNotFound, UsageError, unknown
from ace_graph.base.prices import Price, cost_of
from ace_graph.base.retention import Tracing
from ace_graph.base.settings import Settings
from ace_graph.base.text import truncate
from ace_graph.learning.curator import judge_bullets
from ace_graph.memory.commit import Amend, Pending, PendingItem, PendingState, operation_id, playbook_at
from ace_graph.memory.delta.effect import Put
from ace_graph.memory.delta.operations import Delta, Operation
from ace_graph.memory.delta.rollback import rollback_to, undo_of
from ace_graph.memory.evidence import Evidence, EvidenceSource
from ace_graph.memory.stores.store import Store
from ace_graph.memory.trajectory import TrajectoryFilter, TrajectoryOutcome, completed, deleted, with_step
from ace_graph.memory.trust import Lift, Trial, counted, lift, pooled
from ace_graph.memory.turn import (
    MAX_STEP_CHARS,
    MAX_TASK_CHARS,
    PlaybookRead,
    Step,
    StepKind,
    TurnRecord,
    TurnStatus,
)

# Trajectories of work outside the graph: any program's task, its steps, its outcome, and learning from it.
#
#     trajectory_id = await start_trajectory(store, "alice", "Fetch the invoices", agent="crawler")
#     await log_step(store, "alice", trajectory_id, "action", "GET /invoices", {"page": 1})
#     await complete_trajectory(store, "alice", trajectory_id, "failure", Completion(error="429"))
#
# `execute_with_learning` does all three around a function of yours. A trajectory survives a restart, and
# another process can add steps to it and complete it. A completed one is closed: a late step and a second
# outcome are refused. The graph records its own turns without this module.


AUTHOR = "trajectory"
MAX_METADATA_CHARS = 4_000
_STATUSES = ("success", "failure", "partial")
_MOST = 2**53
"""The largest number that every reader of JSON takes exactly."""


@dataclass(frozen=True)
class Completion:
    """What is known of a trajectory when it ends, beside its status.

    `score` is in [0, 1], `cost` in a currency of yours, `metrics` any JSON. Three metrics stand for fields
    that are not given (document 004, 3.1): `tokens`, all counted as input, `cost_usd`, and `duration_ms`,
    which is else measured from the start. `cited` names the bullets that were followed: they are credited or
    blamed. Without `evidence` the status itself is evidence, from
    `source`: by default the learner, so that later feedback may correct it; with None there is no evidence.
    `learns`: a worker reflects on it; `curates`: its lessons reach the playbook, and votes are counted.
    `learn_into`: the named playbook that its lessons go to, as name or owner/name, as far as the learner may.
    """

    score: float | None = None
    error: str | None = None
    metrics: Mapping[str, JsonValue] | None = None
    answer: str = ""
    evidence: Sequence[Evidence] = ()
    cited: Sequence[str] = ()
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    duration_ms: float | None = None
    model: str | None = None
    learns: bool = True
    curates: bool = True
    learn_into: str | None = None
    source: EvidenceSource | None = "learner"


async def start_trajectory(
    store: Store,
    learner_id: str,
    task: str,
    *,
    agent: str = "host",
    task_type: str | None = None,
    parent_id: str | None = None,
    mode: str = "task",
    injected: Sequence[str] = (),
    playbooks: Sequence[PlaybookRead] = (),
    trajectory_id: str | None = None,
    unattributed: bool = False,
    clock: Callable[[], datetime] = utc_now,
    new_id: Callable[[], str] = lambda: uuid4().hex,
) -> str:
    """Store a trajectory in progress and return its id; with a `trajectory_id` of yours, once.

    `injected` names the bullets that the agent was shown, `playbooks` the named playbooks that it was given.
    `unattributed`: who said what in it is not sure, so its lessons go to quarantine, where a person decides
    about them. Raises UsageError for a value out of its bounds, TrajectoryNotFound for a parent that is not
    there, and what the store raises.
    """
    if parent_id is not None:
        await get_trajectory(store, learner_id, parent_id)
    name, now = trajectory_id or new_id(), clock()
    with _explained():
        record = TurnRecord(
            turn_id=name,
            attempt_id=name,
            task=truncate(task, MAX_TASK_CHARS, show_length=True),
            mode=mode,
            agent=agent,
            task_type=task_type,
            parent_id=parent_id,
            status="in_progress",
            injected=tuple(injected),
            playbooks=tuple(playbooks),
            unattributed=unattributed,
            started_at=now,
        )
    await store.commit(learner_id, _delta(name, "start", now), await store.load(learner_id), record)
    return name


async def log_step(
    store: Store,
    learner_id: str,
    trajectory_id: str,
    kind: StepKind,
    text: str,
    metadata: Mapping[str, JsonValue] | None = None,
    *,
    step_id: str | None = None,
    clock: Callable[[], datetime] = utc_now,
    new_id: Callable[[], str] = lambda: uuid4().hex,
) -> TurnRecord:
    """Add a decision, an action or an observation; the same `step_id` again adds nothing.

    Steps keep the order of the calls. A text is cut at 1,000 characters; of more than 200 steps the first
    50 and the newest are kept. Raises TrajectoryNotFound, TrajectoryClosed, UsageError.
    """
    given = dict(metadata or {})
    if len(str(given)) > MAX_METADATA_CHARS:
        raise UsageError(f"the metadata of a step has at most {MAX_METADATA_CHARS} characters: shorten it")
    with _explained():
        step = Step(
            kind=kind,
            text=truncate(text, MAX_STEP_CHARS, show_length=True),
            metadata=given,
            at=clock(),
            step_id=step_id or new_id(),
        )
    return cast(
        "TurnRecord", await store.amend(learner_id, Amend(trajectory_id, lambda turn: with_step(turn, step)))
    )


async def complete_trajectory(
    store: Store,
    learner_id: str,
    trajectory_id: str,
    status: TurnStatus,
    completion: Completion = Completion(),
    *,
    tracing: Tracing | None = None,
    clock: Callable[[], datetime] = utc_now,
) -> str | None:
    """Store the outcome, with the votes and the work for a worker, in one transaction.

    `tracing` says whether its steps are kept; without one the environment does (ACE_TRACE_SAMPLE,
    ACE_TRACE_FAILURES). Returns the pending id, None where nothing is left to learn. Raises UsageError for a
    status other than success, failure or partial, for a score out of [0, 1] and for one of the three metrics
    that is no such number; TrajectoryNotFound; TrajectoryClosed when it is complete already: the first
    outcome stays; ConfigurationError.
    """
    if status not in _STATUSES:
        raise UsageError(unknown("outcome", status, _STATUSES))
    kept = tracing or Settings.load().tracing
    metrics = completion.metrics or {}
    tokens = int(_metric(metrics, "tokens") or 0)
    cost, duration = _metric(metrics, "cost_usd"), _metric(metrics, "duration_ms")
    turn, now = await get_trajectory(store, learner_id, trajectory_id), clock()
    with _explained():
        evidence = _evidence(status, completion, turn.agent)
        outcome = TrajectoryOutcome(
            status=status,
            score=completion.score,
            error=completion.error and truncate(completion.error, MAX_TASK_CHARS, show_length=True),
            metrics=completion.metrics,
            evidence=evidence,
            cited=completion.cited,
            input_tokens=completion.input_tokens or (0 if completion.output_tokens else tokens),
            output_tokens=completion.output_tokens,
            cost=cost if completion.cost is None else completion.cost,
            duration_ms=duration if completion.duration_ms is None else completion.duration_ms,
            model=completion.model,
            answer=truncate(completion.answer, MAX_TASK_CHARS, show_length=True),
        )
        ended = completed(turn, outcome, now, Tracing())  # with all its steps
    votes = votes_of(ended, evidence) if completion.curates else ()
    pending: Pending | None = None
    if completion.learns:
        from ace_graph.learning.tasks import PendingWork, task_of  # loads LangGraph

        task, into = task_of(ended, evidence), completion.learn_into
        work = PendingWork(looks=(task,), curates=completion.curates, learn_into=into)
        pending = work.as_pending(operation_id("trajectory", ended.turn_id, "learn"), ended.turn_id)
    base = await store.load(learner_id)
    amend = Amend(trajectory_id, lambda stored: completed(stored, outcome, now, kept))
    await store.commit(learner_id, _delta(trajectory_id, "complete", now, *votes), base, amend, pending)
    return pending.pending_id if pending else None


def _metric(metrics: Mapping[str, JsonValue], name: str) -> float | None:
    """Return a metric that stands for a field, None where it is not given. Raises UsageError."""
    value = metrics.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST:
        raise UsageError(f"metrics: {name} must be a number from 0 to {_MOST}")
    if name == "tokens" and value != int(value):
        raise UsageError("metrics: tokens must be a whole number")
    return value


async def get_trajectory(store: Store, learner_id: str, trajectory_id: str) -> TurnRecord:
    """Return the trajectory. Raises TrajectoryNotFound."""
    found = await store.find_turns(learner_id, TrajectoryFilter(turn_id=trajectory_id), limit=1)
    if not found:
        raise TrajectoryNotFound(f"there is no trajectory {trajectory_id}: trajectory list shows the ids")
    return found[0]


async def delete_trajectory(store: Store, learner_id: str, trajectory_id: str) -> None:
    """Delete a trajectory's content; its parts stay, without a parent. What was learned from it stays too.

    Raises TrajectoryNotFound.
    """
    await get_trajectory(store, learner_id, trajectory_id)

    def orphaned(turn: TurnRecord) -> TurnRecord:
        return turn.model_copy(update={"parent_id": None})

    while parts := await store.find_turns(learner_id, TrajectoryFilter(parent_id=trajectory_id)):
        for part in parts:
            await store.amend(learner_id, Amend(part.turn_id, orphaned))
    await store.amend(learner_id, Amend(trajectory_id, deleted))


async def take_back(
    store: Store, learner_id: str, turn_id: str, op_id: str, now: datetime
) -> tuple[str, ...]:
    """Take back what a turn taught, also what is still to be learned from it; its record stays.

    Return the bullets that stay as the turn left them, as something else has built on them since. Lessons in
    a named playbook stay there. Votes and insights are taken back where nothing has changed since the turn.
    """
    for item in await store.list_pending(learner_id, limit=1_000_000):
        if item.turn_id == turn_id:
            nothing = Delta(op_id=item.pending_id, now=now, operations=(), author=AUTHOR, source=turn_id)
            await store.commit(learner_id, nothing, await store.load(learner_id), None, item)
    base, history = await store.load(learner_id), await store.history(learner_id)
    own = [each for each in history.entries if each.source == turn_id and each.n > history.base_n]
    if not own:
        return ()
    before, operations, expected = playbook_at(history, own[0].n - 1), list[Operation](), None
    try:
        operations = [undo_of(history, entry.op_id) for entry in reversed(own)]
    except ChangeRefused:
        # It voted, or brought an insight: only all can go back, and only if nothing followed.
        if history.entries[-len(own) :] == tuple(own):
            operations, expected = [rollback_to(history, base, own[0].n - 1)], base.version.etag
    delta = Delta(
        op_id=op_id,
        now=now,
        operations=tuple(operations),
        author="learner",
        reason="the question was replaced",
        source=f"replaced:{turn_id}",
        expected_etag=expected,
    )
    done = (await store.commit(learner_id, delta, base)).snapshot.playbook.entries
    put = {
        change.bullet.id
        for entry in own
        if entry.effect is not None
        for change in entry.effect.changes
        if isinstance(change, Put)
    }
    return tuple(name for name, bullet in done.items() if name in put and bullet != before.entries.get(name))


def _delta(trajectory_id: str, purpose: str, now: datetime, *operations: Operation) -> Delta:
    op_id = operation_id("trajectory", trajectory_id, purpose)
    return Delta(op_id=op_id, now=now, operations=operations, author=AUTHOR, source=trajectory_id)


def _evidence(status: TurnStatus, completion: Completion, agent: str) -> tuple[Evidence, ...]:
    if completion.evidence or completion.source is None:
        return tuple(completion.evidence)
    text = truncate(completion.error or f"the task ended as {status}", 1_900, show_length=True)
    verdict = "unknown" if status == "in_progress" else status
    return (
        Evidence(
            source=completion.source, verdict=verdict, score=completion.score, text=text, by=agent[:256]
        ),
    )


def votes_of(turn: TurnRecord, evidence: Sequence[Evidence]) -> tuple[Operation, ...]:
    """Return the votes of evidence on the bullets that a trajectory was given or cites."""
    injected = tuple(dict.fromkeys((*turn.injected, *turn.cited)))
    return tuple(judge_bullets(turn.turn_id, evidence, injected=injected, cited=turn.cited))


@contextmanager
def _explained() -> Generator[None]:
    """Raise a UsageError that names the value in place of pydantic's ValidationError."""
    try:
        yield
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "trajectory"
        raise UsageError(f"{where}: {first['msg'][:1].lower()}{first['msg'][1:]}") from error


Standing = PendingState | Literal["learned"]


@dataclass(frozen=True)
class ListedTrajectory:
    """A record, and the work of learning from it that is left, if any: a dead letter before others."""

    turn: TurnRecord
    item: PendingItem | None = None

    @property
    def standing(self) -> Standing | None:
        """Whether it was learned from, or how the work of it stands; None where there is none."""
        if self.item is not None:
            return self.item.state
        return "learned" if self.turn.reflections else None


async def list_trajectories(
    store: Store,
    learner_id: str,
    wanted: TrajectoryFilter,
    *,
    failed: bool = False,
    learning: PendingState | None = None,
    limit: int = 50,
    skip: int = 0,
) -> list[ListedTrajectory]:
    """Return the trajectories that are wanted, the newest first.

    With `failed` only those that failed, and those that could not be learned from; with `learning` only those
    whose learning waits, or has failed too often, the newest work first. Raises what the store raises.
    """
    items = await _items(store, learner_id)
    if learning is not None:
        work = sorted(items.values(), key=lambda item: item.created_at, reverse=True)
        names = [item.turn_id for item in work if item.state == learning]
        waiting = await _turns(store, learner_id, wanted, names[skip : skip + limit])
        return [ListedTrajectory(turn, items[turn.turn_id]) for turn in waiting]
    if not failed:
        turns = await store.find_turns(learner_id, wanted, limit=limit, skip=skip)
        return [ListedTrajectory(turn, items.get(turn.turn_id)) for turn in turns]
    most = limit + skip
    failures = await store.find_turns(learner_id, replace(wanted, status="failure"), limit=most)
    rows = {turn.turn_id: turn for turn in failures}
    dead = [turn_id for turn_id, item in items.items() if item.state == "dead"]
    rows |= {turn.turn_id: turn for turn in await _turns(store, learner_id, wanted, dead)}
    newest = sorted(rows.values(), key=lambda turn: turn.started_at, reverse=True)
    return [ListedTrajectory(turn, items.get(turn.turn_id)) for turn in newest[skip:most]]


async def listed_trajectory(store: Store, learner_id: str, trajectory_id: str) -> ListedTrajectory:
    """Return one trajectory. Raises TrajectoryNotFound."""
    turn = await get_trajectory(store, learner_id, trajectory_id)
    return ListedTrajectory(turn, (await _items(store, learner_id)).get(turn.turn_id))


async def _turns(
    store: Store, learner_id: str, wanted: TrajectoryFilter, names: Iterable[str]
) -> list[TurnRecord]:
    found = [await store.find_turns(learner_id, replace(wanted, turn_id=name), limit=1) for name in names]
    return [turn for turns in found for turn in turns]


async def _items(store: Store, learner_id: str) -> dict[str, PendingItem]:
    """What is pending by turn, a dead letter before one that waits."""
    items = await store.list_pending(learner_id, limit=10_000)
    return {item.turn_id: item for item in sorted(items, key=lambda item: item.state == "dead")}


# What a learner's turns came to, by the day or the week: the memory's lift, tokens, cost; and what waits.
#
# The lift of a single day rests on few turns, so each period also has that of all turns up to its end.


MAX_TURNS = 2_000
"""The most records that are read, the newest."""
_MAX_ITEMS = 10_000
Unit = Literal["day", "week"]


@dataclass(frozen=True)
class PeriodFigures:
    """The turns that were completed in one day, or one week from Monday, in UTC; `start` is its first day.

    `success_rate` is that of the turns that were judged, None without one. `cost` is in the currency of the
    prices; `unpriced` counts the turns with tokens whose cost is unknown. `lift` is that of these turns,
    `lift_so_far` that of all turns that were read up to the end of the period, both None where a side has no
    judged turn.
    """

    start: date
    turns: int
    success_rate: float | None
    input_tokens: int
    output_tokens: int
    cost: float
    unpriced: int
    lift: Lift | None
    lift_so_far: Lift | None


@dataclass(frozen=True)
class LearnerFigures:
    """A learner's figures. `lift` is that of all turns there ever were; `periods` are those with turns.

    Without `complete` there were more turns in the time than are read. `pending` and `dead` count the work of
    learning that waits, and that has failed too often.
    """

    lift: Lift | None
    periods: tuple[PeriodFigures, ...]
    complete: bool
    pending: int
    dead: int


async def read_figures(
    store: Store,
    learner_id: str,
    *,
    since: datetime,
    unit: Unit = "day",
    prices: Sequence[Price] = (),
) -> LearnerFigures:
    """Return the figures of the turns that were completed since a moment.

    Three reads: the memory, the turns, what is pending. Raises what the store raises.
    """
    snapshot = await store.load(learner_id)
    turns = await store.find_turns(learner_id, TrajectoryFilter(since=since), limit=MAX_TURNS + 1)
    items = await store.list_pending(learner_id, limit=_MAX_ITEMS)
    dead = sum(item.state == "dead" for item in items)
    return LearnerFigures(
        lift=lift(snapshot.access.trial),
        periods=periods_of(turns[:MAX_TURNS], unit, prices),
        complete=len(turns) <= MAX_TURNS,
        pending=len(items) - dead,
        dead=dead,
    )


def periods_of(
    turns: Iterable[TurnRecord], unit: Unit = "day", prices: Sequence[Price] = ()
) -> tuple[PeriodFigures, ...]:
    """Return the figures of completed turns by the day or week, the oldest first; others are left out."""
    dated = list[tuple[date, TurnRecord]]()
    for turn in turns:
        if turn.completed_at is not None:
            day = turn.completed_at.astimezone(UTC).date()
            dated.append((day if unit == "day" else day - timedelta(days=day.weekday()), turn))
    dated.sort(key=lambda each: each[0])
    found, so_far = list[PeriodFigures](), Trial()
    for start, group in groupby(dated, key=lambda each: each[0]):
        within = [turn for _, turn in group]
        trial = pooled(counted(turn.recent()) for turn in within)
        so_far = pooled((so_far, trial))
        judged = [turn.verdict == "success" for turn in within if turn.verdict in ("success", "failure")]
        costs = [_cost(turn, prices) for turn in within]
        found.append(
            PeriodFigures(
                start=start,
                turns=len(within),
                success_rate=sum(judged) / len(judged) if judged else None,
                input_tokens=sum(turn.input_tokens for turn in within),
                output_tokens=sum(turn.output_tokens for turn in within),
                cost=sum(cost for cost in costs if cost is not None),
                unpriced=sum(cost is None for cost in costs),
                lift=lift(trial),
                lift_so_far=lift(so_far),
            )
        )
    return tuple(found)


def _cost(turn: TurnRecord, prices: Sequence[Price]) -> float | None:
    """What a turn cost: as it was recorded, else by the present prices; None where that is unknown."""
    if turn.cost is not None:
        return turn.cost
    if not turn.input_tokens and not turn.output_tokens:
        return 0.0
    return cost_of(turn.model, turn.input_tokens, turn.output_tokens, prices)
