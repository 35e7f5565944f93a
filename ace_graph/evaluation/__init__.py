"""Evaluation: tasks in files, scorers, intervals and paired tests, results, and two sides compared.

Names resolve on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ace_graph.evaluation.comparison import Comparison, Side, compare
    from ace_graph.evaluation.datasets import RowFile
    from ace_graph.evaluation.reports import Prices, report, write_results
    from ace_graph.evaluation.statistics import Interval, Paired, mcnemar, paired, share_interval, wilson
    from ace_graph.evaluation.tasks import TASKS, Task, score_finer, score_formula, score_qa, task_named

__all__ = [
    "TASKS",
    "Comparison",
    "Interval",
    "Paired",
    "Prices",
    "RowFile",
    "Side",
    "Task",
    "compare",
    "mcnemar",
    "paired",
    "report",
    "score_finer",
    "score_formula",
    "score_qa",
    "share_interval",
    "task_named",
    "wilson",
    "write_results",
]

_HOMES = {
    "TASKS": "tasks",
    "Comparison": "comparison",
    "Prices": "reports",
    "RowFile": "datasets",
    "Side": "comparison",
    "Task": "tasks",
    "compare": "comparison",
    "report": "reports",
    "score_finer": "tasks",
    "score_formula": "tasks",
    "score_qa": "tasks",
    "task_named": "tasks",
    "write_results": "reports",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'statistics')}"), name)


def __dir__() -> list[str]:
    return __all__
