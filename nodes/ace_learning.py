"""The learning node: reflects, curates, and commits, the one write of the turn.

A failure in here never breaks the answer: it is logged, reported in `learning.error`, and what could not
be saved is in `learning.unsaved`.

Does not: decide what a delta changes; that happens where it is resolved.
"""

from __future__ import annotations

from functools import partial
from uuid import NAMESPACE_URL, uuid5

from ace_graph.attempt import answer_again
from ace_graph.errors import StoreError
from ace_graph.learning.looking_back import learn
from ace_graph.learning.outcome import committed, failed, skipped
from ace_graph.learning.record import make_record
from ace_graph.loading import ensure_memory
from ace_graph.memory.delta import Delta
from ace_graph.run import Run, logger
from ace_graph.state import ACEState
from ace_graph.updates import LearningUpdate
from ace_graph.usage import add_usage, total_usage

__all__ = ["ace_learning", "operation_id"]


async def ace_learning(state: ACEState, run: Run) -> LearningUpdate:
    """Learn from the turn and store it. Raises nothing that the model or the store may raise."""
    turn_id, mode = state["turn"]["turn_id"], state["plan"]["mode"]
    attempt = state["attempt"]
    memory = await ensure_memory(state, run) if run.learning != "off" else state.get("memory")
    reason = _nothing_to_do(run, memory.problem if memory else None)
    if reason or memory is None or memory.snapshot is None or attempt is None:
        return {"mode": mode, "learning": skipped(turn_id, reason), "usage": state["usage"]}
    learned = await learn(state, attempt, memory.snapshot, run, partial(answer_again, state, attempt, run))
    usage = state["usage"]
    for role, cost in learned.usage.items():
        usage = add_usage(usage, role, cost)
    delta = Delta(
        op_id=operation_id(turn_id, attempt["attempt_id"], "turn"),
        now=run.resources.clock(),
        operations=learned.operations,
        author="ace_learning",
        source=turn_id,
    )
    learner_id = run.learner_id or ""
    record = make_record(state, attempt, run, total_usage(usage))
    try:
        commit = await run.resources.store.commit(learner_id, delta, memory.snapshot, record)
    except StoreError as error:
        logger.exception("[ACE Memory] the turn could not be saved; learning.unsaved holds it")
        outcome = failed(turn_id, learner_id, memory.snapshot, delta, record, error)
        return {"mode": mode, "learning": outcome, "usage": usage}
    run.resources.cache.put(learner_id, commit.snapshot)
    outcome = committed(turn_id, commit, learned, run)
    return {"mode": mode, "learning": outcome, "usage": usage}


def operation_id(turn_id: str, attempt_id: str, purpose: str) -> str:
    """Return the id under which a turn's commit is applied once.

    A resumed run has the same ids and changes nothing twice; a fork has a new attempt and learns.
    """
    return str(uuid5(NAMESPACE_URL, f"ace-graph:{turn_id}:{attempt_id}:{purpose}"))


def _nothing_to_do(run: Run, problem: str | None) -> str | None:
    if run.learning == "off":
        return "learning is off"
    return problem
