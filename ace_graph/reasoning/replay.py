"""Replay: lessons are tried on the question that they came from, before they are kept.

Only a failed answer that a ground truth or an evaluator can judge again is replayed. The solver answers once
more with the lessons in its prompt. Lessons with which the answer gets no better are dropped, with the
reason; those that could not be tried are kept, on trial as any other.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from ace_graph.learning.reflection import Lesson
from ace_graph.memory.evidence import Verdict
from ace_graph.prompts import preview

__all__ = ["ReplayOutcome", "helped", "refused"]

ReplayOutcome = Literal["kept", "refused", "not tried"]
"""What became of the lessons of a failed turn. `not tried`: the new answer or its check failed to run."""

_RANK: dict[Verdict, int] = {"failure": 0, "partial": 1, "success": 2}
_SHOWN = 60


def helped(before: Verdict, after: Verdict) -> bool | None:
    """Whether an answer with the lessons is better than the one before; None where no check judged it."""
    if before not in _RANK or after not in _RANK:
        return None
    return after == "success" or _RANK[after] > _RANK[before]


def refused(
    lessons: Collection[Lesson], tried: Collection[str]
) -> tuple[tuple[Lesson, ...], tuple[str, ...]]:
    """Return the lessons that stay because they were not `tried`, and why the others do not."""
    stay = tuple(lesson for lesson in lessons if lesson.content not in tried)
    gone = (lesson.content for lesson in lessons if lesson.content in tried)
    why = tuple(f"replay: the answer with it is no better: {preview(text, _SHOWN)}" for text in gone)
    return stay, why
