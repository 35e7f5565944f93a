"""Evaluation: tasks in files, scorers, intervals and paired tests, results, and two sides compared."""

from __future__ import annotations

from ace_graph.evaluation.comparison import Comparison, Side, compare
from ace_graph.evaluation.datasets import RowFile
from ace_graph.evaluation.reports import Prices, report, write_results
from ace_graph.evaluation.statistics import (
    Gain,
    Interval,
    Paired,
    mcnemar,
    paired,
    paired_gain,
    share_interval,
    wilson,
)
from ace_graph.evaluation.tasks import TASKS, Task, score_finer, score_formula, score_qa, task_named

__all__ = [
    "TASKS",
    "Comparison",
    "Gain",
    "Interval",
    "Paired",
    "Prices",
    "RowFile",
    "Side",
    "Task",
    "compare",
    "mcnemar",
    "paired",
    "paired_gain",
    "report",
    "score_finer",
    "score_formula",
    "score_qa",
    "share_interval",
    "task_named",
    "wilson",
    "write_results",
]
