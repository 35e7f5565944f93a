"""Asks once whether a sensitive statement is to be remembered, and recognises the yes.

The question ends the answer to the message that held the statement, in its language. Nothing is stored
before the yes, not even what was asked: the yes is recognised without a checkpointer, because the answer
before it is one of ours (its hash is among the learner's recent turns), and that answer ends with the
question that follows from the message before it.
"""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage

from ace_graph.languages.detection import spoken_language
from ace_graph.learning.feedback import Exchange, turn_before
from ace_graph.learning.statements.explicit import read_statements
from ace_graph.learning.statements.forms import is_yes, question_text
from ace_graph.learning.statements.statement import Statement
from ace_graph.memory.snapshot import Snapshot

__all__ = ["confirmed_statements", "consent_question"]


def consent_question(found: Sequence[Statement], messages: Sequence[BaseMessage]) -> str:
    """Return the question that the answer to a message with these statements ends with, '' for none.

    `messages` is the conversation: what was asked in it before is not asked again.
    """
    question = _question(_waiting(found))
    answers = (each.text for each in messages if isinstance(each, AIMessage))
    return "" if not question or any(question in answer for answer in answers) else question


def confirmed_statements(message: str, before: Exchange | None, snapshot: Snapshot) -> list[Statement]:
    """Return the statements that the learner's yes to our question keeps; none for other messages."""
    if before is None or not is_yes(message):
        return []
    known = turn_before(before, snapshot.access)
    if known is None:
        return []
    waiting = _waiting(read_statements(before.question, snapshot.playbook, known.turn_id, "ask"))
    question = _question(waiting)
    if not question or not before.answer.endswith(question):
        return []
    return [Statement("keep", each.words, each.after_yes) for each in waiting]


def _waiting(found: Sequence[Statement]) -> list[Statement]:
    return [each for each in found if each.after_yes is not None]


def _question(waiting: Sequence[Statement]) -> str:
    if not waiting:
        return ""
    words = ", ".join(f'"{each.words}"' for each in waiting)
    return question_text(spoken_language(waiting[0].words), words)
