"""Offline and online adaptation: the playbook learns from samples of your own, and is measured.

    from ace_graph.adaptation import OfflineAdapter, OnlineAdapter, Sample

Names are resolved when they are used (PEP 562).
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ace_graph.adaptation.journal import AdaptationStep
    from ace_graph.adaptation.offline import OfflineAdapter
    from ace_graph.adaptation.online import OnlineAdapter
    from ace_graph.adaptation.options import AdaptationOptions, Progress
    from ace_graph.adaptation.results import Accuracy, AdaptationResult, Epoch
    from ace_graph.adaptation.samples import Environment, Outcome, Sample

    # The names of 0.1.
    Adapted, Measured, Step = AdaptationResult, Accuracy, AdaptationStep

__all__ = [
    "Accuracy",
    "AdaptationOptions",
    "AdaptationResult",
    "AdaptationStep",
    "Adapted",
    "Environment",
    "Epoch",
    "Measured",
    "OfflineAdapter",
    "OnlineAdapter",
    "Outcome",
    "Progress",
    "Sample",
    "Step",
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
_RENAMED = {"Adapted": "AdaptationResult", "Measured": "Accuracy", "Step": "AdaptationStep"}
"""Names of 0.1 and what they are called now; they go with 0.3."""


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _RENAMED:
        new = _RENAMED[name]
        warnings.warn(
            f"{__name__}.{name} is now {__name__}.{new}; this name goes with 0.3",
            DeprecationWarning,
            stacklevel=2,
        )
        name = new
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
