"""Replay: lessons are tried on the question that they came from, before they are kept.

Only a failed answer that a ground truth or an evaluator can judge again is replayed. The solver answers once
more with the lessons in its prompt. Lessons with which the answer gets no better are dropped, with the
reason; those that could not be tried are kept, on trial as any other.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from ace_graph.memory.evidence import Evidence, Verdict, verdict_of

__all__ = ["ReplayOutcome", "helped"]

ReplayOutcome = Literal["kept", "refused", "not tried"]
"""What became of the lessons of a failed turn. `not tried`: the new answer or its check failed to run."""

_RANK: dict[Verdict, int] = {"failure": 0, "partial": 1, "success": 2}


def helped(before: Iterable[Evidence], after: Iterable[Evidence]) -> bool | None:
    """Whether an answer with the lessons is better than the one before; None where no check judged it.

    Better is a better verdict, or a higher score with the same one.
    """
    old, new = _worth(tuple(before)), _worth(tuple(after))
    return None if old is None or new is None else new > old


def _worth(evidence: tuple[Evidence, ...]) -> tuple[int, float] | None:
    verdict = verdict_of(evidence)
    if verdict not in _RANK:
        return None
    scores = [item.score for item in evidence if item.verdict == verdict and item.score is not None]
    return _RANK[verdict], scores[-1] if scores else 0.0
