"""The result of a run, and the accuracy over one set of samples, in a few bytes a sample."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ace_graph.adaptation.journal import AdaptationStep, Cost, Journal
from ace_graph.memory.playbook import Playbook

__all__ = ["Accuracy", "AdaptationResult", "Epoch"]


_ANSWERED, _FAILED = 1, 2


class Accuracy:
    """Counts of the first answers to `count` samples; `add` counts one more."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.total = self.correct = self.failed = self.right_units = self.all_units = 0
        self.reflector_errors = 0
        self.seconds = 0.0
        self._right = array("L", bytes(array("L").itemsize * count))
        self._units = array("L", bytes(array("L").itemsize * count))
        self._state = bytearray(count)
        self._usage: dict[str, Cost] = {}

    def add(self, step: AdaptationStep) -> None:
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

    def pairs(self, other: Accuracy) -> Iterator[tuple[bool, bool]]:
        """Yield whether each sample that was counted in both is fully right here, and there."""
        for index in range(min(self.count, other.count)):
            if self._state[index] and other._state[index]:
                yield self._all_right(index), other._all_right(index)

    def beside(self, other: Accuracy) -> Iterator[tuple[int, int, int]]:
        """Yield (right units here, right units there, units) of each sample that was counted in both."""
        for index in range(min(self.count, other.count)):
            if self._state[index] and other._state[index]:
                yield self._right[index], other._right[index], self._units[index]

    def _all_right(self, index: int) -> bool:
        return self._right[index] >= self._units[index]


@dataclass(frozen=True)
class Epoch:
    """One pass over the training data: its first answers, the validation after it, the playbook's size."""

    number: int
    trained: Accuracy
    validated: Accuracy | None
    bullets: int


@dataclass(frozen=True)
class AdaptationResult:
    """A run, finished or not.

    `measured_on` names the phase of `measured`: test, validation, or train. `controls` are measured on the
    same samples. `phases` holds the accuracy of every phase and epoch. `playbook` is the best one, or the
    newest where nothing was measured that could tell. `asked` is the description that the run began with.
    """

    kind: Literal["offline", "online"]
    asked: Mapping[str, object]
    finished: bool
    playbook: Playbook
    measured_on: str
    measured: Accuracy
    controls: Mapping[str, Accuracy] = field(default_factory=dict[str, Accuracy])
    epochs: tuple[Epoch, ...] = ()
    best_epoch: int | None = None
    phases: Mapping[tuple[str, int], Accuracy] = field(default_factory=dict[tuple[str, int], Accuracy])
    journal: Journal | None = None

    def steps(self) -> Iterator[AdaptationStep]:
        """Yield every step of the run, oldest first."""
        return self.journal.steps() if self.journal is not None else iter(())
