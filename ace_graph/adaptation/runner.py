"""A run and its phases; a phase continues where an earlier run stopped. And the controls.

Failed calls count as wrong. `max_failures` of them in a row are an outage: the run stops, and these samples
are tried again when it is resumed, because an outage says nothing of the agent.

Three controls are measured on the same samples as the result:

    no_playbook        one plain call: no persona, no tools, no modes, no memory; only the form of the reply
    empty_playbook     the whole agent with an empty memory, as a new learner meets it
    last_transcripts   the same agent with the newest transcripts in place of bullets, in as many tokens

The first shows what the agent is worth, the second what the playbook is worth, and the third what it is
worth to write lessons instead of keeping the last transcripts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from ace_graph.adaptation.frozen import Answered, Asked, FrozenAgent, model_without_agent
from ace_graph.adaptation.journal import AdaptationStep, Journal
from ace_graph.adaptation.options import AdaptationOptions, Progress
from ace_graph.adaptation.results import Accuracy
from ace_graph.adaptation.samples import Environment, Sample
from ace_graph.adaptation.training import StepPosition, Trainer
from ace_graph.adaptation.transcripts import Transcripts
from ace_graph.errors import ModelError, ModelOutage

__all__ = ["AdaptationRun", "Given", "measure_controls"]

Given = Iterable[tuple[int, Transcripts | None]]
"""The samples to ask, as their places in the data, each with the transcripts that it is shown."""


async def measure_controls(
    run: AdaptationRun,
    environment: Environment,
    options: AdaptationOptions,
    samples: Sequence[Sample],
    transcripts: Given,
) -> dict[str, Accuracy]:
    """Return the controls. Raises EnvironmentFailed, ModelOutage, RunFolderError."""
    bare, empty = model_without_agent(environment, options), FrozenAgent(environment, options)
    return {
        "no_playbook": await run.measure(bare, samples, "no_playbook", 0),
        "empty_playbook": await run.measure(empty, samples, "empty_playbook", 0),
        "last_transcripts": await run.measure(empty, samples, "last_transcripts", 0, transcripts),
    }


_REFUSED = frozenset({401, 403, 404})
"""Statuses that a retry does not change: the key or the model's name is wrong."""

_MOST_REFUSED = 3


class _Failures:
    """Counts failed calls in a row, over all phases, and holds failed steps back until a call succeeds."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._in_a_row = 0
        self._held: list[AdaptationStep] = []
        self._one_succeeded = False

    def begin(self, *, resumed: bool) -> None:
        """Begin a phase; `resumed`: an earlier run has answers in it."""
        self._held, self._one_succeeded = [], resumed

    def sort(self, step: AdaptationStep, error: ModelError | None) -> list[AdaptationStep]:
        """Return the steps to keep now. Raises ModelOutage."""
        if error is None:
            kept, self._held = [*self._held, step], []
            self._in_a_row, self._one_succeeded = 0, True
            return kept
        self._held.append(step)
        self._in_a_row += 1
        limit = min(self._limit, _MOST_REFUSED) if error.status in _REFUSED else self._limit
        if self._in_a_row >= limit:
            raise self._outage(error)
        return []

    def rest(self) -> list[AdaptationStep]:
        """Return the failures at the end of a phase. Raises ModelOutage where nothing in it succeeded."""
        if len(self._held) >= _MOST_REFUSED and not self._one_succeeded:
            raise self._outage(self._held[-1].error or "no answer")
        return self._held

    def _outage(self, last: object) -> ModelOutage:
        return ModelOutage(
            f"{self._in_a_row} model calls in a row failed, so the run stopped; the last one: {last}. "
            "What was done before is kept: resume the run when the model answers again"
        )


class AdaptationRun:
    """One run: its journal, its failures, and whether it was asked to stop."""

    def __init__(self, journal: Journal, options: AdaptationOptions) -> None:
        self._journal = journal
        self._options = options
        self._failures = _Failures(options.max_failures)
        self._doubtful = False
        self.stopped = False

    async def train(
        self, trainer: Trainer, samples: Sequence[Sample], order: Sequence[int], phase: str, epoch: int
    ) -> Accuracy:
        """Learn from the samples in `order`, one by one; return the accuracy of the first answers."""
        measured = Accuracy(len(samples))
        for step in self._journal.recorded(phase, epoch):
            trainer.replay(step)
            measured.add(step)
        begun = measured.total
        self._report_progress(phase, epoch, measured)
        self._failures.begin(resumed=begun > 0)
        for number in range(begun, len(order)):
            if self._must_stop():
                return measured
            position = StepPosition(phase, epoch, number + 1, order[number])
            step, error = await trainer.step(samples[order[number]], position)
            self._take(step, error, measured)
        self._finish(measured)
        return measured

    async def measure(
        self,
        frozen: FrozenAgent,
        samples: Sequence[Sample],
        phase: str,
        epoch: int,
        given: Given | None = None,
    ) -> Accuracy:
        """Answer all samples without learning, several at once, where the executor runs them.

        They are asked in the order of the data, or as they are `given`. Returns their accuracy.
        """
        measured = Accuracy(len(samples))
        for step in self._journal.recorded(phase, epoch):
            measured.add(step)
        begun = measured.total
        self._report_progress(phase, epoch, measured)
        self._failures.begin(resumed=begun > 0)
        every = ((index, None) for index in range(len(samples))) if given is None else given

        def asked() -> Iterator[Asked]:
            for index, transcripts in every:
                if measured.done(index):
                    continue
                if self._must_stop():
                    return
                yield Asked(samples[index], phase, epoch, index, transcripts)

        if begun < len(samples):
            job, take = replace(frozen, options=frozen.options.for_nodes()), self._taking(measured)
            await self._options.executor.run(job, asked(), take, concurrency=self._options.concurrency)
        if not self.stopped:
            self._finish(measured)
        return measured

    def _taking(self, measured: Accuracy) -> Callable[[Answered], None]:
        return lambda answered: self._take(*answered, measured)

    def _take(self, step: AdaptationStep, error: ModelError | None, measured: Accuracy) -> None:
        """Keep a step, or hold it back. Raises ModelOutage.

        The failures of an outage are dropped from the journal, and so is a step right before them whose
        reflection failed: with a working model it would have learned something.
        """
        if error is None and self._doubtful:
            self._journal.mark()
        try:
            self._keep(self._failures.sort(step, error), measured)
        except ModelOutage:
            self._journal.rewind()
            raise
        if error is None:
            self._doubtful = step.learned is not None and step.learned.error is not None
            if not self._doubtful:
                self._journal.mark()

    def _finish(self, measured: Accuracy) -> None:
        """Keep the failures at the end of a phase."""
        try:
            self._keep(self._failures.rest(), measured)
        except ModelOutage:
            self._journal.rewind()
            raise

    def _keep(self, steps: Iterable[AdaptationStep], measured: Accuracy) -> None:
        for step in steps:
            self._journal.append(step)
            measured.add(step)
            self._report_progress(step.phase, step.epoch, measured)

    def _report_progress(self, phase: str, epoch: int, measured: Accuracy) -> None:
        self._options.on_progress(Progress(phase, epoch, measured))

    def _must_stop(self) -> bool:
        self.stopped = self.stopped or self._options.should_stop()
        return self.stopped
