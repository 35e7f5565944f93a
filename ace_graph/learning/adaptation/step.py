"""One answered sample, as a line of `steps.jsonl`.

A step of practice holds the commit that it made, so that the lines alone bring back the memory: a step is
in the file with all that it did, or it did not happen.

Does not: hold the sample's text; its place in the data says which one it is.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from ace_graph.memory.delta import Delta
from ace_graph.memory.evidence import Verdict
from ace_graph.memory.turn import TurnRecord

__all__ = ["MAX_ANSWER_CHARS", "Committed", "Cost", "Learned", "Step"]

MAX_ANSWER_CHARS = 2_000

Amount = Annotated[int, Field(ge=0)]


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Cost(_Line):
    """Calls that were answered, and their tokens."""

    calls: Amount = 0
    input_tokens: Amount = 0
    output_tokens: Amount = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
        )


class Learned(_Line):
    """What the step changed in the memory, in ids."""

    added: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    tagged: tuple[str, ...] = ()
    superseded: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    quarantined: tuple[str, ...] = ()
    error: str | None = None


class Committed(_Line):
    """The step's commit, to be made again when the run is resumed."""

    delta: Delta
    record: TurnRecord | None = None


class Step(_Line):
    """One answered sample.

    `number` counts from 1 within phase and epoch, `index` is the sample's place in its data, from 0. `right`
    of `units`, `correct` and `answer` are those of the first answer, before any revision. `seconds` is wall
    time. `bullets` is the size of the playbook after the step.
    """

    phase: str
    epoch: Amount
    number: Amount
    index: Amount
    sample: str
    target: str | None = None
    answer: str = ""
    right: Amount = 0
    units: Amount = 1
    correct: bool = False
    failed: bool = False
    error: str | None = None
    verdict: Verdict = "unknown"
    attempts: Amount = 0
    injected: tuple[str, ...] = ()
    cited: tuple[str, ...] = ()
    withheld: bool = False
    learned: Learned | None = None
    bullets: Amount = 0
    usage: dict[str, Cost] = Field(default_factory=dict[str, Cost])
    seconds: Annotated[float, Field(ge=0)] = 0
    commit: Committed | None = None
