"""Adaptation, offline and online, in a folder of its own. Online stands at the end of this file; offline is:

    train (learning) -> validation (frozen) -> ... -> test of the best (frozen), and the controls beside it

Epochs over a training set, validation after each, the best playbook kept and tested.
Validation, test and controls change nothing and see no ground truth. Without a validation set the playbook of
the last epoch is kept; without a test set the result is the best validation, and without either the first
answers of the first epoch, each of which was given before the sample had been learned from.

`ace_graph.training` reads the files and writes the results.
"""

from __future__ import annotations

import hashlib
import json
import os
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from random import Random

from ace_graph.agent.models import choose_model, name_of_model
from ace_graph.base.errors import RunFolderError, UsageError
from ace_graph.base.text import truncate
from ace_graph.memory.formats.registry import format_named
from ace_graph.memory.playbook import Playbook
from ace_graph.stores import policy_of
from ace_graph.training.journal import (
    Accuracy,
    AdaptationResult,
    Epoch,
    FileJournal,
    Journal,
    steps_of,
    unusable,
)
from ace_graph.training.options import AdaptationOptions, Transcripts, last_of, preceding, with_model
from ace_graph.training.runner import AdaptationRun, AdaptationStore, FrozenAgent, Trainer
from ace_graph.training.samples import Environment, Sample


def describe(
    kind: str,
    environment: Environment,
    options: AdaptationOptions,
    data: Mapping[str, Sequence[Sample]],
    **more: object,
) -> dict[str, object]:
    """Return the run's description. Raises ModelNotConfigured, ConfigurationError."""
    model = options.model
    return {
        "kind": kind,
        "environment": getattr(environment, "__name__", type(environment).__name__),
        "model": str(choose_model(options.settings)) if model is None else name_of_model(model),
        **options.as_json(),
        **more,
        "policy": policy_of(options.settings).model_dump(mode="json"),
        "data": {
            name: {"samples": len(samples), "digest": digest_of(samples)}
            for name, samples in data.items()
            if len(samples)
        },
    }


RunDescription = Mapping[str, object]


def open_journal(out: Path | None, description: RunDescription, *, resume: bool) -> Journal:
    """Return the journal of a run that is begun, or resumed, in `out`; without a folder, one in memory.

    A run is resumed only with the same data, model, seed, settings and version as in its `run.json`.

    Raises UsageError when there is a run already, or when the one there is another; RunFolderError.
    """
    if out is None:
        return Journal()
    whole = {"version": version("ace-graph"), **description}
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunFolderError(f"{out}: {error.strerror}: choose a folder that can be written") from error
    plan = out / "run.json"
    if plan.exists():
        if not resume:
            raise UsageError(f"{out} already holds a run: resume it (--resume), or choose another folder")
        _check_same(_read(plan), json.loads(json.dumps(whole)), out)
    elif (out / "steps.jsonl").exists():
        raise UsageError(f"{out} holds a steps.jsonl without its run.json: choose another folder")
    else:
        write_whole(plan, json.dumps(whole, indent=2, ensure_ascii=False) + "\n")
    return FileJournal(out / "steps.jsonl")


def keep_playbook(out: Path | None, playbook: Playbook) -> None:
    """Write `playbook.json`, which `base_playbook=` and `--base` take."""
    if out is not None:
        write_whole(out / "playbook.json", format_named("json").write(playbook))


def write_whole(path: Path, text: str) -> None:
    """Write a file as a whole or not at all. Raises RunFolderError."""
    new = path.with_name(f"{path.name}.new")
    try:
        with new.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise unusable(path, error) from error


def digest_of(samples: Sequence[Sample]) -> str:
    """Return a hash of all samples; data that knows its own has it in `digest`."""
    known = getattr(samples, "digest", None)
    if isinstance(known, str):
        return known
    total = hashlib.sha256()
    for sample in samples:
        form = (sample.form,) if sample.form != "any" else ()
        total.update(repr((sample.id, sample.question, sample.target, sample.units, *form)).encode())
    return total.hexdigest()


