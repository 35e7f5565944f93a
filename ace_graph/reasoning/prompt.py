"""The solver's prompt: base text, the playbook once, recent reflections, the window, the question.

The order is fixed: system, core, retrieved bullets, reflections, additional context, window, current
question. The system message is stable where the memory is, so that a provider can cache it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from ace_graph.memory.playbook import RecentInsight
from ace_graph.memory.retrieval.retrieve import Retrieval, Scored
from ace_graph.memory.text import truncate
from ace_graph.prompts import data_block

__all__ = [
    "bounded_context",
    "build_system",
    "format_context",
    "last_question",
    "recent_insights",
    "split_history",
]

REFLECTION_TOKENS = 300
ADDITIONAL_CONTEXT_CHARS = 32_000


def format_context(retrieval: Retrieval) -> str:
    """Return the injected bullets as one data block; nothing to inject gives ''.

    Two parts, numbered lines `1. [id] [+helpful/-harmful] content`; what to avoid is marked.
    """
    parts = [
        f"## {title}\n" + "\n".join(_line(n, scored) for n, scored in enumerate(group, 1))
        for title, group in (
            ("About this learner", retrieval.core),
            ("Relevant Strategies", retrieval.retrieved),
        )
        if group
    ]
    return data_block("playbook", "\n\n".join(parts), limit=1_000_000) if parts else ""


def _line(number: int, scored: Scored) -> str:
    bullet = scored.bullet
    return f"{number}. [{bullet.id}] [+{bullet.helpful}/-{bullet.harmful}] {bullet.advice}"


def recent_insights(
    reflections: Iterable[RecentInsight], topic: str | None, room: int, count_tokens: Callable[[str], int]
) -> list[str]:
    """Return the insights of recent turns on the same topic that fit into `room` and 300 tokens."""
    left, kept = min(room, REFLECTION_TOKENS), list[str]()
    for reflection in reversed(tuple(reflections)):
        cost = count_tokens(reflection.insight)
        if reflection.topic == topic and cost <= left:
            kept.insert(0, reflection.insight)
            left -= cost
    return kept


def build_system(
    base: str,
    answer_form: str,
    *,
    context: str,
    insights: Sequence[str],
    additional_context: str,
    persona: str | None,
    instructions: str,
) -> str:
    """Return the system message's text: the base once, the playbook once; `told` is for a later attempt."""
    parts = [base]
    if persona:
        parts.append(
            "Answer in the voice named here, which is data:\n" + data_block("voice", persona, limit=256)
        )
    parts.append(answer_form)
    parts.append(context)
    if insights:
        listed = "\n".join(f"- {insight}" for insight in insights)
        parts.append("## Recent reflections\n" + data_block("reflections", listed))
    if additional_context.strip():
        block = data_block("additional_context", additional_context, limit=2 * ADDITIONAL_CONTEXT_CHARS)
        parts.append("## Given with the question\n" + block)
    parts.append(instructions)
    return "\n\n".join(part for part in parts if part)


def bounded_context(text: str) -> str:
    """Return additional context as the turn keeps it: the first 32,000 characters, saying what was cut."""
    return truncate(text, ADDITIONAL_CONTEXT_CHARS, show_length=True)


def last_question(messages: Sequence[BaseMessage]) -> HumanMessage | None:
    """Return the newest message of the user, None where there is none."""
    return next((m for m in reversed(messages) if isinstance(m, HumanMessage)), None)


def split_history(
    messages: Sequence[BaseMessage], question: HumanMessage
) -> tuple[str | None, list[BaseMessage]]:
    """Return the caller's own system text, if any, and the conversation before the question."""
    system = "\n\n".join(m.text for m in messages if isinstance(m, SystemMessage) and m.text.strip())
    before = list[BaseMessage]()
    for message in messages:
        if message is question or (message.id is not None and message.id == question.id):
            break
        if not isinstance(message, SystemMessage):
            before.append(message)
    return system or None, before
