"""The one reading of a turn's message: what it says of the learner, and of the answer before it.

The solver's prompt, the answer of the program and the commit of the turn are all made of this reading.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage

from ace_graph.agent.runtime import Run
from ace_graph.agent.state import ACEState, Memory
from ace_graph.learning.feedback import (
    JudgedTurn,
    find_doubted_turn,
    find_judged_turn,
    last_exchange,
    turn_before,
)
from ace_graph.learning.statements.clearing import Clearing, clearing_of
from ace_graph.learning.statements.explicit import read_statements
from ace_graph.learning.statements.learner_facts import confirmed_statements, consent_question
from ace_graph.learning.statements.statement import SensitiveFacts, Statement
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.snapshot import Snapshot


@dataclass(frozen=True)
class MessageReading:
    """What the message of the turn `turn_id` says.

    `clearing` asks to forget everything, or confirms that: then nothing else is read. `statements` are those
    of the message, `confirmed` those that its yes keeps; `consent_question` asks about the sensitive ones.
    `judged` is the earlier turn that the message judges, `doubted` the one whose answer it only doubts.
    `closed` says why this turn stores nothing, None where it does.
    """

    turn_id: str
    closed: str | None = None
    clearing: Clearing | None = None
    statements: tuple[Statement, ...] = ()
    confirmed: tuple[Statement, ...] = ()
    consent_question: str = ""
    judged: JudgedTurn | None = None
    doubted: JudgedTurn | None = None


def read_message(
    message: str,
    messages: Sequence[BaseMessage],
    snapshot: Snapshot | None,
    turn_id: str,
    sensitive: SensitiveFacts,
    closed: str | None = None,
) -> MessageReading:
    """Return what `message` says, the newest of `messages`; `turn_id` names the turn that it begins.

    Takes time linear in the message's length.
    """
    before = last_exchange(messages)
    clearing = clearing_of(message, before, snapshot, closed=closed)
    if clearing is not None:
        return MessageReading(turn_id, closed, clearing)
    if snapshot is None:
        found = read_statements(message, Playbook(), turn_id, sensitive)
        return MessageReading(turn_id, closed, statements=tuple(found))
    last = turn_before(before, snapshot.access) if before is not None else None
    found = read_statements(message, snapshot.playbook, turn_id, sensitive, last.turn_id if last else None)
    asks = closed is None and sensitive == "ask"
    judged = find_judged_turn(messages, snapshot.access)
    return MessageReading(
        turn_id,
        closed,
        statements=tuple(found),
        confirmed=tuple(confirmed_statements(message, before, snapshot)) if asks else (),
        consent_question=consent_question(found, messages) if asks else "",
        judged=judged,
        doubted=find_doubted_turn(messages, snapshot.access) if judged is None else None,
    )


def reading_of(state: ACEState, memory: Memory, run: Run) -> MessageReading:
    """Return the reading of the turn's message: made once, and kept with the memory of the run."""
    turn = state["turn"]
    if memory.reading is None or memory.reading.turn_id != turn["turn_id"]:
        memory.reading = read_message(
            turn["question"],
            state["messages"],
            memory.snapshot,
            turn["turn_id"],
            run.resources.settings.sensitive_facts,
            _closed(memory, run),
        )
    return memory.reading


def _closed(memory: Memory, run: Run) -> str | None:
    """Why this turn stores nothing, in words for the learner; None where it does."""
    if run.context.memory == "off":
        return "nothing is kept in a temporary chat"
    if run.learner_id is None:
        return "there is no memory in this conversation"
    if run.learning == "off":
        return "learning is off in this conversation"
    return "the memory can't be reached at the moment" if memory.snapshot is None else None
