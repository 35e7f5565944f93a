"""Samples to learn from, and the environment that judges answers to them.

An environment is any Python function of a sample and an answer, sync or async. It returns how much of the
answer is right, with feedback if it likes, or a bool.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ace_graph.agent.evidence import Form
from ace_graph.base.errors import EnvironmentFailed
from ace_graph.memory.evidence import Verdict


@dataclass(frozen=True)
class Sample:
    """One task: the question, the right answer where there is one, and how many parts of it are counted.

    `units` is what accuracy is counted in: 1, or the number of labels where an answer holds several. A call
    that failed loses all of them. `form` says whether a number is right in any form that has its value or
    only written as the target is.
    """

    id: str
    question: str
    target: str | None = None
    units: int = 1
    form: Form = "any"


@dataclass(frozen=True)
class Outcome:
    """How many of a sample's units are right, and feedback for the reflector."""

    right: int
    feedback: str = ""

    def verdict(self, units: int) -> Verdict:
        """Return success where all units are right, failure where none is, else partial."""
        if self.right >= units:
            return "success"
        return "partial" if self.right > 0 else "failure"


Environment = Callable[[Sample, str], "Outcome | bool | Awaitable[Outcome | bool]"]
"""Judges an answer to a sample. A sync function blocks the event loop while it runs."""


async def judge(environment: Environment, sample: Sample, answer: str) -> Outcome:
    """Return the environment's outcome. Raises EnvironmentFailed for an exception or a wrong type."""
    try:
        judged = environment(sample, answer)
        outcome = await judged if inspect.isawaitable(judged) else judged
    except Exception as error:
        raise EnvironmentFailed(
            f"the environment failed on sample {sample.id} ({type(error).__name__}: {error}): fix it and "
            "resume; this sample will be tried again"
        ) from error
    if isinstance(outcome, bool):
        return Outcome(sample.units if outcome else 0)
    if not isinstance(outcome, Outcome) or not 0 <= outcome.right <= sample.units:  # pyright: ignore[reportUnnecessaryIsInstance]  # a user's function
        raise EnvironmentFailed(
            f"the environment gave {outcome!r} for sample {sample.id}: it must give a bool, or an Outcome "
            f"with 0 to {sample.units} units right"
        )
    return outcome
