"""The learning node: reflects, curates, and commits, the one write of the turn.

A failure in here never breaks the answer: it is logged, reported in `learning.error`, and what could not
be saved is in `learning.unsaved`.

Does not: decide what a delta changes; that happens where it is resolved.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import NAMESPACE_URL, uuid5

from ace_graph.errors import AceError, StoreError
from ace_graph.learning.curator import judge_bullets, lessons_to_operations
from ace_graph.learning.evidence import to_evidence
from ace_graph.learning.explicit import explicit_operations
from ace_graph.learning.outcome import committed, failed, skipped
from ace_graph.learning.record import make_record
from ace_graph.learning.reflector import Reflected, reflect, worth_reflecting
from ace_graph.loading import ensure_memory
from ace_graph.memory.delta import Delta, Operation, Reflect, Touch
from ace_graph.memory.snapshot import Snapshot
from ace_graph.models import Usage
from ace_graph.run import Run, logger
from ace_graph.state import ACEState, Attempt, LearningUpdate
from ace_graph.usage import add_usage, total_usage

__all__ = ["ace_learning", "operation_id"]


@dataclass(frozen=True)
class _Learned:
    """What this turn asks of the memory, and what went wrong on the way."""

    operations: list[Operation]
    usage: Usage
    problems: tuple[str, ...]
    error: str | None = None


async def ace_learning(state: ACEState, run: Run) -> LearningUpdate:
    """Learn from the turn and store it. Raises nothing that the model or the store may raise."""
    turn_id, mode = state["turn"]["turn_id"], state["plan"]["mode"]
    attempt = state["attempt"]
    memory = await ensure_memory(state, run) if run.learning != "off" else state.get("memory")
    reason = _nothing_to_do(run, memory.problem if memory else None)
    if reason or memory is None or memory.snapshot is None or attempt is None:
        return {"mode": mode, "learning": skipped(turn_id, reason), "usage": state["usage"]}
    learned = await _learn(state, attempt, memory.snapshot, run)
    usage = add_usage(state["usage"], "reflector", learned.usage)
    delta = Delta(
        op_id=operation_id(turn_id, attempt["attempt_id"], "turn"),
        now=run.resources.clock(),
        operations=tuple(learned.operations),
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
    outcome = committed(turn_id, commit, learned.problems, learned.error, run)
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


async def _learn(state: ACEState, attempt: Attempt, snapshot: Snapshot, run: Run) -> _Learned:
    """Collect the turn's operations. A reflector that fails costs its lessons, nothing else."""
    turn, plan, result = state["turn"], state["plan"], state["result"]
    evidence = [to_evidence(item) for item in (result["evidence"] if result else [])]
    stated = explicit_operations(turn["question"], snapshot.playbook, turn["turn_id"])
    used: list[Operation] = (
        [Touch(bullet_ids=tuple(_touched(attempt, snapshot)))] if attempt["injected"] else []
    )
    reflected: Reflected | None = None
    error = None
    if worth_reflecting(run, turn["question"], evidence):
        try:
            reflected = await reflect(turn, plan, attempt, evidence, snapshot, run)
        except AceError as failure:
            error = str(failure)
            logger.error("[ACE Reflector] %s", failure)
        except Exception as failure:
            error = f"the reflector failed: {type(failure).__name__}"
            logger.exception("[ACE Reflector] failed")
    lessons = lessons_to_operations(
        reflected.lessons if reflected else (),
        question=turn["question"],
        topic=plan["topic"],
        source=turn["turn_id"],
    )
    votes = judge_bullets(
        turn["turn_id"],
        evidence,
        injected=attempt["injected"],
        cited=attempt["cited"],
        tags=reflected.reflection.bullet_tags if reflected else (),
        new=[lesson.ref for lesson in lessons if lesson.ref],
    )
    return _Learned(
        [*stated, *lessons, *votes, *_insight(reflected, plan["topic"]), *used],
        reflected.usage if reflected else Usage(),
        reflected.problems if reflected else (),
        error,
    )


def _touched(attempt: Attempt, snapshot: Snapshot) -> list[str]:
    """The retrieved bullets count as used; the core, which is always there, does not."""
    bullets = ((name, snapshot.playbook.get_bullet(name)) for name in attempt["injected"])
    return [name for name, bullet in bullets if bullet is None or not bullet.core]


def _insight(reflected: Reflected | None, topic: str | None) -> list[Operation]:
    return [Reflect(insight=reflected.insight, topic=topic)] if reflected and reflected.insight else []
