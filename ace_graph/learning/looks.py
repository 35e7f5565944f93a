"""Which turns a turn looks back at: itself, and the one before when the learner's message judges it.

Decided without a model, from the state alone, so that it can be learned now or set aside for a worker.

Does not: reflect or make operations of lessons (looking_back.py does).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ace_graph.learning.clearing import Clearing, clearing_of
from ace_graph.learning.earlier import Earlier, judged_earlier, last_exchange
from ace_graph.learning.evidence import to_evidence
from ace_graph.learning.explicit import explicit_operations
from ace_graph.learning.lesson import Lesson
from ace_graph.learning.objection import check_objection
from ace_graph.learning.patterns import ExecutionReflector
from ace_graph.learning.pending_work import Look
from ace_graph.learning.reflector import Revision, Subject, worth_reflecting
from ace_graph.memory.delta import Operation, Reset, Touch
from ace_graph.memory.evidence import Evidence
from ace_graph.memory.snapshot import Snapshot
from ace_graph.run import Run
from ace_graph.state import ACEState, Attempt, Result

__all__ = ["Looks", "looks_of"]

PATTERN_CONFIDENCE = 0.7
"""An execution pattern less certain than this is not stored (document 001)."""


@dataclass(frozen=True)
class Looks:
    """What is certain at once (`operations`: uses and the learner's own statements), and what to look at.

    `earlier` is the turn that the message judged, with the look at it; `this` is the look at this turn.
    `cleared` are the bullets that go because the learner had everything forgotten.
    """

    operations: tuple[Operation, ...]
    this: Look
    earlier: tuple[Earlier, Look] | None = None
    cleared: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[Look, ...]:
        """Both looks, the earlier turn first."""
        return (self.this,) if self.earlier is None else (self.earlier[1], self.this)


def looks_of(state: ACEState, attempt: Attempt, snapshot: Snapshot, run: Run) -> Looks:
    """Return what this turn looks back at. Of an answer that was revised, the first one is voted on."""
    turn, first = state["turn"], attempt.get("first")
    given = _evidence(state["result"])
    evidence = [to_evidence(item) for item in first["evidence"]] if first else given
    clearing = clearing_of(turn["question"], last_exchange(state["messages"]), snapshot)
    if clearing is not None:
        return _at_clearing(clearing, _this_subject(state, attempt, given, run), snapshot)
    stated = explicit_operations(turn["question"], snapshot.playbook, turn["turn_id"])
    earlier = judged_earlier(state["messages"], snapshot.access)
    # A message that is about the answer before it says nothing of the answer that follows.
    fresh = earlier is None or bool(evidence) or run.context.reflect_when == "always"
    this = Look(
        subject=_this_subject(state, attempt, given, run),
        evidence=tuple(evidence),
        reflects=fresh and worth_reflecting(run, turn["question"], evidence),
        found=_pattern(attempt, run),
    )
    # Touches come first: what is superseded or removed after them needs no stamp.
    return Looks(
        (*_touches(attempt, snapshot), *stated),
        this,
        (earlier, _at_earlier(earlier, state, snapshot, run)) if earlier is not None else None,
    )


def _at_clearing(clearing: Clearing, subject: Subject, snapshot: Snapshot) -> Looks:
    """A turn about forgetting everything teaches nothing; after the yes its one operation is the clear."""
    this = Look(subject=subject, reflects=False)
    if not clearing.clears:
        return Looks((), this)
    return Looks((Reset(confirmed=True),), this, cleared=tuple(snapshot.playbook.entries))


def _at_earlier(earlier: Earlier, state: ACEState, snapshot: Snapshot, run: Run) -> Look:
    """The look at the turn before. What stronger sources said of it stands beside the learner's word."""
    votes = snapshot.playbook.votes.get(earlier.turn.turn_id, {})
    standing = tuple(
        Evidence(source=source, verdict=vote.verdict)
        for source, vote in votes.items()
        if source != earlier.evidence.source
    )
    subject = Subject(
        turn_id=earlier.turn.turn_id,
        question=earlier.question,
        answer=earlier.answer,
        injected=earlier.turn.injected,
        cited=earlier.turn.cited,
        topic=state["plan"]["topic"],
    )
    check = check_objection(earlier, votes)
    if check is not None and check.right:  # the answer stands, and there is nothing to learn from it
        checked = () if check.evidence is None else (check.evidence,)
        return Look(subject=subject, evidence=checked, standing=standing, reflects=False)
    wanted = run.context.reflect_when != "never"
    return Look(subject=subject, evidence=(earlier.evidence,), standing=standing, reflects=wanted)


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
        additional_context=state["turn"].get("additional_context", ""),
        revision=Revision(attempt["answer"], given) if first else None,
    )


def _pattern(attempt: Attempt, run: Run) -> tuple[Lesson, ...]:
    """The lesson in this turn's tool calls, found without a model."""
    if run.context.reflect_when == "never" or not attempt["tool_calls"]:
        return ()
    pattern = ExecutionReflector(min_confidence=PATTERN_CONFIDENCE).reflect(
        "", attempt["tool_calls"], "partial" if attempt["problem"] else "success"
    )
    if pattern is None:
        return ()
    return (Lesson(content=pattern.content, section=pattern.category, memory_type="procedural"),)


def _touches(attempt: Attempt, snapshot: Snapshot) -> tuple[Operation, ...]:
    """The retrieved bullets count as used; the core, which is always there, does not."""
    bullets = ((name, snapshot.playbook.get_bullet(name)) for name in attempt["injected"])
    used = tuple(name for name, bullet in bullets if bullet is None or not bullet.core)
    return (Touch(bullet_ids=used),) if used else ()
