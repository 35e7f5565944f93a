"""What a turn gives to learn from: its tasks, decided from the state alone, without a model.

A turn has one task for itself, and one for the turn before when the learner's message judges it. A task
holds the finished turn, the evidence on it, and the lessons that need no reflector. `pipeline` works on the
tasks now, or they are deferred: then `PendingWork` is the text that is stored with the turn, with its texts
cut (a question and an answer at 8,000 characters, the trace at its last 6,000). Bullets are named by id; a
worker reads them as they are by then.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, ValidationError

from ace_graph.agent.evidence import from_json
from ace_graph.base.errors import LearningError
from ace_graph.base.frozen import Frozen
from ace_graph.base.text import truncate, without_surrogates
from ace_graph.learning.feedback import (
    JudgedTurn,
    check_objection,
    corrects_form,
)
from ace_graph.learning.patterns import ExecutionReflector
from ace_graph.learning.reflection import Lesson
from ace_graph.learning.statements.forms import pattern
from ace_graph.learning.statements.reading import reading_of
from ace_graph.learning.statements.statement import Statement
from ace_graph.memory.commit import Pending
from ace_graph.memory.delta.operations import Add, Operation, Reset, Touch
from ace_graph.memory.evidence import Evidence
from ace_graph.memory.snapshot import Access, Snapshot
from ace_graph.memory.turn import TurnRecord

if TYPE_CHECKING:
    from ace_graph.agent.runtime import Run
    from ace_graph.agent.state import ACEState, Attempt, Memory

FIRST_TURNS, TOGETHER = 10, 10
"""Of turns that nothing speaks against, a learner's first have a reflection each, later ones one together."""
_SMALL_TALK = pattern("small_talk")
_SMALL_TALK_CHARS = 500
PATTERN_CONFIDENCE = 0.7
"""An execution pattern less certain than this is not stored (document 001)."""


@dataclass(frozen=True)
class FinishedTurn:
    """The turn that is looked back at: this one, or an earlier one that the learner has now judged.

    `said` are the statements of the question, where it was read already; they are not stored. `day` is that
    of the question where the learner is, where it is known.
    """

    turn_id: str
    question: str
    answer: str
    injected: Sequence[str]
    cited: Sequence[str]
    topic: str | None
    reasoning: str = ""
    trace: Sequence[str] = ()
    ground_truth: str | None = None
    additional_context: str = ""
    revision: Revision | None = None
    conversation_id: str | None = None
    day: date | None = None
    said: Annotated[tuple[Statement, ...] | None, Field(exclude=True)] = field(default=None, compare=False)


@dataclass(frozen=True)
class Revision:
    """What became of the answer after a critique: the answer that was given, and the evidence on it."""

    answer: str
    evidence: Sequence[Evidence]


@dataclass(frozen=True)
class TurnTasks:
    """What a turn gives to learn from.

    `operations` are certain without reflection: uses of bullets, and the learner's own statements. `current`
    is the task of this turn, `previous` the turn that the message judged with its task. `cleared` are the
    bullets that go because the learner had everything forgotten. `dropped` are turns that waited for a
    reflection and get none, because the learner had something forgotten since.
    """

    operations: tuple[Operation, ...]
    current: LearningTask
    previous: tuple[JudgedTurn, LearningTask] | None = None
    cleared: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[LearningTask, ...]:
        """Both tasks, that of the previous turn first."""
        return (self.current,) if self.previous is None else (self.previous[1], self.current)

    @property
    def may_teach(self) -> bool:
        """Whether lessons may come of them."""
        return any(task.reflects or task.found for task in self.all)


def tasks_of(state: ACEState, attempt: Attempt, memory: Memory, run: Run) -> TurnTasks:
    """Return the turn's tasks. Where the answer was revised, the evidence on the first one counts."""
    turn, first, result = state["turn"], attempt.get("first"), state["result"]
    final_evidence = from_json(result["evidence"]) if result else []
    evidence = from_json(first["evidence"]) if first else final_evidence
    reading, snapshot = reading_of(state, memory, run), memory.snapshot
    if snapshot is None:
        snapshot = Snapshot()
    finished = replace(_finished_turn(state, attempt, final_evidence, run), said=reading.statements)
    if reading.clearing is not None:
        # A request to forget everything teaches nothing; once confirmed, its one operation is the reset
        current = LearningTask(subject=finished, reflects=False)
        if not reading.clearing.clears:
            return TurnTasks((), current)
        return TurnTasks((Reset(confirmed=True),), current, cleared=tuple(snapshot.playbook.entries))
    said = (*reading.statements, *reading.confirmed)
    stated = (statement.operation for statement in said if statement.operation is not None)
    judged = reading.judged
    failed_call = any(call["error"] is not None for call in attempt["tool_calls"])
    has_problem = reading.doubted is not None or attempt["problem"] is not None or failed_call
    doubted = has_problem and run.context.reflect_when == "auto"
    waiting, forgets = _waiting(snapshot.access), any(each.kind != "keep" for each in said)
    # A message that is about the answer before it says nothing of the answer that follows.
    new_subject = judged is None or bool(evidence) or run.context.reflect_when == "always"
    clock = snapshot.access.access_clock
    worth = doubted or worth_reflecting(run, turn["question"], evidence, clock, len(waiting))
    reflects = new_subject and worth
    alone = doubted or failed(evidence) or forgets or run.context.reflect_when != "auto"
    full = len(waiting) + 1 >= TOGETHER and not alone
    current = LearningTask(
        subject=finished,
        evidence=tuple(evidence),
        together=waiting if reflects and full else (),
        reflects=reflects,
        found=_pattern(attempt, run),
        own_message=True,
    )
    # Touches come first: what is superseded or removed after them needs no stamp.
    # The retrieved bullets count as used; the core, which is always there, does not
    bullets = ((name, snapshot.playbook.get_bullet(name)) for name in attempt["injected"])
    used = tuple(name for name, bullet in bullets if bullet is None or not bullet.core)
    return TurnTasks(
        (*((Touch(bullet_ids=used),) if used else ()), *stated),
        current,
        (judged, _previous_task(judged, state, snapshot, run)) if judged is not None else None,
        dropped=waiting if forgets else (),
    )


