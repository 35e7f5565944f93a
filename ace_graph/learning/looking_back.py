"""What a turn asks of the memory: statements, votes and lessons, as the operations of one delta.

Up to two turns are looked back at: this one, and the one before when the learner's message judges it.
A reflector that fails costs its lessons and nothing else.

Does not: commit. The node does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ace_graph.errors import AceError
from ace_graph.learning.curator import (
    credit_lessons,
    failed_advice,
    judge_bullets,
    lessons_to_operations,
)
from ace_graph.learning.earlier import Earlier, judged_earlier
from ace_graph.learning.evidence import to_evidence
from ace_graph.learning.explicit import explicit_operations
from ace_graph.learning.lesson import Lesson
from ace_graph.learning.model_curator import curate_with_model
from ace_graph.learning.patterns import ExecutionReflector
from ace_graph.learning.reflector import Reflected, Revision, Subject, reflect, worth_reflecting
from ace_graph.learning.retry import AnswerAgain, may_retry
from ace_graph.memory.delta import Judge, Operation, Reflect, Touch
from ace_graph.memory.evidence import Evidence
from ace_graph.memory.snapshot import Snapshot
from ace_graph.models import Usage
from ace_graph.run import Run, logger
from ace_graph.state import ACEState, Attempt, Result

__all__ = ["Learned", "learn"]

PATTERN_CONFIDENCE = 0.7
"""An execution pattern less certain than this is not stored (document 001)."""


@dataclass(frozen=True)
class Learned:
    """What was learned, what it cost by role, what was left out and why, and what failed."""

    operations: tuple[Operation, ...] = ()
    usage: Mapping[str, Usage] = field(default_factory=dict[str, Usage])
    problems: tuple[str, ...] = ()
    error: str | None = None
    judged: Earlier | None = None

    def __add__(self, other: Learned) -> Learned:
        return Learned(
            self.operations + other.operations,
            {
                role: self.usage.get(role, Usage()) + other.usage.get(role, Usage())
                for role in (*self.usage, *other.usage)
            },
            self.problems + other.problems,
            self.error or other.error,
            self.judged or other.judged,
        )


async def learn(
    state: ACEState, attempt: Attempt, snapshot: Snapshot, run: Run, again: AnswerAgain | None = None
) -> Learned:
    """Collect the operations of this turn. Raises nothing that a model may raise.

    Of an answer that was revised, the first one is voted on. `again` answers the question once more, for a
    reflector with rounds left.
    """
    turn, first = state["turn"], attempt.get("first")
    given = _evidence(state["result"])
    evidence = [to_evidence(item) for item in first["evidence"]] if first else given
    stated = explicit_operations(turn["question"], snapshot.playbook, turn["turn_id"])
    # Touches come first: what is superseded or removed after them needs no stamp.
    learned = Learned((*_touches(attempt, snapshot), *stated))
    earlier = judged_earlier(state["messages"], snapshot.access)
    if earlier is not None:
        subject = _earlier_subject(earlier, state)
        wanted = run.context.reflect_when != "never"
        looked = await _look_back(subject, [earlier.evidence], snapshot, run, reflects=wanted)
        learned += looked + Learned(judged=earlier)
    subject = _this_subject(state, attempt, given, run)
    # A message that is about the answer before it says nothing of the answer that follows.
    fresh = earlier is None or bool(evidence) or run.context.reflect_when == "always"
    wanted = fresh and worth_reflecting(run, turn["question"], evidence)
    first_ref = 1 + sum(operation.op == "add" for operation in learned.operations)
    return learned + await _look_back(
        subject,
        evidence,
        snapshot,
        run,
        reflects=wanted,
        first_ref=first_ref,
        found=_pattern(attempt, run),
        again=again if may_retry(evidence, run) else None,
    )


def _evidence(result: Result | None) -> list[Evidence]:
    return [to_evidence(item) for item in (result["evidence"] if result else [])]


def _this_subject(state: ACEState, attempt: Attempt, given: Sequence[Evidence], run: Run) -> Subject:
    first = attempt.get("first")
    counts = first or attempt
    return Subject(
        turn_id=state["turn"]["turn_id"],
        question=state["turn"]["question"],
        answer=counts["answer"],
        injected=attempt["injected"],
        cited=counts["cited"],
        topic=state["plan"]["topic"],
        reasoning=counts["reasoning"],
        trace=attempt["trace"],
        ground_truth=run.context.ground_truth,
        revision=Revision(attempt["answer"], given) if first else None,
    )


def _earlier_subject(earlier: Earlier, state: ACEState) -> Subject:
    return Subject(
        turn_id=earlier.turn.turn_id,
        question=earlier.question,
        answer=earlier.answer,
        injected=earlier.turn.injected,
        cited=earlier.turn.cited,
        topic=state["plan"]["topic"],
    )


async def _look_back(
    subject: Subject,
    evidence: Sequence[Evidence],
    snapshot: Snapshot,
    run: Run,
    *,
    reflects: bool,
    first_ref: int = 1,
    found: Sequence[Lesson] = (),
    again: AnswerAgain | None = None,
) -> Learned:
    """Reflect on one turn if wanted, and turn its lessons and verdicts into operations."""
    reflected, error = None, None
    if reflects:
        reflected, error = await _try_to_reflect(subject, evidence, snapshot, run, again)
    votes = judge_bullets(
        subject.turn_id,
        evidence,
        injected=subject.injected,
        cited=subject.cited,
        tags=reflected.reflection.bullet_tags if reflected else (),
    )
    adds = lessons_to_operations(
        [*found, *(reflected.lessons if reflected else ())],
        question=subject.question,
        topic=subject.topic,
        source=subject.turn_id,
        start=first_ref,
        contests=failed_advice(votes, evidence),
    )
    lessons, cost = tuple[Operation, ...](adds), Usage()
    if adds and run.resources.settings.curator_use_llm:
        curated = await curate_with_model(adds, subject.question, snapshot, run)
        lessons, cost = curated.operations, curated.usage
    votes = credit_lessons(votes, lessons)
    insight = reflected.insight if reflected else ""
    kept = [Reflect(insight=insight, topic=subject.topic)] if insight else []
    return Learned(
        # Blame comes first: a bullet that a lesson supersedes takes no vote any more.
        (*(v for v in votes if not _credits(v)), *lessons, *(v for v in votes if _credits(v)), *kept),
        {
            "reflector": reflected.usage if reflected else Usage(),
            "retry": reflected.retries if reflected else Usage(),
            "curator": cost,
        },
        reflected.problems if reflected else (),
        error,
    )


def _credits(vote: Judge) -> bool:
    """Whether the vote may name lessons of the same delta, which have to be there before it."""
    return vote.verdict == "success"


async def _try_to_reflect(
    subject: Subject,
    evidence: Sequence[Evidence],
    snapshot: Snapshot,
    run: Run,
    again: AnswerAgain | None,
) -> tuple[Reflected | None, str | None]:
    try:
        return await reflect(subject, evidence, snapshot, run, again), None
    except AceError as failure:
        logger.error("[ACE Reflector] %s", failure)
        return None, str(failure)
    except Exception as failure:
        logger.exception("[ACE Reflector] failed")
        return None, f"the reflector failed: {type(failure).__name__}"


def _pattern(attempt: Attempt, run: Run) -> list[Lesson]:
    """The lesson in this turn's tool calls, found without a model."""
    if run.context.reflect_when == "never" or not attempt["tool_calls"]:
        return []
    pattern = ExecutionReflector(min_confidence=PATTERN_CONFIDENCE).reflect(
        "", attempt["tool_calls"], "partial" if attempt["problem"] else "success"
    )
    if pattern is None:
        return []
    return [Lesson(content=pattern.content, section=pattern.category, memory_type="procedural")]


def _touches(attempt: Attempt, snapshot: Snapshot) -> tuple[Operation, ...]:
    """The retrieved bullets count as used; the core, which is always there, does not."""
    bullets = ((name, snapshot.playbook.get_bullet(name)) for name in attempt["injected"])
    used = tuple(name for name, bullet in bullets if bullet is None or not bullet.core)
    return (Touch(bullet_ids=used),) if used else ()
