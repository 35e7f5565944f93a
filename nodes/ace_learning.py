"""The learning node: reflects and curates, or sets that aside for a worker, and commits: the one write
of the turn.

A failure in here never breaks the answer: it is logged, reported in `learning.error`, and what could not
be saved is in `learning.unsaved`.

Does not: decide what a delta changes; that happens where it is resolved.
"""

from __future__ import annotations

from functools import partial

from ace_graph.errors import StoreError
from ace_graph.learning.pipeline import Learned, learn, set_aside
from ace_graph.learning.report import committed, failed, skipped
from ace_graph.learning.tasks import looks_of
from ace_graph.learning.turn_record import make_record
from ace_graph.memory.commit import Commit, operation_id
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.pending import Pending
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import commit_turn
from ace_graph.memory.turn import TurnRecord
from ace_graph.models.usage import add_usage, total_usage
from ace_graph.off_loop import read_text
from ace_graph.reasoning.attempt import answer_again
from ace_graph.reasoning.recall import ensure_memory
from ace_graph.runtime import Run, logger
from ace_graph.state import ACEState, Attempt, LearningUpdate

__all__ = ["ace_learning"]


async def ace_learning(state: ACEState, run: Run) -> LearningUpdate:
    """Learn from the turn and store it. Raises nothing that the model or the store may raise."""
    turn_id, mode = state["turn"]["turn_id"], state["plan"]["mode"]
    attempt = state["attempt"]
    memory = await ensure_memory(state, run) if run.learning != "off" else state.get("memory")
    reason = _nothing_to_do(run, memory.problem if memory else None)
    if reason or memory is None or memory.snapshot is None or attempt is None:
        return {"mode": mode, "learning": skipped(turn_id, reason), "usage": state["usage"]}
    learned, pending = await _learned(state, attempt, memory.snapshot, run)
    usage = state["usage"]
    for role, cost in learned.usage.items():
        usage = add_usage(usage, role, cost)
    delta = Delta(
        op_id=operation_id(turn_id, attempt["attempt_id"], "turn"),
        now=run.resources.clock(),
        operations=learned.operations,
        author="ace_learning",
        reason=learned.reason,
        source=turn_id,
        origin="turn",
    )
    learner_id = run.learner_id or ""
    size, spent = _size(state, attempt), total_usage(usage)
    record = await read_text(size, make_record, state, attempt, run, spent, learned.reflections)
    try:
        commit = await _commit(run, delta, memory.snapshot, record, pending)
    except StoreError as error:
        logger.exception("[ACE Memory] the turn could not be saved; learning.unsaved holds it")
        outcome = failed(turn_id, learner_id, memory.snapshot, delta, record, error, pending)
        return {"mode": mode, "learning": outcome, "usage": usage}
    run.resources.cache.put(learner_id, commit.snapshot)
    outcome = committed(turn_id, commit, learned, run)
    outcome["pending"] = pending.pending_id if pending else None
    return {"mode": mode, "learning": outcome, "usage": usage}


async def _learned(
    state: ACEState, attempt: Attempt, snapshot: Snapshot, run: Run
) -> tuple[Learned, Pending | None]:
    """Learn now, or set aside what a worker will learn from."""
    looks = await read_text(_size(state, attempt), looks_of, state, attempt, snapshot, run)
    turn_id = state["turn"]["turn_id"]
    if run.learning == "background":
        return set_aside(looks, turn_id, operation_id(turn_id, attempt["attempt_id"], "learn"), run)
    return await learn(looks, snapshot, run, partial(answer_again, state, attempt, run)), None


def _size(state: ACEState, attempt: Attempt) -> int:
    """The characters of the turn that are read."""
    return len(state["turn"]["question"]) + len(attempt["answer"])


async def _commit(
    run: Run, delta: Delta, base: Snapshot, record: TurnRecord, pending: Pending | None
) -> Commit:
    return await commit_turn(run.resources.store, run.learner_id or "", delta, base, record, pending)


def _nothing_to_do(run: Run, problem: str | None) -> str | None:
    if run.learning == "off":
        return "learning is off"
    return problem
