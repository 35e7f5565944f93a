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

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from typing import TypeAlias, cast

from langchain_core.messages import HumanMessage

from ace_graph.agent.context import ACEContext
from ace_graph.agent.models import Usage
from ace_graph.agent.state import ACEInput, ACEOutput
from ace_graph.base.errors import AceError, ModelError, ModelOutage
from ace_graph.graph import (  # pyright: ignore[reportUnknownVariableType]  # LangGraph's checkpointer type is open
    ACEGraph,
    build_ace_graph,  # pyright: ignore[reportUnknownVariableType]  # LangGraph's checkpointer type is open
)
from ace_graph.memory.commit import Amend, Commit, Pending, PendingItem, plan
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.evidence import Evidence
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.policy import Policy
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import random_token
from ace_graph.memory.stores.sql.sqlite import SQLiteStore
from ace_graph.memory.turn import TurnRecord
from ace_graph.training.journal import (
    MAX_ANSWER_CHARS,
    MAX_FEEDBACK_CHARS,
    Accuracy,
    AdaptationStep,
    BulletChanges,
    Committed,
    Journal,
)
from ace_graph.training.options import AUTO, AdaptationOptions, Progress, Transcripts, with_model
from ace_graph.training.samples import Environment, Outcome, Sample, judge

LEARNER = "adaptation"


class AdaptationStore(SQLiteStore):
    """A store for one run on one event loop, which keeps a snapshot and nothing else.

    It keeps no history and no turn records, so that a run of a million steps needs no more room than its
    playbook. The steps are in the journal, from which `replay` rebuilds the state.
    """

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy=policy)
        self._snapshot = Snapshot()
        self._last: Committed | None = None

    @property
    def playbook(self) -> Playbook:
        return self._snapshot.playbook

    def take_commit(self) -> Committed | None:
        """Return the commit made since the last call, None where there was none."""
        last, self._last = self._last, None
        return last

    def replay(self, committed: Committed) -> None:
        """Repeat a commit of an earlier run."""
        self._apply(committed.delta, committed.record)

    async def load(self, learner_id: str, known: Snapshot | None = None) -> Snapshot:
        return self._snapshot

    async def commit(
        self,
        learner_id: str,
        delta: Delta,
        base: Snapshot,
        record: TurnRecord | Amend | None = None,
        pending: Pending | PendingItem | None = None,
    ) -> Commit:
        made = record if isinstance(record, TurnRecord) else None
        done = self._apply(delta, made)
        self._last = Committed(delta=delta, record=made)
        return done

    def _apply(self, delta: Delta, record: TurnRecord | None) -> Commit:
        planned = plan(self._snapshot, delta, self.policy, record, random_token)
        self._snapshot = planned.snapshot
        return planned.commit()


def input_for(sample: Sample, mode: str) -> ACEInput:
    """Return the input: the question alone, and the mode to force."""
    given: ACEInput = {"messages": [HumanMessage(sample.question)]}
    if mode != AUTO:
        given["mode"] = mode
    return given


@dataclass(frozen=True)
class StepPosition:
    """Where in a run a step is: phase and epoch, its number in them, the sample's position in the data."""

    phase: str
    epoch: int
    number: int
    index: int


def new_step(sample: Sample, at: StepPosition, seconds: float) -> AdaptationStep:
    """Return a step with its position and sample; the answer is still to be filled in."""
    return AdaptationStep(
        **asdict(at),
        sample=sample.id,
        target=sample.target,
        units=sample.units,
        seconds=max(0.0, seconds),
    )


def judged_step(step: AdaptationStep, answer: str, outcome: Outcome, out: ACEOutput) -> AdaptationStep:
    """Return the step with its answer, how that was judged, the bullets shown and cited, and the cost."""
    result = out.get("result")
    fields = {
        "answer": answer[:MAX_ANSWER_CHARS],
        "right": outcome.right,
        "correct": outcome.right >= step.units,
        "verdict": outcome.verdict(step.units),
        "feedback": outcome.feedback[:MAX_FEEDBACK_CHARS] or None,
        "injected": tuple(result["injected"]) if result else (),
        "cited": tuple(result["bullet_ids"]) if result else (),
        "usage": used(out),
    }
    return step.model_copy(update=fields)


def used(out: ACEOutput) -> dict[str, Usage]:
    """Return calls and tokens by role."""
    return {role: Usage(**cost) for role, cost in out.get("usage", {}).items()}


_BARE_PROMPT = "Answer the question."


