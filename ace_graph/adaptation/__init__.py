"""Offline and online adaptation: the playbook learns from samples of your own, and is measured.

from ace_graph.adaptation import OfflineAdapter, OnlineAdapter, Sample
"""

from __future__ import annotations

from ace_graph.adaptation.journal import AdaptationStep
from ace_graph.adaptation.offline import OfflineAdapter
from ace_graph.adaptation.online import OnlineAdapter
from ace_graph.adaptation.options import AdaptationOptions, Progress
from ace_graph.adaptation.results import Accuracy, AdaptationResult, Epoch
from ace_graph.adaptation.samples import Environment, Outcome, Sample

__all__ = [
    "Accuracy",
    "AdaptationOptions",
    "AdaptationResult",
    "AdaptationStep",
    "Environment",
    "Epoch",
    "OfflineAdapter",
    "OnlineAdapter",
    "Outcome",
    "Progress",
    "Sample",
]
