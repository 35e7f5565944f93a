"""How often wrong advice is shown again after it has failed: counted from outside, not from the counters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from benchmarks.quality.solver import Outcome
from benchmarks.quality.world import Lesson, Task, World

__all__ = ["Lies"]

FAILURES = 2


class Lies:
    """The wrong advice of one life: its failures on evidence, and how often it was shown after the second.

    A claim is wrong where its rule, be it changed or not, says something else at that moment. `late` counts
    showings after two failures without a success since, `lucky` those after two failures in all.
    """

    def __init__(self, world: World) -> None:
        self.late = 0
        self.lucky = 0
        self._feedback = world.setting.feedback
        self._half = world.half
        self._skills = {task.skill.number: task.skill for task in world.tasks}
        self._failed: Counter[str] = Counter()
        self._in_a_row: Counter[str] = Counter()

    def count(self, task: Task, outcome: Outcome, shown: Mapping[str, Lesson]) -> None:
        """Count the bullets (id -> lesson) of one prompt, then remember how its answer went."""
        wrong = {key for key, lesson in shown.items() if self._wrong(lesson, task.number)}
        late = {key for key in wrong if self._in_a_row[key] >= FAILURES}
        self.late += len(late)
        self.lucky += sum(self._failed[key] >= FAILURES for key in wrong - late)
        if task.dice.told >= self._feedback:
            return
        for key in outcome.cited:
            self._in_a_row[key] = 0 if outcome.success else self._in_a_row[key] + 1
            self._failed[key] += key in wrong and not outcome.success

    def _wrong(self, lesson: Lesson, turn: int) -> bool:
        if lesson.skill is None:
            return False
        skill = self._skills[lesson.skill]
        return lesson.claim != skill.claims[1 if skill.changes and turn >= self._half else 0]
