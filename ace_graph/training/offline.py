"""Offline adaptation: epochs over a training set, validation after each, the best playbook kept and tested.

    train (learning) -> validation (frozen) -> ... -> test of the best (frozen), and the controls beside it

Validation, test and controls change nothing and see no ground truth. Without a validation set the playbook of
the last epoch is kept; without a test set the result is the best validation, and without either the first
answers of the first epoch, each of which was given before the sample had been learned from.

`ace_graph.training` reads the files and writes the results.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from ace_graph.base.errors import UsageError
from ace_graph.memory.playbook import Playbook
from ace_graph.stores import policy_of
from ace_graph.training.journal import Accuracy, AdaptationResult, Epoch, Journal, steps_of
from ace_graph.training.options import AdaptationOptions, Transcripts, last_of, preceding, with_model
from ace_graph.training.run_folder import describe, keep_playbook, open_journal
from ace_graph.training.runner import AdaptationRun, AdaptationStore, FrozenAgent, Trainer, measure_controls
from ace_graph.training.samples import Environment, Sample


class OfflineAdapter:
    """Adapts a playbook to a training set.

    adapted = await OfflineAdapter(environment, epochs=2).run(train, validation=..., test=...)
    graph = build_ace_graph(base_playbook=adapted.playbook)
    """

    def __init__(
        self, environment: Environment, options: AdaptationOptions | None = None, *, epochs: int = 1
    ) -> None:
        if epochs < 1:
            raise UsageError("epochs must be at least 1")
        self.environment = environment
        self.options = options or AdaptationOptions()
        self.epochs = epochs

    async def run(
        self,
        train: Sequence[Sample],
        *,
        validation: Sequence[Sample] = (),
        test: Sequence[Sample] = (),
        out: Path | None = None,
        resume: bool = False,
    ) -> AdaptationResult:
        """Run, or resume, an adaptation; with `out`, steps and the best playbook are kept in that folder.

        Asked to stop, it returns with `finished` false. Raises UsageError for a folder that holds another
        run, EnvironmentFailed, ModelOutage, RunFolderError: all can be resumed; and ConfigurationErrors.
        """
        data = {"train": train, "validation": validation, "test": test}
        description = describe("offline", self.environment, self.options, data, epochs=self.epochs)
        journal = open_journal(out, description, resume=resume)
        try:
            running = _Running(self, data, description, journal, out)
            await running.go()
            return running.adapted()
        finally:
            journal.close()


class _Running:
    """One run, phase by phase."""

    def __init__(
        self,
        adapter: OfflineAdapter,
        data: dict[str, Sequence[Sample]],
        description: dict[str, object],
        journal: Journal,
        out: Path | None,
    ) -> None:
        self._adapter, self._data, self._description, self._out = adapter, data, description, out
        self._journal = journal
        self._run = AdaptationRun(journal, adapter.options)
        self._memory = AdaptationStore(policy_of(adapter.options.settings))
        self._epochs: list[Epoch] = []
        self._best: tuple[Epoch, Playbook] | None = None
        self._phases: dict[tuple[str, int], Accuracy] = {}
        self._controls: dict[str, Accuracy] = {}

    async def go(self) -> None:
        async with with_model(self._adapter.options) as options:
            trainer = Trainer(self._adapter.environment, options, self._memory)
            for number in range(1, self._adapter.epochs + 1):
                await self._epoch(trainer, number)
                if self._run.stopped:
                    return
        if self._best is not None and len(self._data["test"]):
            self._phases["test", 0] = await self._frozen(self._best[1], "test", 0)
        if self._run.stopped:
            return
        adapter, samples = self._adapter, self._data[self._measured_on()]
        self._controls = await measure_controls(
            self._run, adapter.environment, adapter.options, samples, self._transcripts()
        )
        self._phases.update({(name, 0): measured for name, measured in self._controls.items()})

    async def _epoch(self, trainer: Trainer, number: int) -> None:
        train, seed = self._data["train"], self._adapter.options.seed
        trained = await self._run.train(trainer, train, _shuffled(len(train), seed, number), "train", number)
        self._phases["train", number] = trained
        validated = None
        if len(self._data["validation"]) and not self._run.stopped:
            validated = await self._frozen(self._memory.playbook, "validation", number)
            self._phases["validation", number] = validated
        if self._run.stopped:
            return
        epoch = Epoch(number, trained, validated, len(self._memory.playbook))
        self._epochs.append(epoch)
        if self._best is None or _better(epoch, self._best[0]):
            self._best = epoch, self._memory.playbook
            keep_playbook(self._out, self._memory.playbook)

    def _transcripts(self) -> Iterator[tuple[int, Transcripts]]:
        """The last transcripts of the epoch that made the best playbook; in training, those before a row."""
        train, on = self._data["train"], self._measured_on()
        best = self._best[0].number if self._best and on != "train" else 1
        steps = steps_of(self._journal, "train", best)
        budget = self._adapter.options.context.retrieval_budget_tokens
        if on == "train":
            yield from preceding(steps, train, budget)
            return
        last = last_of(steps, train, budget)
        for index in range(len(self._data[on])):
            yield index, last

    async def _frozen(self, playbook: Playbook, phase: str, epoch: int) -> Accuracy:
        frozen = FrozenAgent(self._adapter.environment, self._adapter.options, playbook)
        return await self._run.measure(frozen, self._data[phase], phase, epoch)

    def _measured_on(self) -> str:
        return next(
            name for name in ("test", "validation", "train") if len(self._data[name]) or name == "train"
        )

    def adapted(self) -> AdaptationResult:
        on = self._measured_on()
        best = self._best[0].number if self._best else None
        where = {"test": ("test", 0), "validation": ("validation", best or 1), "train": ("train", 1)}
        return AdaptationResult(
            kind="offline",
            asked=self._description,
            finished=not self._run.stopped,
            playbook=self._best[1] if self._best else self._memory.playbook,
            measured_on=on,
            measured=self._phases.get(where[on]) or Accuracy(0),
            controls=self._controls,
            epochs=tuple(self._epochs),
            best_epoch=best,
            phases=self._phases,
            journal=self._journal,
        )


def _better(epoch: Epoch, best: Epoch) -> bool:
    """Whether a later epoch replaces the best: where accuracy is measured, only a higher one does."""
    if epoch.validated is None or best.validated is None:
        return True
    return epoch.validated.accuracy > best.validated.accuracy


def _shuffled(count: int, seed: int, epoch: int) -> array[int]:
    """The order of one epoch, the same for the same seed: 8 bytes a sample."""
    order = array("q", range(count))
    Random(f"{seed}:{epoch}").shuffle(order)  # noqa: S311  an order, no secret
    return order
