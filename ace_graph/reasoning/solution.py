"""The input and the output of a way of reasoning: the parts of the prompt, and the answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from ace_graph.memory.evidence import Evidence
from ace_graph.reasoning.streaming import ModelReply, ModelSession
from ace_graph.state import Plan

__all__ = ["Reason", "Solution", "SolverPrompt", "solution_of"]

NO_ANSWER = "I could not find an answer to this."


@dataclass(frozen=True)
class SolverPrompt:
    """The parts of the solver's prompt in order: system (with the playbook), window, question.

    `done` are the tool calls of earlier attempts at the question, with their results.
    """

    system: str
    window: tuple[BaseMessage, ...]
    question: HumanMessage
    done: tuple[BaseMessage, ...] = ()

    def messages(self, extra: str = "") -> list[BaseMessage]:
        """Return the messages of a call; `extra` is added to the end of the system message."""
        system = f"{self.system}\n\n{extra}" if extra else self.system
        return [SystemMessage(system), *self.window, self.question, *self.done]


@dataclass(frozen=True)
class Solution:
    """An answer with its scratchpad, the ids it names, the tool messages, and a problem, if any.

    `raw` is the text of the reply that the answer was read from; `consulted` names the attached playbooks
    whose bullets a tool has shown.
    """

    answer: str
    reasoning: str
    used: tuple[str, ...]
    raw: str
    trace: tuple[BaseMessage, ...] = ()
    tool_evidence: tuple[Evidence, ...] = ()
    problem: str | None = None
    consulted: tuple[str, ...] = ()


Reason = Callable[[SolverPrompt, Plan, ModelSession], Awaitable[Solution]]


def solution_of(
    reply: ModelReply, session: ModelSession, reasoning: str = "", trace: tuple[BaseMessage, ...] = ()
) -> Solution:
    """Return the solution in a final reply; one without any text becomes an honest sentence."""
    answer = reply.parsed.answer
    if not answer:
        answer = f"{NO_ANSWER[:-1]}: {reply.problem}." if reply.problem else NO_ANSWER
        session.push_text(answer)
    return Solution(
        answer=answer,
        reasoning="\n".join(part for part in (reasoning, reply.parsed.reasoning) if part),
        used=reply.parsed.used,
        raw=reply.message.text,
        trace=trace,
        problem=reply.problem,
    )
