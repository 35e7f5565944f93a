"""What came of a run.

Does not: compute intervals or write files (evaluation.results does).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ace_graph.learning.adaptation.journal import Journal
from ace_graph.learning.adaptation.measured import Measured
from ace_graph.learning.adaptation.step import Step
from ace_graph.memory.playbook import Playbook

__all__ = ["Adapted", "Epoch"]


@dataclass(frozen=True)
class Epoch:
    """One pass over the training data: its first answers, the validation after it, the playbook's size."""

    number: int
    trained: Measured
    validated: Measured | None
    bullets: int


@dataclass(frozen=True)
class Adapted:
    """A run, finished or not.

    `measured_on` names the phase that `measured` is: test, validation, or train. `controls` are measured on
    the same samples. `phases` are all that was measured, by phase and epoch. `playbook` is the best one, or
    the newest where nothing tells which is best. `asked` is what the run was begun with.
    """

    kind: Literal["offline", "online"]
    asked: Mapping[str, object]
    finished: bool
    playbook: Playbook
    measured_on: str
    measured: Measured
    controls: Mapping[str, Measured] = field(default_factory=dict[str, Measured])
    epochs: tuple[Epoch, ...] = ()
    best_epoch: int | None = None
    phases: Mapping[tuple[str, int], Measured] = field(default_factory=dict[tuple[str, int], Measured])
    journal: Journal | None = None

    def steps(self) -> Iterator[Step]:
        """Yield every step of the run, oldest first."""
        return self.journal.steps() if self.journal is not None else iter(())