@dataclass(frozen=True)
class SampleRun:
    """A sample to answer, and where in a run that is.

    `transcripts` are shown with the question, None in all phases but that of the control.
    """

    sample: Sample
    at: StepPosition
    transcripts: Transcripts | None = None


Answered: TypeAlias = tuple[AdaptationStep, ModelError | None]
"""A step; the error is set where the model gave no answer."""


@dataclass(frozen=True)
class FrozenAgent:
    """The job of answering samples with a playbook that does not change, or with an empty memory.

    It is given as the base playbook, as it is deployed. No ground truth, no reflections of earlier turns and
    no evidence reach the run, and nothing is stored.
    """

    environment: Environment
    options: AdaptationOptions
    playbook: Playbook | None = None
    system_prompt: str | None = None
    mode: str | None = None

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[Callable[[SampleRun], Awaitable[Answered]]]:
        """Yield what answers one sample. That raises EnvironmentFailed, and what building a graph raises."""
        async with with_model(self.options) as options:
            yield _Answering(self, options).step


class _Answering:
    def __init__(self, agent: FrozenAgent, options: AdaptationOptions) -> None:
        self._environment = agent.environment
        self._mode = agent.mode or options.mode
        self._context = options.context.model_copy(
            update={"learner_id": LEARNER, "learning": "off", "ground_truth": None, "max_revisions": 0}
        )
        self._bullets = len(agent.playbook) if agent.playbook is not None else 0
        self._graph: ACEGraph = build_ace_graph(
            model=options.model,
            store=SQLiteStore(),
            settings=options.settings,
            system_prompt=agent.system_prompt or options.system_prompt,
            base_playbook=agent.playbook,
            learning="off",
            clock=options.clock,
        )

    async def step(self, asked: SampleRun) -> Answered:
        sample, transcripts = asked.sample, asked.transcripts
        # Transcripts are the context of the question: where bullets stand, as data
        given = input_for(sample, self._mode)
        if transcripts is not None and transcripts.text:
            given["additional_context"] = transcripts.text
        began = time.perf_counter()
        try:
            out = cast("ACEOutput", await self._graph.ainvoke(given, context=self._context))
        except ModelError as error:
            failed = {"failed": True, "error": str(error), "bullets": self._bullets}
            step = new_step(sample, asked.at, time.perf_counter() - began)
            return step.model_copy(update=failed), error
        answer = out["messages"][-1].text
        outcome = await judge(self._environment, sample, answer)
        step = judged_step(new_step(sample, asked.at, time.perf_counter() - began), answer, outcome, out)
        shown = transcripts.samples if transcripts is not None else None
        known = {"attempts": 1, "bullets": self._bullets, "transcripts": shown}
        return step.model_copy(update=known), None


class _StepEvaluator:
    """The evaluator of the graph, for one sample at a time: keeps the first answer and its outcome."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._sample = Sample("", "")
        self.first: tuple[str, Outcome] | None = None
        self.attempts = 0
        self.problem: AceError | None = None

    def begin(self, sample: Sample) -> None:
        self._sample, self.first, self.attempts, self.problem = sample, None, 0, None

    async def __call__(self, question: str, answer: str, context: ACEContext) -> Evidence | None:
        sample = self._sample
        self.attempts += 1
        try:
            outcome = await judge(self._environment, sample, answer)
        except AceError as error:
            self.problem = error  # no evidence for the critic; the step raises it
            return None
        self.first = self.first or (answer, outcome)
        verdict = outcome.verdict(sample.units)
        known = sample.target is not None
        says = {"success": "matches", "partial": "matches in part", "failure": "differs from"}
        text = outcome.feedback or (
            f"the answer {says[verdict]} the ground truth" if known else f"the environment says {verdict}"
        )
        return Evidence(
            source="ground_truth" if known else "tool",
            verdict=verdict,
            score=outcome.right / sample.units,
            text=text[:MAX_FEEDBACK_CHARS],
            by="environment",
        )


class _Ids:
    """Turn and attempt ids that are the same whenever the same step is repeated."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._prefix, self._count = "", 0

    def begin(self, position: StepPosition) -> None:
        self._prefix = f"{position.phase}-{position.epoch}-{position.number}-seed{self._seed}"
        self._count = 0

    def __call__(self) -> str:
        self._count += 1
        return f"{self._prefix}-{self._count}"


