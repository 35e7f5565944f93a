"""The controls beside every result, on the same samples: the model without agent, the agent without memory.

    no_playbook      one plain call: no persona, no tools, no modes, no memory; only the form of the reply
    empty_playbook   the whole agent with an empty memory, as a new learner meets it

The second tells what the playbook is worth, the first what the agent around it is worth.

Does not: compare them with the result (evaluation.statistics does).
"""

from __future__ import annotations

from collections.abc import Sequence

from ace_graph.learning.adaptation.course import Course
from ace_graph.learning.adaptation.frozen import Frozen, bare_model
from ace_graph.learning.adaptation.measured import Measured
from ace_graph.learning.adaptation.options import AdaptationOptions
from ace_graph.learning.adaptation.sample import Environment, Sample

__all__ = ["CONTROLS", "measure_controls"]

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
