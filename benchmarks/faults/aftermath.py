"""What is left after a fault: is the turn there once, is it there at all, is everything else in order."""

from __future__ import annotations

from dataclasses import dataclass

from ace_graph.memory.stores.store import Store
from ace_graph.testing.invariants import problems
from benchmarks.faults.turn import ADVICE, LESSON, QUESTION, STATEMENT

__all__ = ["Aftermath", "look"]


@dataclass(frozen=True)
class Aftermath:
    """How often the turn, its lesson, its statement and its vote are there; `wrong` breaks an invariant."""

    turns: int
    lessons: int
    statements: int
    votes: int
    wrong: tuple[str, ...] = ()

    @property
    def once(self) -> bool:
        """Whether the turn took effect exactly once."""
        return (self.turns, self.lessons, self.statements, self.votes) == (1, 1, 1, 1) and not self.wrong

    @property
    def never(self) -> bool:
        """Whether it left nothing at all."""
        return (self.turns, self.lessons, self.statements, self.votes) == (0, 0, 0, 0) and not self.wrong

    @property
    def whole(self) -> bool:
        """Whether the turn is there once or not at all.

        An evaluator that failed costs its vote, a reflector its lesson.
        """
        bounded = max(self.lessons, self.votes) <= self.turns <= 1
        return bounded and self.statements == self.turns and not self.wrong


async def look(store: Store, learner: str) -> Aftermath:
    """Return what is stored of the learner."""
    exported = await store.export(learner)
    bullets = exported.snapshot.playbook.bullets()
    return Aftermath(
        turns=sum(turn.task == QUESTION for turn in exported.turns),
        lessons=sum(bullet.seen for bullet in bullets if bullet.content == LESSON),
        statements=sum(bullet.seen for bullet in bullets if bullet.content == STATEMENT),
        votes=sum(bullet.helpful for bullet in bullets if bullet.content == ADVICE),
        wrong=tuple(problems(exported)),
    )