def worth_reflecting(
    run: Run, question: str, evidence: Sequence[Evidence], turns: int = 0, waiting: int = TOGETHER
) -> bool:
    """Whether there is a reflection after this turn, by the context's `reflect_when`.

    With `auto` a failure is reflected on at once, and so is each of a learner's first turns (`turns` is the
    access clock before this one). Others wait until, with those `waiting`, there are enough for one call:
    benchmarks/quality/RESULTS.md has what that saves, and that it costs next to nothing.
    """
    match run.context.reflect_when:
        case "always":
            return True
        case "never":
            return False
        case "evidence":
            return any(item.verdict != "unknown" for item in evidence)
        case "auto":
            if failed(evidence):
                return True
            due = turns < FIRST_TURNS or waiting + 1 >= TOGETHER
            return due and not is_small_talk(question)


def failed(evidence: Iterable[Evidence]) -> bool:
    """Whether any evidence says that the answer was wrong, or partly so."""
    return any(item.verdict in ("failure", "partial") for item in evidence)


def is_small_talk(message: str) -> bool:
    """Whether there is nothing to learn of a message: a greeting, thanks, or no text at all."""
    words = message.strip()
    return not words or (len(words) <= _SMALL_TALK_CHARS and _SMALL_TALK.fullmatch(words) is not None)


def _waiting(access: Access) -> tuple[str, ...]:
    """Return the latest turns that no reflection has read, fewer than are read together, the newest last.

    Those that failed are read on their own.
    """
    turns = (turn for turn in access.recent_turns if not turn.analyzed)
    return tuple(turn.turn_id for turn in turns if turn.verdict not in ("failure", "partial"))[1 - TOGETHER :]


def _previous_task(judged: JudgedTurn, state: ACEState, snapshot: Snapshot, run: Run) -> LearningTask:
    """The task of the turn before, with what stronger sources said of it beside the learner's feedback."""
    votes = snapshot.playbook.votes.get(judged.turn.turn_id, {})
    standing = tuple(
        Evidence(source=source, verdict=vote.verdict)
        for source, vote in votes.items()
        if source != judged.evidence.source
    )
    finished = FinishedTurn(
        turn_id=judged.turn.turn_id,
        question=judged.question,
        answer=judged.answer,
        injected=judged.turn.injected,
        cited=judged.turn.cited,
        topic=state["plan"]["topic"],
        conversation_id=run.context.conversation_id,
    )
    check = check_objection(judged, votes)
    if check is not None and check.right:  # the answer stands, and there is nothing to learn from it
        checked = () if check.evidence is None else (check.evidence,)
        return LearningTask(subject=finished, evidence=checked, standing=standing, reflects=False)
    wanted = run.context.reflect_when != "never"
    return LearningTask(
        subject=finished,
        evidence=(judged.evidence,),
        standing=standing,
        reflects=wanted,
        blames=not corrects_form(judged),
    )


def _finished_turn(
    state: ACEState, attempt: Attempt, final_evidence: Sequence[Evidence], run: Run
) -> FinishedTurn:
    first = attempt.get("first")
    counted = first or attempt
    return FinishedTurn(
        turn_id=state["turn"]["turn_id"],
        question=state["turn"]["question"],
        answer=counted["answer"],
        injected=attempt["injected"],
        cited=counted["cited"],
        topic=state["plan"]["topic"],
        reasoning=counted["reasoning"],
        trace=attempt["trace"],
        ground_truth=run.context.ground_truth,
        additional_context=state["turn"].get("additional_context", ""),
        revision=Revision(attempt["answer"], final_evidence) if first else None,
        conversation_id=run.context.conversation_id,
        day=run.today(),
    )


def _pattern(attempt: Attempt, run: Run) -> tuple[Lesson, ...]:
    if run.context.reflect_when == "never" or not attempt["tool_calls"]:
        return ()
    pattern = ExecutionReflector(min_confidence=PATTERN_CONFIDENCE).reflect(
        "", attempt["tool_calls"], "success"
    )
    if pattern is None:
        return ()
    return (Lesson(content=pattern.content, section=pattern.category, memory_type="procedural"),)


