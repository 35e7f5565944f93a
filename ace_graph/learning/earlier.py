"""The turn that a message gives feedback on: found by the hash of the answer that stands before it.

Works across conversations and without a checkpointer, because the learner's access part remembers the
hashes of the last 20 answers.

Does not: judge; the rules for that are in feedback.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from ace_graph.learning.feedback import Feedback, read_feedback
from ace_graph.memory.access import Access
from ace_graph.memory.evidence import Evidence
from ace_graph.memory.turn import RecentTurn, answer_hash

__all__ = ["Earlier", "Exchange", "judged_earlier", "last_exchange"]


@dataclass(frozen=True)
class Exchange:
    """What was asked and answered before the newest message of the user, and that message."""

    question: str
    answer: str
    message: str


@dataclass(frozen=True)
class Earlier:
    """An earlier turn, what was asked and answered in it, and the feedback on it."""

    turn: RecentTurn
    question: str
    answer: str
    feedback: Feedback

    @property
    def evidence(self) -> Evidence:
        """The feedback as the learner's evidence; a correction is named as such."""
        correction = self.feedback.correction
        text = f"{self.feedback.text} (corrected value: {correction})" if correction else self.feedback.text
        return Evidence(source="learner", verdict=self.feedback.verdict, text=text[:2_000], by="learner")


def last_exchange(messages: Sequence[BaseMessage]) -> Exchange | None:
    """Return the exchange before the newest user message, None where there is none.

    `messages` is the conversation up to and including this turn's question (what comes after it, this
    turn's own answer, is left aside).
    """
    positions = [i for i, message in enumerate(messages) if isinstance(message, HumanMessage)]
    if not positions:
        return None
    before = messages[: positions[-1]]
    answers = [m for m in before if isinstance(m, AIMessage) and not m.tool_calls and m.text.strip()]
    if not answers:
        return None
    question = next((m.text for m in reversed(before) if isinstance(m, HumanMessage)), "")
    return Exchange(question, answers[-1].text, messages[positions[-1]].text)


def judged_earlier(messages: Sequence[BaseMessage], access: Access) -> Earlier | None:
    """Return the earlier turn that the newest user message judges; None where it judges none we know."""
    last = last_exchange(messages)
    if last is None:
        return None
    feedback = read_feedback(last.message, last.answer)
    known = {turn.answer_hash: turn for turn in access.recent_turns}.get(answer_hash(last.answer))
    if feedback is None or known is None:
        return None
    return Earlier(known, last.question, last.answer, feedback)
