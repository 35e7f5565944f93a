"""What is said in the demo: two learners, two sessions. The answers are the agent's own.

Does not: hold a single answer.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FIRST_SESSION", "SECOND_SESSION", "Said"]


@dataclass(frozen=True)
class Said:
    """One message of a learner; `truth` is the right answer, known to the critic only."""

    learner: str
    text: str
    truth: str | None = None


FIRST_SESSION = (
    Said("ada", "Call me Ada. I prefer pictures."),
    Said("ada", "I keep mixing up the denominators when I add fractions."),
    Said("ada", "What is 1/2 + 1/3?", truth="5/6"),
    Said("ben", "Talk to me like a pirate."),
    Said("ben", "What is 12 * 5?", truth="60"),
    Said("ben", "What is 7/8 + 1/2?"),
    Said("ben", "That's wrong, it should be 1 3/8."),
)

SECOND_SESSION = (
    Said("ada", "What is 3/4 + 1/6?", truth="11/12"),
    Said("ben", "What is 3/4 + 1/6?", truth="11/12"),
    Said("ben", "What is 5/6 + 1/2?"),
    Said("ben", "That's right."),
    Said("ada", "Actually, call me Countess Ada."),
    Said("ada", "What do you know about me?"),
    Said("ben", "What do you know about me?"),
)
