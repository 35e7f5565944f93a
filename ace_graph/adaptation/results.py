"""What came of a run.

What was measured over one set of samples: counts, kept in a few bytes a sample.

Does not: compute intervals or write files (evaluation.results does).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ace_graph.adaptation.journal import Cost, Journal, Step
from ace_graph.memory.playbook import Playbook

__all__ = ["Adapted", "Epoch", "Measured"]


_ANSWERED, _FAILED = 1, 2


class Measured:
    """The first answers to `count` samples, as far as they have come. Grows by `add`."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.total = self.correct = self.failed = self.right_units = self.all_units = 0
        self.reflector_errors = 0
        self.seconds = 0.0
        self._right = array("L", bytes(array("L").itemsize * count))
        self._units = array("L", bytes(array("L").itemsize * count))
        self._state = bytearray(count)
        self._usage: dict[str, Cost] = {}

    def add(self, step: Step) -> None:
        """Count a step; each sample once."""
        self.total += 1
        self.correct += step.correct
        self.failed += step.failed
        self.right_units += step.right
        self.all_units += step.units
        self.reflector_errors += step.learned is not None and step.learned.error is not None
        self.seconds += step.seconds
        self._right[step.index], self._units[step.index] = step.right, step.units
        self._state[step.index] = _FAILED if step.failed else _ANSWERED
        for role, cost in step.usage.items():
            self._usage[role] = self._usage.get(role, Cost()) + cost

    def done(self, index: int) -> bool:
        """Whether the sample at `index` was counted."""
        return bool(self._state[index])

    @property
    def accuracy(self) -> float:
        """Right units of all units; 0 where nothing was counted."""
        return self.right_units / self.all_units if self.all_units else 0.0

    @property
    def usage(self) -> Mapping[str, Cost]:
        """What the calls cost, by role."""
        return self._usage

    def outcomes(self) -> Iterator[tuple[int, int]]:
        """Yield (right, units) of every sample that was counted, in the order of the data."""
        for index in range(self.count):
            if self._state[index]:
                yield self._right[index], self._units[index]

    def pairs(self, other: Measured) -> Iterator[tuple[bool, bool]]:
        """Yield whether here and there all is right, for every sample that was counted in both."""
        for index in range(min(self.count, other.count)):
            if self._state[index] and other._state[index]:
                yield self._all_right(index), other._all_right(index)

    def _all_right(self, index: int) -> bool:
        return self._right[index] >= self._units[index]


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