TEXT_CHARS = 8_000
TRACE_CHARS = 6_000
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f]")


class LearningTask(Frozen):
    """One finished turn to learn from. The field names are stored in pending work.

    `evidence` is voted on now; `standing` was known before and is voted on already. `reflects`: the reflector
    is called. `found` are lessons from patterns, which need no reflector. `blames`: a failure counts against
    every bullet that the answer cites; where the form alone was wrong, those that the reflector tags.
    `own_message`: the question is the learner's new message, in which they may speak of themselves.
    `together` are earlier turns that were not reflected on, which are read in the same call.
    `unattributed`: who said what is not sure, so its lessons are quarantined until a person releases them.
    """

    subject: FinishedTurn
    evidence: tuple[Evidence, ...] = ()
    standing: tuple[Evidence, ...] = ()
    reflects: bool = True
    found: tuple[Lesson, ...] = ()
    blames: bool = True
    own_message: bool = False
    together: Annotated[tuple[str, ...], Field(exclude_if=lambda value: not value)] = ()
    unattributed: Annotated[bool, Field(exclude_if=lambda value: not value)] = False

    @property
    def known(self) -> tuple[Evidence, ...]:
        """All evidence on the turn, the newest last."""
        return (*self.standing, *self.evidence)

    def bounded(self) -> LearningTask:
        """Return the task with its texts cut."""
        turn = self.subject
        revision = turn.revision
        short = replace(
            turn,
            question=_cut(turn.question),
            additional_context=_cut(turn.additional_context),
            answer=_cut(turn.answer),
            reasoning=_cut(turn.reasoning),
            trace=_end(turn.trace),
            ground_truth=None if turn.ground_truth is None else _cut(turn.ground_truth),
            injected=tuple(turn.injected),
            cited=tuple(turn.cited),
            revision=None if revision is None else replace(revision, answer=_cut(revision.answer)),
        )
        return self.model_copy(update={"subject": short})


def task_of(
    turn: TurnRecord, evidence: Iterable[Evidence], standing: Iterable[Evidence] = ()
) -> LearningTask:
    """Return the task of a stored trajectory."""
    lines = (
        f"{step.kind}: {step.text}" + (f" (x{step.times})" if step.times > 1 else "") for step in turn.steps
    )
    finished = FinishedTurn(
        turn_id=turn.turn_id,
        question=turn.task,
        answer=turn.answer or turn.error or f"(ended as {turn.status})",
        injected=tuple(dict.fromkeys((*turn.injected, *turn.cited))),
        cited=turn.cited,
        topic=turn.topic,
        trace=tuple(lines),
        conversation_id=turn.conversation_id,
    )
    return LearningTask(
        subject=finished,
        evidence=tuple(evidence),
        standing=tuple(standing),
        unattributed=turn.unattributed,
    )


class UndeliveredLessons(Frozen):
    """Lessons that a turn has made for a named playbook, until they are there or in the own memory.

    `operations` are the lessons and the votes that credit them, `learned` is how many lessons the turn had,
    `op_id` that of the turn's commit. The field names are stored.
    """

    operations: tuple[Operation, ...]
    learned: int
    op_id: str

    @property
    def lessons(self) -> tuple[Add, ...]:
        """The lessons alone."""
        return tuple(each for each in self.operations if isinstance(each, Add))


class PendingWork(Frozen):
    """Deferred tasks, and the run's settings that they are worked on with. The field names are stored.

    Without `curates` the reflection is kept with the turn, and the playbook stays as it is. Lessons go to the
    named playbook `learn_into`, where there is one; `teams` are the learner's, where the run knew them, and
    `agent` the one that acted in it. With `undelivered` nothing is to be learned any more: a turn's lessons
    are only to be taken there.
    """

    format: Literal[1] = 1
    looks: tuple[LearningTask, ...]
    max_reflection_rounds: int = 1
    model: str | None = None
    temperature: float | None = None
    curates: bool = True
    learn_into: Annotated[str | None, Field(exclude_if=lambda value: value is None)] = None
    teams: Annotated[tuple[str, ...] | None, Field(exclude_if=lambda value: value is None)] = None
    agent: Annotated[str | None, Field(exclude_if=lambda value: value is None)] = None
    undelivered: Annotated[UndeliveredLessons | None, Field(exclude_if=lambda value: value is None)] = None

    def as_pending(self, pending_id: str, turn_id: str, *, priority: float = 0.0) -> Pending:
        """Return the item to store; `pending_id` is the op id of the commit that completes it."""
        short = self.model_copy(update={"looks": tuple(task.bounded() for task in self.looks)})
        return Pending(
            pending_id=pending_id, turn_id=turn_id, body=short.model_dump_json(), priority=priority
        )


def read_work(body: str) -> PendingWork:
    """Return the work in the body of a pending item. Raises LearningError for one that can't be read."""
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
