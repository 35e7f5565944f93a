"""The simulated solver: how likely it is right with such a prompt, and which advice it follows.

It reads no text: the simulation knows of every lesson which rule it is about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.quality.world import Lesson, Task

__all__ = ["Outcome", "solve"]

WITH_RIGHT, WITH_OUTDATED, WITH_BOTH = 0.92, 0.12, 0.55
WITH_NONE, WITH_MISCONCEPTION = 0.35, 0.15
LOST_PER_UNRELATED = 0.004
LEAST = 0.02
FOLLOWS_RIGHT = (WITH_BOTH - WITH_OUTDATED) / (WITH_RIGHT - WITH_OUTDATED)
"""With both in the prompt it follows the right one so often: that gives .55 in the mean."""


@dataclass(frozen=True)
class Outcome:
    """Whether the answer was right, and the ids of the bullets that it followed.

    `right`, `outdated` and `unrelated` count the bullets in the prompt.
    """

    success: bool
    cited: tuple[str, ...]
    right: int
    outdated: int
    unrelated: int


def solve(task: Task, prompt: Sequence[str], known: Mapping[str, Lesson]) -> Outcome:
    """Answer with the bullets `prompt` (ids); `known` maps an id to the lesson that its text was."""
    on_subject = [(key, known[key]) for key in prompt if known[key].about(task.skill)]
    right = [key for key, lesson in on_subject if lesson.claim == task.truth]
    outdated = [key for key, lesson in on_subject if lesson.claim != task.truth]
    unrelated = len(prompt) - len(on_subject)
    cited: Sequence[str] = ()
    if right and (not outdated or task.dice.followed < FOLLOWS_RIGHT):
        chance, cited = WITH_RIGHT, right
    elif outdated:
        followed = known[outdated[int(task.dice.followed * 1e6) % len(outdated)]].claim
        chance, cited = WITH_OUTDATED, [key for key in outdated if known[key].claim == followed]
    else:
        chance = WITH_MISCONCEPTION if task.skill.misconception else WITH_NONE
    chance = max(LEAST, chance - LOST_PER_UNRELATED * unrelated)
    return Outcome(task.dice.solved < chance, tuple(cited), len(right), len(outdated), unrelated)
