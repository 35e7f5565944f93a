"""Offline and online adaptation: the playbook learns from samples of your own, and is measured.

from ace_graph.training import OfflineAdapter, OnlineAdapter, Sample
"""

from __future__ import annotations

from ace_graph.memory.playbook import Interval
from ace_graph.training.adapters import OfflineAdapter, OnlineAdapter, describe, digest_of, open_journal
from ace_graph.training.evaluation import Comparison, Prices, Side, compare, report, write_results
from ace_graph.training.journal import Accuracy, AdaptationResult, AdaptationStep, Epoch, FileJournal
from ace_graph.training.options import MAX_CHARS, AdaptationOptions, LastTranscripts, Progress
from ace_graph.training.runner import StepPosition, new_step
from ace_graph.training.samples import Environment, Outcome, RowFile, Sample, judge
from ace_graph.training.scoring import TASKS, Task, score_finer, score_formula, score_qa, task_named
from ace_graph.training.statistics import Gain, Paired, mcnemar, paired, paired_gain, share_interval, wilson

__all__ = [
    "MAX_CHARS",
    "TASKS",
    "Accuracy",
    "AdaptationOptions",
    "AdaptationResult",
    "AdaptationStep",
    "Comparison",
    "Environment",
    "Epoch",
    "FileJournal",
    "Gain",
    "Interval",
    "LastTranscripts",
    "OfflineAdapter",
    "OnlineAdapter",
    "Outcome",
    "Paired",
    "Prices",
    "Progress",
    "RowFile",
    "Sample",
    "Side",
    "StepPosition",
    "Task",
    "compare",
    "describe",
    "digest_of",
    "judge",
    "mcnemar",
    "new_step",
    "open_journal",
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
