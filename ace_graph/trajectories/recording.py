"""Trajectories of work outside the graph: any program's task, its steps, its outcome, and learning from it.

    trajectory_id = await start_trajectory(store, "alice", "Fetch the invoices", agent="crawler")
    await log_step(store, "alice", trajectory_id, "action", "GET /invoices", {"page": 1})
    await complete_trajectory(store, "alice", trajectory_id, "failure", Completion(error="429"))

`execute_with_learning` does all three around a function of yours. A trajectory survives a restart, and
another process can add steps to it and complete it. A completed one is closed: a late step and a second
outcome are refused. The graph records its own turns without this module.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import cast
from uuid import uuid4

from pydantic import JsonValue, ValidationError

from ace_graph.errors import TrajectoryNotFound, UsageError
from ace_graph.learning.curator import judge_bullets
from ace_graph.memory.clock import utc_now
from ace_graph.memory.commit import operation_id
from ace_graph.memory.delta.operations import Delta, Operation
from ace_graph.memory.evidence import Evidence, EvidenceSource
from ace_graph.memory.pending import Amend, Pending
from ace_graph.memory.stores.base import PendingStore
from ace_graph.memory.text import truncate
from ace_graph.memory.trajectory import TrajectoryFilter, TrajectoryOutcome, completed, deleted, with_step
from ace_graph.memory.turn import MAX_STEP_CHARS, MAX_TASK_CHARS, Step, StepKind, TurnRecord, TurnStatus
from ace_graph.retention import Tracing
from ace_graph.settings import Settings

__all__ = [
    "Completion",
    "complete_trajectory",
    "delete_trajectory",
    "get_trajectory",
    "log_step",
    "start_trajectory",
]

AUTHOR = "trajectory"
MAX_METADATA_CHARS = 4_000
_STATUSES = ("success", "failure", "partial")


def _new_id() -> str:
    return uuid4().hex


@dataclass(frozen=True)
class Completion:
    """What is known of a trajectory when it ends, beside its status.

    `score` is in [0, 1], `cost` in a currency of yours, `metrics` any JSON. `cited` names the bullets that
    were followed: they are credited or blamed. Without `evidence` the status itself is evidence, from
    `source`: by default the learner, so that later feedback may correct it; with None there is no evidence.
    `learns`: a worker reflects on it; `curates`: its lessons reach the playbook, and votes are counted.
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
    model: str | None = None
    learns: bool = True
    curates: bool = True
    source: EvidenceSource | None = "learner"


async def start_trajectory(
    store: PendingStore,
    learner_id: str,
    task: str,
    *,
    agent: str = "host",
    task_type: str | None = None,
    parent_id: str | None = None,
    mode: str = "task",
    injected: Sequence[str] = (),
    trajectory_id: str | None = None,
    unattributed: bool = False,
    clock: Callable[[], datetime] = utc_now,
    new_id: Callable[[], str] = _new_id,
) -> str:
    """Store a trajectory in progress and return its id; with a `trajectory_id` of yours, once.

    `injected` names the bullets that the agent was shown. `unattributed`: who said what in it is not sure, so
    its lessons go to quarantine, where a person decides about them. Raises UsageError for a value out of its
    bounds, TrajectoryNotFound for a parent that is not there, and what the store raises.
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
            unattributed=unattributed,
            started_at=now,
        )
    await store.commit(learner_id, _delta(name, "start", now), await store.load(learner_id), record)
    return name


async def log_step(
    store: PendingStore,
    learner_id: str,
    trajectory_id: str,
    kind: StepKind,
    text: str,
    metadata: Mapping[str, JsonValue] | None = None,
    *,
    step_id: str | None = None,
    clock: Callable[[], datetime] = utc_now,
    new_id: Callable[[], str] = _new_id,
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
    store: PendingStore,
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
    ACE_TRACE_FAILURES). Returns the pending id, None where nothing is
    left to learn. Raises UsageError for a status other than success, failure or partial and for a score out
    of [0, 1]; TrajectoryNotFound; TrajectoryClosed when it is complete already: the first outcome stays;
    ConfigurationError.
    """
    if status not in _STATUSES:
        raise UsageError(f"{str(status)[:40]!r} is not an outcome: use one of {', '.join(_STATUSES)}")
    kept = tracing or Settings.load().tracing
    turn, now = await get_trajectory(store, learner_id, trajectory_id), clock()
    with _explained():
        evidence = _evidence(status, completion, turn.agent)
        outcome = _outcome(status, completion, evidence)
        ended = completed(turn, outcome, now, Tracing())  # with all its steps
    votes = _votes(ended, evidence) if completion.curates else ()
    pending = _pending(ended, completion, evidence) if completion.learns else None
    base = await store.load(learner_id)
    amend = Amend(trajectory_id, lambda stored: completed(stored, outcome, now, kept))
    await store.commit(learner_id, _delta(trajectory_id, "complete", now, *votes), base, amend, pending)
    return pending.pending_id if pending else None


async def get_trajectory(store: PendingStore, learner_id: str, trajectory_id: str) -> TurnRecord:
    """Return the trajectory. Raises TrajectoryNotFound."""
    found = await store.find_turns(learner_id, TrajectoryFilter(turn_id=trajectory_id), limit=1)
    if not found:
        raise TrajectoryNotFound(f"there is no trajectory {trajectory_id}: trajectory list shows the ids")
    return found[0]


async def delete_trajectory(store: PendingStore, learner_id: str, trajectory_id: str) -> None:
    """Delete a trajectory's content; its parts stay, without a parent. What was learned from it stays too.

    Raises TrajectoryNotFound.
    """
    await get_trajectory(store, learner_id, trajectory_id)
    while parts := await store.find_turns(learner_id, TrajectoryFilter(parent_id=trajectory_id)):
        for part in parts:
            await store.amend(learner_id, Amend(part.turn_id, _orphaned))
    await store.amend(learner_id, Amend(trajectory_id, deleted))


def _orphaned(turn: TurnRecord) -> TurnRecord:
    return turn.model_copy(update={"parent_id": None})


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


def _outcome(status: TurnStatus, completion: Completion, evidence: tuple[Evidence, ...]) -> TrajectoryOutcome:
    return TrajectoryOutcome(
        status=status,
        score=completion.score,
        error=None
        if completion.error is None
        else truncate(completion.error, MAX_TASK_CHARS, show_length=True),
        metrics=completion.metrics,
        evidence=evidence,
        cited=completion.cited,
        input_tokens=completion.input_tokens,
        output_tokens=completion.output_tokens,
        cost=completion.cost,
        model=completion.model,
        answer=truncate(completion.answer, MAX_TASK_CHARS, show_length=True),
    )


def _votes(turn: TurnRecord, evidence: Sequence[Evidence]) -> tuple[Operation, ...]:
    injected = tuple(dict.fromkeys((*turn.injected, *turn.cited)))
    return tuple(judge_bullets(turn.turn_id, evidence, injected=injected, cited=turn.cited))


def _pending(turn: TurnRecord, completion: Completion, evidence: Sequence[Evidence]) -> Pending:
    from ace_graph.learning.tasks import PendingWork, task_of  # loads LangGraph

    work = PendingWork(looks=(task_of(turn, evidence),), curates=completion.curates)
    return work.as_pending(operation_id("trajectory", turn.turn_id, "learn"), turn.turn_id)


@contextmanager
def _explained() -> Generator[None]:
    """Raise a UsageError that names the value in place of pydantic's ValidationError."""
    try:
        yield
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "trajectory"
        raise UsageError(f"{where}: {first['msg'][:1].lower()}{first['msg'][1:]}") from error
