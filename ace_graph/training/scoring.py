"""How an answer to each kind of task is scored; the kinds that `--task` names.

    formula   one number: commas dropped, compared as floats; what is no number is compared as text
    finer     labels between commas, in order: lower case, each position counts by itself
    qa        the general comparison of an answer in words or numbers with the right one

Nothing in an answer is ever executed. Sources: the first two are those of the finance tasks of the ACE paper
(arXiv 2510.04618).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ace_graph.agent.evidence import matches_ground_truth
from ace_graph.base.errors import UsageError, unknown
from ace_graph.base.prompts import preview
from ace_graph.training.samples import Environment, Outcome, Sample

_WRONG_FORM = " in its form only: the value is right, but the task asks for another form of the number"


def score_formula(sample: Sample, answer: str) -> Outcome:
    """Return 1 right for an equal number, or an equal text where one of the two is no number."""
    given, true = (text.replace(",", "").strip() for text in (answer, sample.target or ""))
    try:
        return _scored(float(given) == float(true), answer)
    except ValueError:
        return _scored(given == true, answer, " (it must be a number alone)")


def score_finer(sample: Sample, answer: str) -> Outcome:
    """Return how many labels stand where the target has them.

    A prediction with fewer labels than the target is filled up with wrong ones, a longer one is cut.
    """
    true, given = labels_of(sample.target or ""), labels_of(answer)
    wrong = [n for n, label in enumerate(true, 1) if given[n - 1 : n] != [label]]
    if not wrong:
        return Outcome(len(true), "every label matches the ground truth")
    places = ", ".join(map(str, wrong))
    return Outcome(len(true) - len(wrong), f"of {len(true)} labels these are wrong, by place: {places}")


def score_qa(sample: Sample, answer: str) -> Outcome:
    """Return 1 right where the answer gives the true value, in the form that the sample asks for.

    See `matches_ground_truth`.
    """
    target = sample.target or ""
    right = matches_ground_truth(answer, target, sample.form)
    return _scored(right, answer, _WRONG_FORM if not right and matches_ground_truth(answer, target) else "")


def labels_of(text: str) -> list[str]:
    """Return the labels between commas, in lower case."""
    return [label.strip().lower() for label in text.split(",")]


def _scored(right: bool, answer: str, hint: str = "") -> Outcome:
    if right:
        return Outcome(1, "the answer matches the ground truth")
    return Outcome(0, f"the answer {preview(answer, 80)!r} differs from the ground truth{hint}")


@dataclass(frozen=True)
class Task:
    """One kind of task. `units` says how many parts of a target are counted; `unit` is what one is called."""

    name: str
    score: Environment
    units: Callable[[str], int] = lambda _target: 1
    unit: str = "answer"


TASKS: Mapping[str, Task] = {
    "formula": Task("formula", score_formula),
    "finer": Task("finer", score_finer, lambda target: len(labels_of(target)), "label"),
    "qa": Task("qa", score_qa),
}


def task_named(name: str) -> Task:
    """Return the task. Raises UsageError naming those there are."""
    if name not in TASKS:
        raise UsageError(unknown("task", name, TASKS))
    return TASKS[name]