class Trainer:
    """The graph with a memory that grows from step to step; the environment is its evaluator.

    The outcome is evidence of the ground truth where the sample has a target, else of a tool.
    """

    def __init__(self, environment: Environment, options: AdaptationOptions, memory: AdaptationStore) -> None:
        self.memory = memory
        self._options = options
        self._evaluator = _StepEvaluator(environment)
        self._ids = _Ids(options.seed)
        self._graph = build_ace_graph(
            model=options.model,
            store=memory,
            settings=options.settings,
            system_prompt=options.system_prompt,
            evaluator=self._evaluator,
            learning="inline",
            clock=options.clock,
            new_id=self._ids,
        )

    async def step(self, sample: Sample, position: StepPosition) -> Answered:
        """Answer one sample and learn from it; the error is set where the model gave no answer.

        Raises EnvironmentFailed.
        """
        self._evaluator.begin(sample)
        self._ids.begin(position)
        self.memory.take_commit()
        wanted = self._options.context.reflect_when  # a sample of the samples would teach less
        context = self._options.context.model_copy(
            update={
                "learner_id": LEARNER,
                "learning": "inline",
                "ground_truth": sample.target,
                "reflect_when": "always" if wanted == "auto" else wanted,
            }
        )
        began = time.perf_counter()
        try:
            out = cast(
                "ACEOutput", await self._graph.ainvoke(input_for(sample, self._options.mode), context=context)
            )
        except ModelError as error:
            seconds = time.perf_counter() - began
            failed = {"failed": True, "error": str(error), "bullets": len(self.memory.playbook)}
            return new_step(sample, position, seconds).model_copy(update=failed), error
        if self._evaluator.problem is not None:
            raise self._evaluator.problem
        answer, outcome = self._evaluator.first or ("", Outcome(0))
        result, learning, learned = out.get("result"), out.get("learning"), None
        if learning:
            gone = [pair["gone"] for pair in learning["superseded"]]
            given = {name: learning.get(name) for name in BulletChanges.model_fields}
            learned = BulletChanges.model_validate({**given, "superseded": gone})
        step = judged_step(new_step(sample, position, time.perf_counter() - began), answer, outcome, out)
        return step.model_copy(
            update={
                "attempts": self._evaluator.attempts,
                "withheld": bool(result and result["withheld"]),
                "learned": learned,
                "bullets": len(self.memory.playbook),
                "commit": self.memory.take_commit(),
            }
        ), None


Given = Iterable[tuple[int, Transcripts | None]]
"""The samples to ask, as their places in the data, each with the transcripts that it is shown."""


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
        measured = self._begun(samples, phase, epoch, trainer)
        for number in range(measured.total, len(order)):
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
        measured = self._begun(samples, phase, epoch)
        every = ((index, None) for index in range(len(samples))) if given is None else given

        def asked() -> Iterator[SampleRun]:
            for index, transcripts in every:
                if measured.done(index):
                    continue
                if self._must_stop():
                    return
                yield SampleRun(samples[index], StepPosition(phase, epoch, index + 1, index), transcripts)

        def take(answered: Answered) -> None:
            self._take(*answered, measured)

        if measured.total < len(samples):
            job = replace(frozen, options=frozen.options.for_nodes())
            await self._options.executor.run(job, asked(), take, concurrency=self._options.concurrency)
        if not self.stopped:
            self._finish(measured)
        return measured

    async def measure_controls(
        self, environment: Environment, samples: Sequence[Sample], transcripts: Given
    ) -> dict[str, Accuracy]:
        """Return the controls. Raises EnvironmentFailed, ModelOutage, RunFolderError.

        The prompt of the one without the agent asks for the usual form of the reply only, so that its answer
        is parsed in the same way.
        """
        bare = FrozenAgent(environment, self._options, system_prompt=_BARE_PROMPT, mode="cot")
        empty = FrozenAgent(environment, self._options)
        return {
            "no_playbook": await self.measure(bare, samples, "no_playbook", 0),
            "empty_playbook": await self.measure(empty, samples, "empty_playbook", 0),
            "last_transcripts": await self.measure(empty, samples, "last_transcripts", 0, transcripts),
        }

    def _begun(
        self, samples: Sequence[Sample], phase: str, epoch: int, trainer: Trainer | None = None
    ) -> Accuracy:
        measured = Accuracy(len(samples))
        for step in self._journal.recorded(phase, epoch):
            if trainer is not None and step.commit is not None:
                trainer.memory.replay(step.commit)
            measured.add(step)
        self._report_progress(phase, epoch, measured)
        self._failures.begin(resumed=measured.total > 0)
        return measured

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
