"""A run under way: its phases, each of which begins where an earlier run had got to.

Failed calls count as wrong. So many in a row are an outage: the run stops, and they are asked again when it
is resumed, for they say nothing of the agent.

The controls beside every result, on the same samples: the model without agent, the agent without memory.

    no_playbook      one plain call: no persona, no tools, no modes, no memory; only the form of the reply
    empty_playbook   the whole agent with an empty memory, as a new learner meets it

The second tells what the playbook is worth, the first what the agent around it is worth.

Does not: know what phases there are, or their order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence

from ace_graph.adaptation.frozen import Frozen, bare_model
from ace_graph.adaptation.journal import Journal, Step
from ace_graph.adaptation.options import AdaptationOptions, Progress
from ace_graph.adaptation.results import Measured
from ace_graph.adaptation.samples import Environment, Sample
from ace_graph.adaptation.training import Place, Practice
from ace_graph.errors import ModelError, ModelOutage

__all__ = ["CONTROLS", "Course", "measure_controls"]


CONTROLS = ("no_playbook", "empty_playbook")


async def measure_controls(
    course: Course, environment: Environment, options: AdaptationOptions, samples: Sequence[Sample]
) -> dict[str, Measured]:
    """Return both controls. Raises EnvironmentFailed, ModelOutage, RunFolderError."""
    bare, empty = bare_model(environment, options), Frozen(environment, options)
    return {
        "no_playbook": await course.measure(bare, samples, "no_playbook", 0),
        "empty_playbook": await course.measure(empty, samples, "empty_playbook", 0),
    }


_REFUSED = frozenset({401, 403, 404})
"""Statuses that the next call gets too: the key or the model's name is wrong."""

_MOST_REFUSED = 3


class _Failures:
    """Counts failed calls in a row, over all phases, and holds failed steps back until a call succeeds."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._in_a_row = 0
        self._held: list[Step] = []
        self._one_succeeded = False

    def begin(self, *, resumed: bool) -> None:
        """Begin a phase, or go on with one that an earlier run had answers in."""
        self._held, self._one_succeeded = [], resumed

    def sort(self, step: Step, error: ModelError | None) -> list[Step]:
        """Return the steps that are to be kept now. Raises ModelOutage."""
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

    def rest(self) -> list[Step]:
        """Return the failures at the end of a phase. Raises ModelOutage where nothing in it succeeded."""
        if len(self._held) >= _MOST_REFUSED and not self._one_succeeded:
            raise self._outage(self._held[-1].error or "no answer")
        return self._held

    def _outage(self, last: object) -> ModelOutage:
        return ModelOutage(
            f"{self._in_a_row} model calls in a row failed, so the run stopped; the last one: {last}. "
            "What was done before is kept: resume the run when the model answers again"
        )


class Course:
    """One run: where its steps are kept, and whether it was asked to stop."""

    def __init__(self, journal: Journal, options: AdaptationOptions) -> None:
        self._journal = journal
        self._options = options
        self._failures = _Failures(options.max_failures)
        self._doubtful = False
        self.stopped = False

    async def practise(
        self, practice: Practice, samples: Sequence[Sample], order: Sequence[int], phase: str, epoch: int
    ) -> Measured:
        """Learn from the samples in `order`, one after the other; return the first answers."""
        measured = Measured(len(samples))
        for step in self._journal.recorded(phase, epoch):
            practice.replay(step)
            measured.add(step)
        begun = measured.total
        self._tell(phase, epoch, measured)
        self._failures.begin(resumed=begun > 0)
        for number in range(begun, len(order)):
            if self._must_stop():
                return measured
            place = Place(phase, epoch, number + 1, order[number])
            step, error = await practice.step(samples[order[number]], place)
            self._take(step, error, measured)
        self._finish(measured)
        return measured

    async def measure(self, frozen: Frozen, samples: Sequence[Sample], phase: str, epoch: int) -> Measured:
        """Ask all samples without learning, several at once; return the answers."""
        measured = Measured(len(samples))
        for step in self._journal.recorded(phase, epoch):
            measured.add(step)
        begun = measured.total
        self._tell(phase, epoch, measured)
        self._failures.begin(resumed=begun > 0)
        left = (index for index in range(len(samples)) if not measured.done(index))

        async def work() -> None:
            for index in left:
                if self._must_stop():
                    return
                step, error = await frozen.step(samples[index], phase, epoch, index + 1, index)
                self._take(step, error, measured)

        await _together(work, self._options.concurrency)
        if not self.stopped:
            self._finish(measured)
        return measured

    def _take(self, step: Step, error: ModelError | None, measured: Measured) -> None:
        """Keep a step, or hold it back. Raises ModelOutage.

        Failures that end in an outage are taken back, and so is a step right before them whose reflection
        failed: it would have learned something.
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

    def _finish(self, measured: Measured) -> None:
        """Keep the failures at the end of a phase."""
        try:
            self._keep(self._failures.rest(), measured)
        except ModelOutage:
            self._journal.rewind()
            raise

    def _keep(self, steps: Iterable[Step], measured: Measured) -> None:
        for step in steps:
            self._journal.append(step)
            measured.add(step)
            self._tell(step.phase, step.epoch, measured)

    def _tell(self, phase: str, epoch: int, measured: Measured) -> None:
        self._options.on_progress(Progress(phase, epoch, measured))

    def _must_stop(self) -> bool:
        self.stopped = self.stopped or self._options.should_stop()
        return self.stopped


async def _together(work: Callable[[], Coroutine[None, None, None]], workers: int) -> None:
    """Run `workers` of them at once; the first error ends the others and is raised alone."""
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(work())
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
