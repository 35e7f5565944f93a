"""What the answer of a turn has to know: what the message changes in the memory, and the result of a check.

It is decided before the answer, by the same pure functions that the turn's commit is made with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage

from ace_graph.learning.feedback import find_doubted_turn, find_judged_turn, last_exchange, turn_before
from ace_graph.learning.objection import ObjectionCheck, check_objection, told_check
from ace_graph.learning.statements.clearing import clearing_of
from ace_graph.learning.statements.consent import confirmed_statements, consent_question
from ace_graph.learning.statements.explicit import read_statements
from ace_graph.learning.statements.memory_changes import memory_changes, told_changes
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.snapshot import Snapshot
from ace_graph.runtime import Run
from ace_graph.state import ACEState, Memory

__all__ = ["Notice", "notice_of"]


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
    message, messages, snapshot = state["turn"]["question"], state["messages"], memory.snapshot
    closed = _closed(memory, run)
    before = last_exchange(messages)
    clearing = clearing_of(message, before, snapshot, closed=closed)
    if clearing is not None:
        return Notice(clearing.answer)
    resources = run.resources
    sensitive = resources.settings.sensitive_facts
    asks = closed is None and sensitive == "ask"
    playbook = snapshot.playbook if snapshot else Playbook()
    last = turn_before(before, snapshot.access) if before and snapshot else None
    found = read_statements(message, playbook, "preview", sensitive, last.turn_id if last else None)
    question = consent_question(found, messages) if snapshot and asks else ""
    confirmed = confirmed_statements(message, before, snapshot) if snapshot and asks else ()
    changes = memory_changes(
        (*found, *confirmed),
        snapshot,
        resources.store.policy,
        resources.clock(),
        asking=bool(question),
        closed=closed,
    )
    check = _checked(messages, snapshot)
    parts = (told_changes(changes, resources.prompts), told_check(check, resources.prompts))
    return Notice(prompt="\n\n".join(part for part in parts if part), question=question)


def _checked(messages: Sequence[BaseMessage], snapshot: Snapshot | None) -> ObjectionCheck | None:
    if snapshot is None:
        return None
    earlier = find_judged_turn(messages, snapshot.access) or find_doubted_turn(messages, snapshot.access)
    if earlier is None:
        return None
    return check_objection(earlier, snapshot.playbook.votes.get(earlier.turn.turn_id, {}))


def _closed(memory: Memory, run: Run) -> str | None:
    """Why this turn stores nothing, in words for the learner; None where it does."""
    if run.context.memory == "off":
        return "nothing is kept in a temporary chat"
    if run.learner_id is None:
        return "there is no memory in this conversation"
    if run.learning == "off":
        return "learning is off in this conversation"
    return "the memory can't be reached at the moment" if memory.snapshot is None else None
