"""A sample as the input of a run, and a run's output as a step: what practice and measuring share.

Does not: run the graph.
"""

from __future__ import annotations

from langchain_core.messages import HumanMessage

from ace_graph.learning.adaptation.options import AUTO
from ace_graph.learning.adaptation.sample import Sample
from ace_graph.learning.adaptation.step import Cost, Step
from ace_graph.state import ACEInput, ACEOutput

__all__ = ["asked", "base_step", "used"]


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
