"""The one reading of a turn's message: what it says of the learner, and of the answer before it.

The solver's prompt, the answer of the program and the commit of the turn are all made of this reading. What
the answer has to know (`notice_of`) is decided before it, by the same pure functions as the turn's commit:
what the message changes in the memory, and the result of a check.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Literal

from ace_graph.base.off_loop import off_loop, run_off_loop
from ace_graph.base.prompts import Prompts, data_block, preview
from ace_graph.learning.feedback import (
    JudgedExchange,
    JudgedTurn,
    check_objection,
    find_doubted_turn,
    find_judged_turn,
    last_exchange,
    render_check,
    turn_before,
)
from ace_graph.learning.statements import forms
from ace_graph.learning.statements.explicit import corrected, read_statements
from ace_graph.learning.statements.forms import FILLER, pattern
from ace_graph.learning.statements.model_facts import confirmed_statements, consent_question
from ace_graph.learning.statements.sentences import sentences, skip
from ace_graph.learning.statements.statement import Own, SensitiveFacts, Statement, dated
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.delta.effect import Put
from ace_graph.memory.delta.operations import Add, Delta, Remove
from ace_graph.memory.delta.resolve import resolve
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.policy import Policy
from ace_graph.memory.snapshot import Access, Snapshot
from ace_graph.memory.turn import answer_hash

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

    from ace_graph.agent.runtime import Run
    from ace_graph.agent.state import ACEState, Memory

# Clears the memory when a message asks to forget everything and the learner confirms it with a yes.
#
# The yes is recognised without a checkpointer: the answer before it is one of ours (its hash is among the
# learner's recent turns) and asked for it, and the message before that one asked to forget everything. The
# program itself answers these messages, so that no model confirms what was not done.
#
# The history of the playbook and the turn records stay; the command `learner forget` and the route DELETE
# /api/learner delete them.


_ASKED = "Shall I forget everything that I remember about you?"
_LEFT = (
    "The older versions of this memory and the records of our conversations are not part of that: whoever "
    "runs this program can delete them."
)
_MAX_YES_CHARS = 80

_VERB = pattern("clearing_verb")
_CLEAR = pattern("clear")
_YES = pattern("yes")
_JOINT = re.compile(r",? (?:and|then|also) |, | [-–—] ", re.IGNORECASE)
"""What may part the request from the rest of its sentence. Behind "but" stands an exception from it."""
_SUBJECT = re.compile(r"(?:i|we|you|they)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Clearing:
    """What the program answers, and whether this turn clears the memory."""

    answer: str
    clears: bool = False


def asks_to_clear(message: str) -> bool:
    """Whether a sentence of `message` asks to forget everything about the learner."""
    return any(_clears(each.masked) for each in sentences(message))


def _clears(sentence: str) -> bool:
    """Whether a part of the sentence asks for it, whose verb belongs to nobody ("I panic and forget all")."""
    if forms.asks_to_clear(sentence):
        return True
    if _VERB.search(sentence) is None:
        return False  # most sentences need not be taken apart
    begin = 0
    for joint in _JOINT.finditer(sentence):
        if _CLEAR.fullmatch(sentence, skip(FILLER, sentence, begin), joint.start()) is not None:
            return True
        if _SUBJECT.match(sentence, begin) is not None:
            return False
        begin = joint.end()
    return _CLEAR.fullmatch(sentence, skip(FILLER, sentence, begin)) is not None


def clearing_of(
    message: str, before: JudgedExchange | None, snapshot: Snapshot | None, *, closed: str | None = None
) -> Clearing | None:
    """Return the answer to a message that asks to forget everything, or says yes to that; None for others.

    `before` is the exchange before the message; `closed` says why this turn stores nothing, if so.
    """
    if before is not None and snapshot is not None and _confirms(message, before, snapshot.access):
        if closed:
            return Clearing(f"Nothing is forgotten: {closed}.")
        forgotten = f"I have forgotten {_counted(snapshot)} that I remembered about you."
        return Clearing(f"{forgotten} {_LEFT}", clears=True)
    if not asks_to_clear(message):
        return None
    if snapshot is None or closed is not None:
        return Clearing(f"Nothing is forgotten: {closed or 'there is no memory in this conversation'}.")
    if not len(snapshot.playbook):
        return Clearing(f"There is nothing to forget: I remember nothing about you. {_LEFT}")
    said = (each.masked for each in sentences(message))
    alone = all(
        forms.asks_to_clear(each) or _CLEAR.fullmatch(each, skip(FILLER, each)) is not None for each in said
    )
    unread = "" if alone else " I have done nothing of the rest of your message yet."
    return Clearing(
        f'Answer "yes" and I forget {_counted(snapshot)} that I remember about you; any other answer '
        f"changes nothing.{unread} {_LEFT} {_ASKED}"
    )


def _confirms(message: str, before: JudgedExchange, access: Access) -> bool:
    words = message.strip()
    if len(words) > _MAX_YES_CHARS or not (_YES.fullmatch(words) or forms.is_plain_yes(words)):
        return False
    ours = answer_hash(before.answer) in {turn.answer_hash for turn in access.recent_turns}
    return ours and _ASKED in before.answer and asks_to_clear(before.question)


def _counted(snapshot: Snapshot) -> str:
    count = len(snapshot.playbook)
    return "the 1 thing" if count == 1 else f"all {count} things"


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
    today: date,
    sensitive: SensitiveFacts,
    closed: str | None = None,
) -> MessageReading:
    """Return what `message` says, the newest of `messages`; `turn_id` names the turn that it begins.

    `today` is the day where the learner is. Takes time linear in the message's length.
    """
    before = last_exchange(messages)
    clearing = clearing_of(message, before, snapshot, closed=closed)
    if clearing is not None:
        return MessageReading(turn_id, closed, clearing)
    if snapshot is None:
        found = read_statements(message, Playbook(), turn_id, sensitive)
        return MessageReading(turn_id, closed, statements=tuple(found))
    last = turn_before(before, snapshot.access) if before is not None else None
    last_id = last.turn_id if last is not None else None
    own = Own(snapshot.playbook)
    said = corrected(message, own, last_id)
    found = read_statements(said, snapshot.playbook, turn_id, sensitive, last_id)
    if said != message and last_id is not None:
        found = [_instead(each, own.said_in(last_id)) for each in found]
    asks = closed is None and sensitive == "ask"
    judged = (
        find_judged_turn(messages, snapshot.access) if said == message else None
    )  # else they correct themselves
    return MessageReading(
        turn_id,
        closed,
        statements=tuple(dated(statement, today) for statement in found),
        confirmed=tuple(
            dated(statement, today) for statement in confirmed_statements(message, before, snapshot)
        )
        if asks
        else (),
        consent_question=consent_question(found, messages) if asks else "",
        judged=judged,
        doubted=find_doubted_turn(messages, snapshot.access) if judged is None else None,
    )


def _instead(statement: Statement, wrong: Sequence[Bullet]) -> Statement:
    """Return a statement that corrects these: a value of its slot among them was never true."""
    kept = statement.operation
    if not isinstance(kept, Add) or kept.slot is None:
        return statement
    contested = tuple(bullet.id for bullet in wrong if bullet.slot == kept.slot)
    return replace(statement, operation=kept.model_copy(update={"contests": contested}))


def reading_of(state: ACEState, memory: Memory, run: Run) -> MessageReading:
    """Return the reading of the turn's message: made once, and kept with the memory of the run."""
    turn = state["turn"]
    if memory.reading is None or memory.reading.turn_id != turn["turn_id"]:
        memory.reading = read_message(
            turn["question"],
            state["messages"],
            memory.snapshot,
            turn["turn_id"],
            run.today(),
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
        return list(dict.fromkeys(_undone(statement, why) for statement in found))
    operations = tuple(statement.operation for statement in found if statement.operation is not None)
    effect = resolve(snapshot, Delta(op_id="preview", now=now, operations=operations, origin="turn"), policy)
    # Why operations come to nothing, by the text that they add or the id that they remove
    kept_back = {
        change.bullet.content: f"kept back: {change.bullet.quarantine_reason}"
        for change in effect.changes
        if isinstance(change, Put) and change.bullet.status == "quarantined"
    }
    refused = kept_back | {rejection.id: rejection.why for rejection in effect.report.rejected}
    return list(dict.fromkeys(_outcome(statement, refused, asking=asking) for statement in found))


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


def _outcome(statement: Statement, refused: dict[str, str], *, asking: bool) -> MemoryChange:
    if asking and statement.after_yes is not None:
        return MemoryChange("asked", statement.words)
    if statement.kind == "which":
        return MemoryChange("which", statement.words)
    if statement.operation is None:
        return _undone(statement, statement.why)
    operation = statement.operation
    key = operation.content if isinstance(operation, Add) else ""
    why = refused.get(operation.bullet_id if isinstance(operation, Remove) else key)
    if why is not None:
        return _undone(statement, why)
    return MemoryChange("kept" if statement.kind == "keep" else "forgotten", statement.words)


def _undone(statement: Statement, why: str) -> MemoryChange:
    return MemoryChange("not_kept" if statement.kind == "keep" else "not_forgotten", statement.words, why)


@dataclass(frozen=True)
class Notice:
    """`answer` is the program's own, None where a model answers; `prompt` is what that model is told.

    `question` ends the model's answer: whether a sensitive statement is to be remembered.
    """

    answer: str | None = None
    prompt: str = ""
    question: str = ""


async def notice_of(state: ACEState, memory: Memory, run: Run) -> Notice:
    """Return what the answer to this turn's message has to know.

    A message that states nothing is read where it is; what statements change is resolved in a thread.
    """
    size = sum(len(message.text) for message in state["messages"][-3:])  # the exchange before it is read, too
    reading = await run_off_loop(size, reading_of, state, memory, run)
    snapshot, resources = memory.snapshot, run.resources
    if reading.clearing is not None:
        return Notice(reading.clearing.answer)
    question, said = reading.consent_question, (*reading.statements, *reading.confirmed)
    changes = list[MemoryChange]()
    if said:
        changes = await off_loop(
            memory_changes,
            said,
            snapshot,
            resources.store.policy,
            resources.clock(),
            asking=bool(question),
            closed=reading.closed,
        )
    earlier = reading.judged or reading.doubted
    check = None
    if earlier is not None and snapshot is not None:
        votes = snapshot.playbook.votes.get(earlier.turn.turn_id, {})
        check = await run_off_loop(size, check_objection, earlier, votes)
    parts = (render_changes(changes, resources.prompts), render_check(check, resources.prompts))
    return Notice(prompt="\n\n".join(part for part in parts if part), question=question)
