"""Measuring without learning: each sample is a run of its own, with a playbook that does not change.

The playbook is given as the base playbook, which is how it is deployed. No ground truth, no reflections of
earlier turns and no evidence reach the run, and nothing is stored. A control may be given transcripts of
earlier samples in the place of bullets. `input_for`, `new_step` and `used` are
shared with training.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import cast

from langchain_core.messages import HumanMessage

from ace_graph.adaptation.journal import MAX_ANSWER_CHARS, MAX_FEEDBACK_CHARS, AdaptationStep, Cost
from ace_graph.adaptation.memory import LEARNER
from ace_graph.adaptation.options import AUTO, AdaptationOptions, with_model
from ace_graph.adaptation.samples import Environment, Sample, judge
from ace_graph.adaptation.transcripts import Transcripts
from ace_graph.errors import ModelError
from ace_graph.graph import ACEGraph, build_ace_graph  # pyright: ignore[reportUnknownVariableType]  # LangGraph's checkpointer type is open
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.stores.sql.sqlite import SQLiteStore
from ace_graph.state import ACEInput, ACEOutput

__all__ = ["Answered", "Asked", "FrozenAgent", "input_for", "model_without_agent", "new_step", "used"]


def input_for(sample: Sample, mode: str) -> ACEInput:
    """Return the input: the question alone, and the mode to force."""
    given: ACEInput = {"messages": [HumanMessage(sample.question)]}
    if mode != AUTO:
        given["mode"] = mode
    return given


def new_step(
    sample: Sample, phase: str, epoch: int, number: int, index: int, seconds: float
) -> AdaptationStep:
    """Return a step with its position and sample; the answer is still to be filled in."""
    return AdaptationStep(
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


@dataclass(frozen=True)
class Asked:
    """A sample to answer, and where in a run that is; `index` is its place in the data, from 0.

    `transcripts` are shown with the question, None in all phases but that of the control.
    """

    sample: Sample
    phase: str
    epoch: int
    index: int
    transcripts: Transcripts | None = None


Answered = tuple[AdaptationStep, ModelError | None]
"""A step; the error is set where the model gave no answer."""


@dataclass(frozen=True)
class FrozenAgent:
    """The job of answering samples with a playbook that does not change, or with an empty memory."""

    environment: Environment
    options: AdaptationOptions
    playbook: Playbook | None = None
    system_prompt: str | None = None
    mode: str | None = None

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[Callable[[Asked], Awaitable[Answered]]]:
        """Yield what answers one sample. That raises EnvironmentFailed, and what building a graph raises."""
        async with with_model(self.options) as options:
            yield _Answering(self, options).step


class _Answering:
    """The graph of a frozen agent."""

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

    async def step(self, asked: Asked) -> Answered:
        """Answer one sample. Raises EnvironmentFailed."""
        sample, phase, epoch, index = asked.sample, asked.phase, asked.epoch, asked.index
        began = time.perf_counter()
        try:
            out = await self._graph.ainvoke(self._input_for(asked), context=self._context)
        except ModelError as error:
            step = new_step(sample, phase, epoch, index + 1, index, time.perf_counter() - began)
            failed = {"failed": True, "error": str(error), "bullets": self._bullets}
            return step.model_copy(update=failed), error
        step = new_step(sample, phase, epoch, index + 1, index, 0)
        if asked.transcripts is not None:
            step = step.model_copy(update={"transcripts": asked.transcripts.samples})
        return await self._answered(step, sample, out, began), None

    def _input_for(self, asked: Asked) -> ACEInput:
        """Return the question, and the transcripts as its context: where bullets stand, as data."""
        given = input_for(asked.sample, self._mode)
        if asked.transcripts is not None and asked.transcripts.text:
            given["additional_context"] = asked.transcripts.text
        return given

    async def _answered(
        self, step: AdaptationStep, sample: Sample, out: Mapping[str, object], began: float
    ) -> AdaptationStep:
        given = cast("ACEOutput", out)
        answer, result = given["messages"][-1].text, given.get("result")
        outcome = await judge(self._environment, sample, answer)
        fields = {
            "seconds": time.perf_counter() - began,
            "answer": answer[:MAX_ANSWER_CHARS],
            "right": outcome.right,
            "correct": outcome.right >= sample.units,
            "verdict": outcome.verdict(sample.units),
            "feedback": outcome.feedback[:MAX_FEEDBACK_CHARS] or None,
            "attempts": 1,
            "injected": tuple(result["injected"]) if result else (),
            "cited": tuple(result["bullet_ids"]) if result else (),
            "bullets": self._bullets,
            "usage": used(given),
        }
        return step.model_copy(update=fields)


def model_without_agent(environment: Environment, options: AdaptationOptions) -> FrozenAgent:
    """Return the control without the agent: one call, no persona, no tools, no memory.

    The prompt asks for the usual form of the reply only, so that the answer is parsed in the same way.
    """
    return FrozenAgent(environment, options, system_prompt=_BARE_PROMPT, mode="cot")
