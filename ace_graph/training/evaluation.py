"""Two playbooks, or two settings, compared on the same samples. Both sides are frozen."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ace_graph.agent.models import Usage
from ace_graph.memory.playbook import Playbook
from ace_graph.training.adapters import write_whole
from ace_graph.training.journal import Accuracy, AdaptationResult, AdaptationStep, Journal
from ace_graph.training.options import AdaptationOptions
from ace_graph.training.runner import AdaptationRun, FrozenAgent
from ace_graph.training.samples import Environment, RowFile, Sample
from ace_graph.training.statistics import Paired, paired, paired_gain, share_interval


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


class _FirstSteps(Journal):
    """A journal that keeps the first samples' steps only."""

    def __init__(self, kept: int) -> None:
        super().__init__()
        self._kept = kept
        self.by_index: dict[tuple[str, int], AdaptationStep] = {}

    def append(self, step: AdaptationStep) -> None:
        if step.index < self._kept:
            self.by_index[step.phase, step.index] = step


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


Json = dict[str, object]


@dataclass(frozen=True)
class Prices:
    """What a million tokens cost, in any currency."""

    input: float
    output: float

    def of(self, cost: Usage) -> float:
        """Return what calls cost."""
        return (cost.input_tokens * self.input + cost.output_tokens * self.output) / 1_000_000


def report(
    adapted: AdaptationResult,
    *,
    unit: str = "answer",
    prices: Prices | None = None,
    data: Mapping[str, RowFile] | None = None,
) -> Json:
    """Return the results of a run as plain JSON: all but `timing` is the same for the same data and seed.

    `unit` is what accuracy is counted in. `data` are the files, whose rows that were left out are reported.
    """
    total = sum((cost for each in adapted.phases.values() for cost in each.usage.values()), Usage())
    bullets = adapted.playbook.bullets()
    found: Json = {
        "kind": adapted.kind,
        "measured_on": adapted.measured_on,
        **measured_json(adapted.measured, unit),
        **{name: measured_json(each, unit) for name, each in adapted.controls.items()},
        "compared_with": {
            name: comparison_json(adapted.measured, each) for name, each in adapted.controls.items()
        },
        "calls": total.calls,
        "tokens": {"input": total.input_tokens, "output": total.output_tokens},
        "usage": {
            _name(key): {role: _counts(cost) for role, cost in sorted(each.usage.items())}
            for key, each in adapted.phases.items()
        },
        "playbook": {
            "bullets": len(bullets),
            "quarantined": sum(bullet.status == "quarantined" for bullet in bullets),
            "helpful": sum(bullet.helpful for bullet in bullets),
            "harmful": sum(bullet.harmful for bullet in bullets),
        },
        "asked": dict(adapted.asked),
    }
    if adapted.kind == "offline":
        found["best_epoch"] = adapted.best_epoch
        found["epochs"] = [
            {
                "epoch": epoch.number,
                "train": measured_json(epoch.trained, unit),
                "validation": epoch.validated and measured_json(epoch.validated, unit),
                "bullets": epoch.bullets,
                "reflector_errors": epoch.trained.reflector_errors,
            }
            for epoch in adapted.epochs
        ]
    if prices is not None:
        cost = {"input_per_million": prices.input, "output_per_million": prices.output}
        found["cost"] = {**cost, "total": round(prices.of(total), 6)}
    if data is not None:
        found["data"] = {
            name: {
                "file": rows.path.name,
                "rows": len(rows),
                "skipped": rows.skipped,
                "problems": [str(problem) for problem in rows.problems],
            }
            for name, rows in data.items()
        }
    found["timing"] = {_name(key): round(each.seconds, 3) for key, each in adapted.phases.items()}
    return found


def write_results(out: Path, results: Json) -> None:
    """Write `results.json` in the folder `out`, whole or not at all. Raises RunFolderError."""
    write_whole(out / "results.json", json.dumps(results, ensure_ascii=False, indent=2) + "\n")


def measured_json(measured: Accuracy, unit: str = "answer") -> Json:
    """Return accuracy, correct, total, failed and the interval; units apart where a sample has several."""
    low, high = share_interval(measured.outcomes())
    found: Json = {
        "accuracy": measured.accuracy,
        "correct": measured.correct,
        "total": measured.total,
        "failed": measured.failed,
        "interval": [low, high],
    }
    if measured.all_units != measured.total:
        found["units"] = {"unit": unit, "right": measured.right_units, "all": measured.all_units}
    return found


def comparison_json(first: Accuracy, second: Accuracy) -> Json:
    """Return the paired comparison of two runs on the same samples.

    The gain is in units, as accuracy is; the rest is by whole samples.
    """
    found, gain = paired(first.pairs(second)), paired_gain(first.beside(second))
    return {
        "gain": gain.value,
        "gain_interval": list(gain.interval),
        "both_right": found.both,
        "only_this": found.only_first,
        "only_that": found.only_second,
        "neither": found.neither,
        "difference": found.difference,
        "interval": list(found.interval),
        "p_value": found.p_value,
    }


def _counts(cost: Usage) -> Json:
    """Return what is the same in every run: all but the time."""
    return {name: value for name, value in asdict(cost).items() if name != "seconds"}


def _name(key: tuple[str, int]) -> str:
    phase, epoch = key
    return f"{phase}_{epoch}" if epoch else phase
