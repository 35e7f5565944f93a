"""A retry: the question once more with the new lessons in the prompt, to see whether they help.

Only where the new answer can be judged without asking anybody, by a ground truth or an evaluator. It is not
shown to the learner, moves no counter, and is no evidence; it tells the reflector whether to look again.

Does not: answer (ace_graph.attempt does).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from ace_graph.memory.evidence import Evidence, Verdict, verdict_of
from ace_graph.models import Usage
from ace_graph.run import Run

__all__ = ["AnswerAgain", "Retry", "may_retry"]


@dataclass(frozen=True)
class Retry:
    """The new answer, what the evidence says about it, and what it cost."""

    answer: str
    evidence: tuple[Evidence, ...]
    usage: Usage

    @property
    def verdict(self) -> Verdict:
        """What the evidence amounts to."""
        return verdict_of(self.evidence)


AnswerAgain = Callable[[Sequence[str]], Awaitable[Retry]]
"""Answers the turn's question with these lessons in the prompt."""


def may_retry(evidence: Sequence[Evidence], run: Run) -> bool:
    """Whether a retry makes sense: the answer did not pass, there are rounds left, and it can be judged."""
    judge = run.context.ground_truth is not None or run.resources.evaluator is not None
    return run.context.max_reflection_rounds > 1 and judge and verdict_of(evidence) in ("failure", "partial")
