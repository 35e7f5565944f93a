"""What a worker needs to learn from a turn, as the text that is stored with it: bounded, and no state.

Texts are cut when the work is set aside: a question and an answer at 8,000 characters, the trace at its
last 6,000. The bullets that were shown are named by id; the worker reads them as they are by then.

Which turns a turn looks back at: itself, and the one before when the learner's message judges it.

Decided without a model, from the state alone, so that it can be learned now or set aside for a worker.

Does not: learn from it (process_item.py does) or store it (it travels in the turn's commit).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from ace_graph.errors import LearningError
from ace_graph.evidence import to_evidence
from ace_graph.learning.feedback import Earlier, judged_earlier, last_exchange
from ace_graph.learning.objection import check_objection
from ace_graph.learning.patterns import ExecutionReflector
from ace_graph.learning.reflection import Lesson
from ace_graph.learning.reflector import Revision, Subject, worth_reflecting
from ace_graph.learning.statements.clearing import Clearing, clearing_of
from ace_graph.learning.statements.explicit import explicit_operations
from ace_graph.memory.delta.operations import Operation, Reset, Touch
from ace_graph.memory.evidence import Evidence
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.text import truncate, without_surrogates
from ace_graph.runtime import Run
from ace_graph.state import ACEState, Attempt, Result

__all__ = ["Look", "Looks", "PendingWork", "looks_of", "read_work"]


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


TEXT_CHARS = 8_000
TRACE_CHARS = 6_000
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f]")


class Look(BaseModel):
    """One turn to look back at: what it was, the evidence, and lessons that were found without a model.

    `standing` is what was known of it before and is voted on already; `reflects`: the reflector is asked.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    subject: Subject
    evidence: tuple[Evidence, ...] = ()
    standing: tuple[Evidence, ...] = ()
    reflects: bool = True
    found: tuple[Lesson, ...] = ()

    @property
    def known(self) -> tuple[Evidence, ...]:
        """All that is known of the turn, the newest last."""
        return (*self.standing, *self.evidence)

    def bounded(self) -> Look:
        """Return it with its texts cut."""
        told = self.subject
        revision = told.revision
        short = replace(
            told,
            question=_cut(told.question),
            additional_context=_cut(told.additional_context),
            answer=_cut(told.answer),
            reasoning=_cut(told.reasoning),
            trace=_end(told.trace),
            ground_truth=None if told.ground_truth is None else _cut(told.ground_truth),
            injected=tuple(told.injected),
            cited=tuple(told.cited),
            revision=None if revision is None else replace(revision, answer=_cut(revision.answer)),
        )
        return self.model_copy(update={"subject": short})


class PendingWork(BaseModel):
    """The turns to look back at, and how: the knobs of the run that the work comes from.

    Without `curates` the reflection is kept with the turn, and the playbook stays as it is.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    looks: tuple[Look, ...]
    max_reflection_rounds: int = 1
    model: str | None = None
    temperature: float | None = None
    curates: bool = True

    def text(self) -> str:
        """Return the text that is stored."""
        short = self.model_copy(update={"looks": tuple(look.bounded() for look in self.looks)})
        return short.model_dump_json()


def read_work(body: str) -> PendingWork:
    """Return the work in a stored text. Raises LearningError for one that can't be read."""
    try:
        return PendingWork.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise LearningError(f"the pending work can't be read ({where}: {first['msg']})") from error


def _cut(text: str) -> str:
    return truncate(_plain(text), TEXT_CHARS)


def _end(trace: Sequence[str]) -> tuple[str, ...]:
    """The last lines that fit, the oldest of them cut at its front."""
    kept, room = list[str](), TRACE_CHARS
    for line in reversed(trace):
        clean = _plain(line)
        kept.append(clean[-room:])
        room -= len(kept[-1])
        if room <= 0:
            break
    return tuple(reversed(kept))


def _plain(text: str) -> str:
    """Without lone surrogates and controls, which would take six characters each in JSON."""
    return _CONTROLS.sub(" ", without_surrogates(text))
