"""What was measured over one set of samples: counts, kept in a few bytes a sample.

Does not: know intervals or tests (evaluation.statistics does).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping

from ace_graph.learning.adaptation.step import Cost, Step

__all__ = ["Measured"]

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
