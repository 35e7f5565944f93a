"""What the answer of a turn has to know: what the message changes in the memory, and the result of a check.

It is decided before the answer, by the same pure functions that the turn's commit is made with.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from ace_graph.agent.runtime import Run
from ace_graph.agent.state import ACEState, Memory
from ace_graph.base.prompts import Prompts, data_block, preview
from ace_graph.learning.feedback import check_objection, render_check
from ace_graph.learning.statements.reading import reading_of
from ace_graph.learning.statements.statement import Statement
from ace_graph.memory.delta.effect import Put
from ace_graph.memory.delta.operations import Add, Delta, Operation, Remove
from ace_graph.memory.delta.resolve import resolve
from ace_graph.memory.policy import Policy
from ace_graph.memory.snapshot import Snapshot

# What a message changes in the learner's memory, as text for the prompt: the answer confirms no more.
#
# The statements of the message are resolved against the memory as it is, by the rules of the turn's commit,
# so what the commit would refuse or quarantine is not listed as stored. The commit itself follows the
# answer.


_WORDS = 200


@dataclass(frozen=True)
class MemoryChange:
    """What becomes of one statement or request; `why` says why nothing does.

    `asked`: the answer to the message ends with the question whether to keep it. `which`: the learner is to
    say which of these statements is to be forgotten.
    """

    kind: Literal["kept", "not_kept", "asked", "forgotten", "not_forgotten", "which"]
    words: str
    why: str = ""


def memory_changes(
    found: Sequence[Statement],
    snapshot: Snapshot | None,
    policy: Policy,
    now: datetime,
    *,
    asking: bool = False,
    closed: str | None = None,
) -> list[MemoryChange]:
    """Return what the statements of a message, and those that it confirms, change.

    `asking`: the answer asks whether to keep what waits for a yes. `closed` says why this turn stores
    nothing, if so.
    """
    if snapshot is None or closed is not None:
        why = closed or "there is no memory in this conversation"
        return _without_repeats(_undone(statement, why) for statement in found)
    operations = tuple(statement.operation for statement in found if statement.operation is not None)
    effect = resolve(snapshot, Delta(op_id="preview", now=now, operations=operations, origin="turn"), policy)
    # Why operations come to nothing, by the text that they add or the id that they remove
    kept_back = {
        change.bullet.content: f"kept back: {change.bullet.quarantine_reason}"
        for change in effect.changes
        if isinstance(change, Put) and change.bullet.status == "quarantined"
    }
    refused = kept_back | {rejection.id: rejection.why for rejection in effect.report.rejected}
    return _without_repeats(_outcome(statement, refused, asking=asking) for statement in found)


def render_changes(changes: Sequence[MemoryChange], prompts: Prompts) -> str:
    """Return the part of the solver's prompt that says so, '' where the message changes nothing."""
    if not changes:
        return ""
    lines = (
        json.dumps(
            {each.kind: preview(each.words, _WORDS), **({"why": each.why} if each.why else {})},
            ensure_ascii=False,
        )
        for each in changes
    )
    return prompts.render("memory_changes", changes=data_block("memory_changes", "\n".join(lines)))


def _without_repeats(changes: Iterable[MemoryChange]) -> list[MemoryChange]:
    return list(dict.fromkeys(changes))


def _outcome(statement: Statement, refused: dict[str, str], *, asking: bool) -> MemoryChange:
    if asking and statement.after_yes is not None:
        return MemoryChange("asked", statement.words)
    if statement.kind == "which":
        return MemoryChange("which", statement.words)
    if statement.operation is None:
        return _undone(statement, statement.why)
    why = refused.get(_content_of(statement.operation))
    if why is not None:
        return _undone(statement, why)
    return MemoryChange("kept" if statement.kind == "keep" else "forgotten", statement.words)


def _undone(statement: Statement, why: str) -> MemoryChange:
    return MemoryChange("not_kept" if statement.kind == "keep" else "not_forgotten", statement.words, why)


def _content_of(operation: Operation) -> str:
    match operation:
        case Add():
            return operation.content
        case Remove():
            return operation.bullet_id
        case _:
            return ""


@dataclass(frozen=True)
class Notice:
    """`answer` is the program's own, None where a model answers; `prompt` is what that model is told.

    `question` ends the model's answer: whether a sensitive statement is to be remembered.
    """

    answer: str | None = None
    prompt: str = ""
    question: str = ""


def notice_of(state: ACEState, memory: Memory, run: Run) -> Notice:
    """Return what the answer to this turn's message has to know."""
    reading, snapshot, resources = reading_of(state, memory, run), memory.snapshot, run.resources
    if reading.clearing is not None:
        return Notice(reading.clearing.answer)
    question = reading.consent_question
    changes = memory_changes(
        (*reading.statements, *reading.confirmed),
        snapshot,
        resources.store.policy,
        resources.clock(),
        asking=bool(question),
        closed=reading.closed,
    )
    earlier = reading.judged or reading.doubted
    check = None
    if earlier is not None and snapshot is not None:
        check = check_objection(earlier, snapshot.playbook.votes.get(earlier.turn.turn_id, {}))
    parts = (render_changes(changes, resources.prompts), render_check(check, resources.prompts))
    return Notice(prompt="\n\n".join(part for part in parts if part), question=question)
