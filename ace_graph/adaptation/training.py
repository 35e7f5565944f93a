"""A training step: the graph answers a sample, the environment judges the answer, the graph learns from it.

The environment is the graph's evaluator; its outcome is evidence of the ground truth where the sample has a
target, else evidence of a tool. The first answer counts; a revision may come after it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import cast

from ace_graph.adaptation.frozen import input_for, new_step, used
from ace_graph.adaptation.journal import MAX_ANSWER_CHARS, MAX_FEEDBACK_CHARS, AdaptationStep, BulletChanges
from ace_graph.adaptation.memory import LEARNER, AdaptationStore
from ace_graph.adaptation.options import AdaptationOptions
from ace_graph.adaptation.samples import Environment, Outcome, Sample, judge
from ace_graph.context import ACEContext
from ace_graph.errors import AceError, ModelError
from ace_graph.graph import build_ace_graph  # pyright: ignore[reportUnknownVariableType]  # LangGraph's checkpointer type is open
from ace_graph.memory.evidence import Evidence
from ace_graph.state import ACEOutput, Learning

__all__ = ["StepPosition", "Trainer"]


@dataclass(frozen=True)
class StepPosition:
    """Where in a run a step is: phase and epoch, its number in them, the sample's position in the data."""

    phase: str
    epoch: int
    number: int
    index: int


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
    """The graph with a memory that grows from step to step."""

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

    def replay(self, step: AdaptationStep) -> None:
        """Bring the memory to its state after `step` of an earlier run."""
        if step.commit is not None:
            self.memory.replay(step.commit)

    async def step(self, sample: Sample, position: StepPosition) -> tuple[AdaptationStep, ModelError | None]:
        """Answer one sample and learn from it; the error is set where the model gave no answer.

        Raises EnvironmentFailed.
        """
        self._evaluator.begin(sample)
        self._ids.begin(position)
        self.memory.take_commit()
        context = self._options.context.model_copy(
            update={"learner_id": LEARNER, "learning": "inline", "ground_truth": sample.target}
        )
        began = time.perf_counter()
        try:
            out = cast(
                "ACEOutput", await self._graph.ainvoke(input_for(sample, self._options.mode), context=context)
            )
        except ModelError as error:
            seconds = time.perf_counter() - began
            failed = {"failed": True, "error": str(error), "bullets": len(self.memory.playbook)}
            return _step(sample, position, seconds).model_copy(update=failed), error
        if self._evaluator.problem is not None:
            raise self._evaluator.problem
        return self._finished(_step(sample, position, time.perf_counter() - began), out), None

    def _finished(self, step: AdaptationStep, out: ACEOutput) -> AdaptationStep:
        answer, outcome = self._evaluator.first or ("", Outcome(0))
        result, learning = out.get("result"), out.get("learning")
        return step.model_copy(
            update={
                "answer": answer[:MAX_ANSWER_CHARS],
                "right": outcome.right,
                "correct": outcome.right >= step.units,
                "verdict": outcome.verdict(step.units),
                "feedback": outcome.feedback[:MAX_FEEDBACK_CHARS] or None,
                "attempts": self._evaluator.attempts,
                "injected": tuple(result["injected"]) if result else (),
                "cited": tuple(result["bullet_ids"]) if result else (),
                "withheld": bool(result and result["withheld"]),
                "learned": _learned(learning) if learning else None,
                "bullets": len(self.memory.playbook),
                "usage": used(out),
                "commit": self.memory.take_commit(),
            }
        )


def _step(sample: Sample, position: StepPosition, seconds: float) -> AdaptationStep:
    return new_step(sample, position.phase, position.epoch, position.number, position.index, seconds)


def _learned(learning: Learning) -> BulletChanges:
    return BulletChanges(
        added=tuple(learning["added"]),
        updated=tuple(learning["updated"]),
        tagged=tuple(learning["tagged"]),
        superseded=tuple(pair["gone"] for pair in learning["superseded"]),
        removed=tuple(learning["removed"]),
        quarantined=tuple(learning["quarantined"]),
        error=learning["error"],
    )
