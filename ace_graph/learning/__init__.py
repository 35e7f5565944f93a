"""Learning: from a finished turn to a delta, by evidence, reflector, curator and patterns.

The adaptation names of 0.1 are in `ace_graph.adaptation`; here they warn, until 0.3.
"""

from __future__ import annotations

import warnings
from importlib import import_module

_MOVED = {
    "AdaptationOptions": "AdaptationOptions",
    "Adapted": "AdaptationResult",
    "Environment": "Environment",
    "Epoch": "Epoch",
    "Measured": "Accuracy",
    "OfflineAdapter": "OfflineAdapter",
    "OnlineAdapter": "OnlineAdapter",
    "Outcome": "Outcome",
    "Progress": "Progress",
    "Sample": "Sample",
    "Step": "AdaptationStep",
}


def __getattr__(name: str) -> object:
    if name not in _MOVED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(
        f"ace_graph.learning.{name} is now ace_graph.adaptation.{_MOVED[name]}; this name goes with 0.3",
        DeprecationWarning,
        stacklevel=2,
    )
    return getattr(import_module("ace_graph.adaptation"), _MOVED[name])
