"""One step of practice: the graph answers a sample, the environment judges it, the graph learns from that.

The judgement reaches the graph as its evaluator, as evidence of a ground truth where the sample has a target,
else of the environment. What counts is the first answer; a revision may come after it.

Does not: choose samples, or write the journal.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import cast

from ace_graph.adaptation.frozen import asked, base_step, used
from ace_graph.adaptation.journal import MAX_ANSWER_CHARS, Learned, Step
from ace_graph.adaptation.memory import LEARNER, PracticeMemory
from ace_graph.adaptation.options import AdaptationOptions
from ace_graph.adaptation.samples import Environment, Outcome, Sample, judge
from ace_graph.context import ACEContext
from ace_graph.errors import AceError, ModelError
from ace_graph.graph import build_ace_graph  # pyright: ignore[reportUnknownVariableType]  # LangGraph's checkpointer type is open
from ace_graph.memory.evidence import Evidence
from ace_graph.state import ACEOutput, Learning

__all__ = ["Place", "Practice"]

_FEEDBACK_CHARS = 2_000


@dataclass(frozen=True)
class Place:
    """Where in a run a step is: phase and epoch, its number in them, the sample's place in the data."""

    phase: str
    epoch: int
    number: int
    index: int


class _Judging:
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
            self.problem = error  # the critic takes it for no evidence; the step is then not kept
            return None
        self.first = self.first or (answer, outcome)
        verdict = outcome.verdict(sample.units)
        known = sample.target is not None
        says = {"success": "matches", "partial": "matches in part", "failure": "differs from"}
        told = outcome.feedback or (
            f"the answer {says[verdict]} the ground truth" if known else f"the environment says {verdict}"
        )
        return Evidence(
            source="ground_truth" if known else "tool",
            verdict=verdict,
            score=outcome.right / sample.units,
            text=told[:_FEEDBACK_CHARS],
            by="environment",
        )


class _Ids:
    """Turn and attempt ids that are the same whenever the same step is done."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._prefix, self._count = "", 0

    def begin(self, place: Place) -> None:
        self._prefix = f"{place.phase}-{place.epoch}-{place.number}-seed{self._seed}"
        self._count = 0

    def __call__(self) -> str:
        self._count += 1
        return f"{self._prefix}-{self._count}"


class Practice:
    """The graph with a memory that grows from step to step."""

    def __init__(self, environment: Environment, options: AdaptationOptions, memory: PracticeMemory) -> None:
        self.memory = memory
        self._options = options
        self._judging = _Judging(environment)
        self._ids = _Ids(options.seed)
        self._graph = build_ace_graph(
            model=options.model,
            store=memory,
            settings=options.settings,
            system_prompt=options.system_prompt,
            evaluator=self._judging,
            learning="inline",
            clock=options.clock,
            new_id=self._ids,
        )

    def replay(self, step: Step) -> None:
        """Bring the memory to where it was after `step` of an earlier run."""
        if step.commit is not None:
            self.memory.replay(step.commit)

    async def step(self, sample: Sample, place: Place) -> tuple[Step, ModelError | None]:
        """Answer one sample and learn from it; the error is set where the model gave no answer.

        Raises EnvironmentFailed.
        """
        self._judging.begin(sample)
        self._ids.begin(place)
        self.memory.take_commit()
        context = self._options.context.model_copy(
            update={"learner_id": LEARNER, "learning": "inline", "ground_truth": sample.target}
        )
        began = time.perf_counter()
        try:
            out = cast(
                "ACEOutput", await self._graph.ainvoke(asked(sample, self._options.mode), context=context)
            )
        except ModelError as error:
            seconds = time.perf_counter() - began
            failed = {"failed": True, "error": str(error), "bullets": len(self.memory.playbook)}
            return _step(sample, place, seconds).model_copy(update=failed), error
        if self._judging.problem is not None:
            raise self._judging.problem
        return self._told(_step(sample, place, time.perf_counter() - began), out), None

    def _told(self, step: Step, out: ACEOutput) -> Step:
        answer, outcome = self._judging.first or ("", Outcome(0))
        result, learning = out.get("result"), out.get("learning")
        return step.model_copy(
            update={
                "answer": answer[:MAX_ANSWER_CHARS],
                "right": outcome.right,
                "correct": outcome.right >= step.units,
                "verdict": outcome.verdict(step.units),
                "attempts": self._judging.attempts,
                "injected": tuple(result["injected"]) if result else (),
                "cited": tuple(result["bullet_ids"]) if result else (),
                "withheld": bool(result and result["withheld"]),
                "learned": _learned(learning) if learning else None,
                "bullets": len(self.memory.playbook),
                "usage": used(out),
                "commit": self.memory.take_commit(),
            }
        )


def _step(sample: Sample, place: Place, seconds: float) -> Step:
    return base_step(sample, place.phase, place.epoch, place.number, place.index, seconds)


def _learned(learning: Learning) -> Learned:
    return Learned(
        added=tuple(learning["added"]),
        updated=tuple(learning["updated"]),
        tagged=tuple(learning["tagged"]),
        superseded=tuple(pair["gone"] for pair in learning["superseded"]),
        removed=tuple(learning["removed"]),
        quarantined=tuple(learning["quarantined"]),
        error=learning["error"],
    )
