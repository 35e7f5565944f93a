"""The kinds of tasks that `--task` names: how they are scored, and what their accuracy is counted in.

Does not: hold data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ace_graph.errors import UsageError
from ace_graph.evaluation.scorers import labels_of, score_finer, score_formula, score_qa
from ace_graph.learning.adaptation.sample import Environment

__all__ = ["TASKS", "Task", "task_named"]


def _one(target: str) -> int:
    return 1


def _labels(target: str) -> int:
    return len(labels_of(target))


@dataclass(frozen=True)
class Task:
    """One kind of task. `units` says how many parts of a target are counted; `unit` is what one is called."""

    name: str
    score: Environment
    units: Callable[[str], int] = _one
    unit: str = "answer"


TASKS: Mapping[str, Task] = {
    "formula": Task("formula", score_formula),
    "finer": Task("finer", score_finer, _labels, "label"),
    "qa": Task("qa", score_qa),
}


def task_named(name: str) -> Task:
    """Return the task. Raises UsageError naming those there are."""
    if name not in TASKS:
        raise UsageError(f"{name[:40]!r} is no task: use one of {', '.join(TASKS)}")
    return TASKS[name]
