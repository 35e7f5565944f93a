"""The steps of a graph turn, as its trajectory keeps them: the decision, the tool calls, their results; and
what a reflector reads of a trajectory that is stored.

Does not: hold the scratchpad; what the model thought to itself is not kept.
"""

from __future__ import annotations

from collections.abc import Iterator

from ace_graph.learning.reflector import Subject
from ace_graph.memory.trace import MAX_STEP_CHARS, Step
from ace_graph.memory.turn import TurnRecord
from ace_graph.prompts import preview
from ace_graph.state import ACEState, Attempt

__all__ = ["steps_of", "subject_of"]


def steps_of(state: ACEState, attempt: Attempt) -> Iterator[Step]:
    """Yield the steps in order; a long text is cut at 1,000 characters."""
    plan = state["plan"]
    yield Step(
        kind="decision",
        text=f"answer in mode {plan['mode']}",
        metadata={"topic": plan["topic"], "injected": len(attempt["injected"])},
    )
    for line in attempt["trace"]:
        speaker, _, text = line.partition(": ")
        yield Step(kind="action" if speaker == "ai" else "observation", text=_bounded(text))
    if attempt["problem"]:
        yield Step(kind="observation", text=_bounded(attempt["problem"]))
    yield Step(kind="action", text="answer", metadata={"cited": len(attempt["cited"])})


def subject_of(turn: TurnRecord) -> Subject:
    """Return what a stored trajectory shows to the reflector."""
    lines = (
        f"{step.kind}: {step.text}" + (f" (x{step.times})" if step.times > 1 else "") for step in turn.steps
    )
    return Subject(
        turn_id=turn.turn_id,
        question=turn.task,
        answer=turn.answer or turn.error or f"(ended as {turn.status})",
        injected=tuple(dict.fromkeys((*turn.injected, *turn.cited))),
        cited=turn.cited,
        topic=turn.topic,
        trace=tuple(lines),
    )


def _bounded(text: str) -> str:
    clean = text.encode("utf-8", "replace").decode("utf-8")
    return clean if len(clean) <= MAX_STEP_CHARS else preview(clean, MAX_STEP_CHARS)
