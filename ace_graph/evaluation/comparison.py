"""Two playbooks, or two settings, compared on the same samples. Both sides are frozen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ace_graph.adaptation.frozen import FrozenAgent
from ace_graph.adaptation.journal import AdaptationStep
from ace_graph.adaptation.options import AdaptationOptions
from ace_graph.adaptation.results import Accuracy
from ace_graph.adaptation.runner import AdaptationRun
from ace_graph.adaptation.samples import Environment, Sample
from ace_graph.evaluation.statistics import Paired, paired
from ace_graph.memory.playbook import Playbook

__all__ = ["Comparison", "Side", "compare"]


@dataclass(frozen=True)
class Side:
    """One of the two: what it is called, the playbook that every sample is given, and how it is run."""

    name: str
    playbook: Playbook | None = None
    options: AdaptationOptions = field(default_factory=AdaptationOptions)


@dataclass(frozen=True)
class Comparison:
    """What both sides answered, and how often they were right. `shown` are the first samples' steps."""

    sides: tuple[Side, Side]
    measured: tuple[Accuracy, Accuracy]
    shown: tuple[tuple[AdaptationStep, AdaptationStep], ...]
    finished: bool

    @property
    def paired(self) -> Paired:
        """The first side against the second."""
        return paired(self.measured[0].pairs(self.measured[1]))


class _FirstSteps:
    """A journal that keeps the first samples' steps only."""

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self.by_index: dict[tuple[str, int], AdaptationStep] = {}

    def recorded(self, phase: str, epoch: int) -> Iterator[AdaptationStep]:
        return iter(())

    def append(self, step: AdaptationStep) -> None:
        if step.index < self._kept:
            self.by_index[step.phase, step.index] = step

    def mark(self) -> None:
        return None

    def rewind(self) -> None:
        return None

    def steps(self) -> Iterator[AdaptationStep]:
        return iter(tuple(self.by_index.values()))

    def close(self) -> None:
        return None


async def compare(
    first: Side, second: Side, samples: Sequence[Sample], environment: Environment, *, shown: int = 20
) -> Comparison:
    """Ask all samples of the one side, then of the other. Raises EnvironmentFailed, ModelOutage."""
    journal = _FirstSteps(shown)
    measured: list[Accuracy] = []
    stopped = False
    for phase, side in (("A", first), ("B", second)):
        run = AdaptationRun(journal, side.options)
        frozen = FrozenAgent(environment, side.options, side.playbook)
        measured.append(await run.measure(frozen, samples, phase, 0))
        stopped = stopped or run.stopped
    both = [index for index in range(shown) if {("A", index), ("B", index)} <= journal.by_index.keys()]
    return Comparison(
        (first, second),
        (measured[0], measured[1]),
        tuple((journal.by_index["A", index], journal.by_index["B", index]) for index in both),
        not stopped,
    )