def _read(plan: Path) -> dict[str, object]:
    try:
        found: object = json.loads(plan.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunFolderError(f"{plan} can't be read ({error}): begin again in another folder") from error
    if not isinstance(found, dict):
        raise RunFolderError(f"{plan} does not describe a run: begin again in another folder")
    return {str(key): value for key, value in found.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  # json.loads is Any


def _check_same(begun: RunDescription, description: RunDescription, out: Path) -> None:
    for name in dict.fromkeys((*begun, *description)):
        if begun.get(name) != description.get(name):
            values = (json.dumps(each.get(name), ensure_ascii=False) for each in (begun, description))
            old, new = (truncate(value, 80) for value in values)
            raise UsageError(
                f"the run in {out} was begun with another {name} ({old}, now {new}): "
                "resume it with the same, or choose another folder"
            )


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
        with closing(open_journal(out, description, resume=resume)) as journal:
            running = _Running(self, data, description, journal, out)
            await running.go()
            return running.adapted()


class _Running:
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
        samples = self._data[self._measured_on()]
        self._controls = await self._run.measure_controls(
            self._adapter.environment, samples, self._transcripts()
        )
        self._phases.update({(name, 0): measured for name, measured in self._controls.items()})

    async def _epoch(self, trainer: Trainer, number: int) -> None:
        train, seed = self._data["train"], self._adapter.options.seed
        # The order of one epoch, the same for the same seed: 8 bytes a sample
        count = len(train)
        order = array("q", range(count))
        Random(f"{seed}:{number}").shuffle(order)  # noqa: S311  an order, no secret
        trained = await self._run.train(trainer, train, order, "train", number)
        self._phases["train", number] = trained
        validated = None
        if len(self._data["validation"]) and not self._run.stopped:
            validated = await self._frozen(self._memory.playbook, "validation", number)
            self._phases["validation", number] = validated
        if self._run.stopped:
            return
        epoch = Epoch(number, trained, validated, len(self._memory.playbook))
        self._epochs.append(epoch)
        before = None if self._best is None else self._best[0].validated
        # Where accuracy is measured, only a higher one replaces the best.
        if before is None or validated is None or validated.accuracy > before.accuracy:
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


PHASE = "online"


class OnlineAdapter:
    """Adapts a playbook while it is tested: every sample is answered before anything is learned from it.

    So the accuracy of the first answers is unbiased, and its curve over the steps shows what the memory is
    worth.

    adapted = await OnlineAdapter(environment).run(samples, out=Path("run"))
    """

    def __init__(self, environment: Environment, options: AdaptationOptions | None = None) -> None:
        self.environment = environment
        self.options = options or AdaptationOptions()

    async def run(
        self, samples: Sequence[Sample], *, out: Path | None = None, resume: bool = False
    ) -> AdaptationResult:
        """Run, or resume, an adaptation; with `out`, steps and the playbook are kept in that folder.

        Asked to stop, it returns with `finished` false. Raises UsageError for a folder that holds another
        run, EnvironmentFailed, ModelOutage, RunFolderError: all can be resumed; and ConfigurationErrors.
        """
        description = describe("online", self.environment, self.options, {"data": samples})
        with closing(open_journal(out, description, resume=resume)) as journal:
            return await self._run(samples, description, journal, out)

    async def _run(
        self, samples: Sequence[Sample], description: dict[str, object], journal: Journal, out: Path | None
    ) -> AdaptationResult:
        run = AdaptationRun(journal, self.options)
        memory = AdaptationStore(policy_of(self.options.settings))
        async with with_model(self.options) as options:
            trainer = Trainer(self.environment, options, memory)
            measured = await run.train(trainer, samples, range(len(samples)), PHASE, 0)
        keep_playbook(out, memory.playbook)
        controls: dict[str, Accuracy] = {}
        if not run.stopped:
            answered = steps_of(journal, PHASE, 0)
            before = preceding(answered, samples, self.options.context.retrieval_budget_tokens)
            controls = await run.measure_controls(self.environment, samples, before)
        phases = {(PHASE, 0): measured, **{(name, 0): each for name, each in controls.items()}}
        return AdaptationResult(
            kind="online",
            asked=description,
            finished=not run.stopped,
            playbook=memory.playbook,
            measured_on=PHASE,
            measured=measured,
            controls=controls,
            phases=phases,
            journal=journal,
        )
