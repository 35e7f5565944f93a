"""Learning: from a finished turn to a delta, by evidence, reflector, curator and patterns.

The names of adaptation moved to `ace_graph.adaptation`; here they warn, until 0.3.
"""

from __future__ import annotations

import warnings
from importlib import import_module

_MOVED = frozenset(
    {
        "AdaptationOptions",
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
    }
)


def __getattr__(name: str) -> object:
    if name not in _MOVED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(
        f"ace_graph.learning.{name} moved to ace_graph.adaptation.{name}; this name goes with 0.3",
        DeprecationWarning,
        stacklevel=2,
    )
    return getattr(import_module("ace_graph.adaptation"), name)
