"""Measuring without learning: each sample is a run of its own, with a playbook that does not change.

The playbook is given as the base playbook, which is how it is deployed. No ground truth, no reflections of
earlier turns and no evidence reach the run, and nothing is stored.

A sample as the input of a run, and a run's output as a step: what practice and measuring share.

Does not: choose samples, or write the journal.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cached_property
from typing import cast

from langchain_core.messages import HumanMessage

from ace_graph.adaptation.journal import MAX_ANSWER_CHARS, Cost, Step
from ace_graph.adaptation.memory import LEARNER
from ace_graph.adaptation.options import AUTO, AdaptationOptions
from ace_graph.adaptation.samples import Environment, Sample, judge
from ace_graph.errors import ModelError
from ace_graph.graph import ACEGraph, build_ace_graph  # pyright: ignore[reportUnknownVariableType]  # LangGraph's checkpointer type is open
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.stores.in_memory.store import InMemoryStore
from ace_graph.state import ACEInput, ACEOutput

__all__ = ["Frozen", "asked", "bare_model", "base_step", "used"]


def asked(sample: Sample, mode: str) -> ACEInput:
    """Return the input: the question alone, and the mode to force."""
    given: ACEInput = {"messages": [HumanMessage(sample.question)]}
    if mode != AUTO:
        given["mode"] = mode
    return given


def base_step(sample: Sample, phase: str, epoch: int, number: int, index: int, seconds: float) -> Step:
    """Return a step that says where it is and of what; the rest is still to be told."""
    return Step(
        phase=phase,
        epoch=epoch,
        number=number,
        index=index,
        sample=sample.id,
        target=sample.target,
        units=sample.units,
        seconds=max(0.0, seconds),
    )


def used(out: ACEOutput) -> dict[str, Cost]:
    """Return calls and tokens by role."""
    return {role: Cost.model_validate(dict(cost)) for role, cost in out.get("usage", {}).items()}


_BARE_PROMPT = "Answer the question."


class Frozen:
    """The graph with a fixed playbook, or an empty memory. Any number of samples may be asked at once."""

    def __init__(
        self,
        environment: Environment,
        options: AdaptationOptions,
        playbook: Playbook | None = None,
        *,
        system_prompt: str | None = None,
        mode: str | None = None,
    ) -> None:
        self._environment = environment
        self._mode = mode or options.mode
        self._context = options.context.model_copy(
            update={"learner_id": LEARNER, "learning": "off", "ground_truth": None, "max_revisions": 0}
        )
        self._options, self._playbook = options, playbook
        self._system_prompt = system_prompt or options.system_prompt
        self._bullets = len(playbook) if playbook is not None else 0

    @cached_property
    def _graph(self) -> ACEGraph:
        """Built when the first sample is asked: a run that is resumed has phases without any left."""
        return build_ace_graph(
            model=self._options.model,
            store=InMemoryStore(),
            settings=self._options.settings,
            system_prompt=self._system_prompt,
            base_playbook=self._playbook,
            learning="off",
            clock=self._options.clock,
        )

    async def step(
        self, sample: Sample, phase: str, epoch: int, number: int, index: int
    ) -> tuple[Step, ModelError | None]:
        """Answer one sample; the error is set where the model gave no answer. Raises EnvironmentFailed."""
        began = time.perf_counter()
        try:
            out = await self._graph.ainvoke(asked(sample, self._mode), context=self._context)
        except ModelError as error:
            step = base_step(sample, phase, epoch, number, index, time.perf_counter() - began)
            failed = {"failed": True, "error": str(error), "bullets": self._bullets}
            return step.model_copy(update=failed), error
        return await self._told(base_step(sample, phase, epoch, number, index, 0), sample, out, began), None

    async def _told(self, step: Step, sample: Sample, out: Mapping[str, object], began: float) -> Step:
        given = cast("ACEOutput", out)
        answer, result = given["messages"][-1].text, given.get("result")
        outcome = await judge(self._environment, sample, answer)
        told = {
            "seconds": time.perf_counter() - began,
            "answer": answer[:MAX_ANSWER_CHARS],
            "right": outcome.right,
            "correct": outcome.right >= sample.units,
            "verdict": outcome.verdict(sample.units),
            "attempts": 1,
            "injected": tuple(result["injected"]) if result else (),
            "cited": tuple(result["bullet_ids"]) if result else (),
            "bullets": self._bullets,
            "usage": used(given),
        }
        return step.model_copy(update=told)


def bare_model(environment: Environment, options: AdaptationOptions) -> Frozen:
    """Return the control without the agent: one call, no persona, no tools, no memory.

    Only the form of the reply is asked for, so that the answer is found in it in the same way.
    """
    return Frozen(environment, options, system_prompt=_BARE_PROMPT, mode="cot")
