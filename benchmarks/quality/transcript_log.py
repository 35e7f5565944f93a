"""The last turns of a simulated learner as they were: the material of the policies that learn nothing.

What a model can draw from a transcript is what the memory's reflector can: the lesson of a turn that is
reflected on, with the same slips, and beside it the right value of every answer that is known to be right.
All other transcripts say nothing of the rule.
"""

from __future__ import annotations

from collections.abc import Sequence

from ace_graph.memory.evidence import Verdict
from ace_graph.memory.search.tokenize import estimate_tokens
from ace_graph.training.journal import AdaptationStep
from ace_graph.training.options import LastTranscripts
from ace_graph.training.samples import Sample
from benchmarks.quality.world import Lesson, Task

__all__ = ["BUDGETS", "TranscriptLog"]

BUDGETS = (2_000, 200)
"""Tokens: the budget of the memory, and about what it uses of it."""


class TranscriptLog:
    """The newest transcripts within each budget, and what can be drawn from each."""

    def __init__(self) -> None:
        self._last = {budget: LastTranscripts(budget) for budget in BUDGETS}
        self.drawn: dict[str, Lesson] = {}

    def add(self, task: Task, *, success: bool, verdict: Verdict, reflected: Sequence[Lesson]) -> None:
        """Take a turn as the newest."""
        key = f"transcript-{task.number}"
        self.drawn[key] = _drawn(task, success=success, verdict=verdict, reflected=reflected)
        step = AdaptationStep(
            phase="life",
            epoch=0,
            number=task.number + 1,
            index=task.number,
            sample=key,
            answer=task.lessons[0].text,
            verdict=verdict,
        )
        for last in self._last.values():
            last.add(Sample(key, task.question), step)

    def shown(self, budget: int) -> tuple[tuple[str, ...], int]:
        """Return the ids of the transcripts within a budget, and the tokens that they take."""
        shown = self._last[budget].shown()
        return shown.samples, estimate_tokens(shown.text)


def _drawn(task: Task, *, success: bool, verdict: Verdict, reflected: Sequence[Lesson]) -> Lesson:
    told = next((lesson for lesson in reflected if lesson.skill is not None), None)
    if success and verdict == "success":
        return Lesson(task.question, "right", task.skill.number, task.truth)
    return told or Lesson(task.question, "useless", None, None)
