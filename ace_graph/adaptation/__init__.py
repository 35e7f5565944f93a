"""Offline and online adaptation: the playbook learns from samples of your own, and is measured.

    from ace_graph.adaptation import OfflineAdapter, OnlineAdapter, Sample

Names are resolved when they are used (PEP 562).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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

_HOMES = {
    "Accuracy": "results",
    "AdaptationOptions": "options",
    "AdaptationResult": "results",
    "AdaptationStep": "journal",
    "Environment": "samples",
    "Epoch": "results",
    "OfflineAdapter": "offline",
    "OnlineAdapter": "online",
    "Outcome": "samples",
    "Progress": "options",
    "Sample": "samples",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
