"""The solver's prompt: base text, the playbook once, recent reflections, window and question (`prompt_for`).

The order is fixed: system, core, retrieved bullets, reflections, additional context, window, current
question. The system message is stable where the memory is, so that a provider can cache it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from logging import DEBUG

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from ace_graph.agent.reasoning.recall import Injection
from ace_graph.agent.reasoning.streaming import ModelReply, ModelSession
from ace_graph.agent.runtime import Run, log_text, logger
from ace_graph.agent.state import ACEState, Plan
from ace_graph.base.errors import InvalidMessage
from ace_graph.base.prompts import data_block, preview
from ace_graph.base.text import truncate
from ace_graph.memory.evidence import Evidence
from ace_graph.memory.window import select_window, truncate_tool_results, window_metrics

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


ADDITIONAL_CONTEXT_CHARS = 32_000
_QUERIES_CHARS = 2_000


def prompt_for(state: ACEState, injection: Injection, run: Run, instructions: str = "") -> SolverPrompt:
    """Return the prompt of an attempt; `instructions` tell a later one what to do beside the playbook.

    Raises InvalidMessage when there is no question.
    """
    prompts, messages = run.resources.prompts, state["messages"]
    question = last_question(messages)
    if question is None:
        raise InvalidMessage("there is no question: the last user message must have text or an attachment")
    # The caller's own system text, if any, and the conversation before the question
    own_system = "\n\n".join(m.text for m in messages if isinstance(m, SystemMessage) and m.text.strip())
    before = list[BaseMessage]()
    for message in messages:
        if message is question or (message.id is not None and message.id == question.id):
            break
        if not isinstance(message, SystemMessage):
            before.append(message)
    # The base once, the playbook once; instructions are those of a later attempt
    parts = [own_system or run.resources.system_prompt or prompts.render("base")]
    if persona := run.context.persona:
        parts.append(
            "Answer in the voice named here, which is data:\n" + data_block("voice", persona, limit=256)
        )
    parts += [prompts.render("answer"), *memory_parts(injection.text, injection.insights)]
    if (given := state["turn"].get("additional_context", "")).strip():
        block = data_block("additional_context", given, limit=2 * ADDITIONAL_CONTEXT_CHARS)
        parts.append("## Given with the question\n" + block)
    system = "\n\n".join(filter(None, [*parts, instructions]))
    size = state["plan"]["window_size"]
    wanted = None if size == "all" else size
    window = truncate_tool_results(select_window(before, wanted, question=question.text))
    if logger.isEnabledFor(DEBUG) and not instructions:  # measuring reads the whole history
        metrics = window_metrics(before, window, run.resources.count_tokens)
        logger.debug(
            "[ACE Window] query=%s size=%s messages=%d of %d tokens=%d of %d queries=%s",
            log_text(run.resources, question.text),
            size,
            metrics.messages_after,
            metrics.messages_before,
            metrics.tokens_after,
            metrics.tokens_before,
            preview([log_text(run.resources, query) for query in metrics.queries], _QUERIES_CHARS),
        )
    # The tool calls of this turn so far, with their results
    since = messages[next(n for n, message in enumerate(messages) if message is question) + 1 :]
    done = (m for m in since if isinstance(m, ToolMessage) or (isinstance(m, AIMessage) and m.tool_calls))
    return SolverPrompt(system, tuple(window), question, tuple(done))


def memory_parts(context: str, insights: Sequence[str]) -> list[str]:
    """Return the part of a system message that comes from the memory: the playbook, recent reflections."""
    parts = [context] if context else []
    if insights:
        listed = "\n".join(f"- {insight}" for insight in insights)
        parts.append("## Recent reflections\n" + data_block("reflections", listed))
    return parts


def bounded_context(text: str) -> str:
    """Return additional context as the turn keeps it: the first 32,000 characters, saying what was cut."""
    return truncate(text, ADDITIONAL_CONTEXT_CHARS, show_length=True)


def last_question(messages: Sequence[BaseMessage]) -> HumanMessage | None:
    """Return the newest message of the user, None where there is none."""
    return next((m for m in reversed(messages) if isinstance(m, HumanMessage)), None)
