"""Learning: evidence, reflector, curator, patterns; and adaptation, offline and online, on data of your own.

    from ace_graph.learning import OfflineAdapter, OnlineAdapter, Sample

Names resolve on first use, so that a turn does not load what an adaptation needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ace_graph.learning.adaptation.adapted import Adapted, Epoch
    from ace_graph.learning.adaptation.measured import Measured
    from ace_graph.learning.adaptation.options import AdaptationOptions, Progress
    from ace_graph.learning.adaptation.sample import Environment, Outcome, Sample
    from ace_graph.learning.adaptation.step import Step
    from ace_graph.learning.offline import OfflineAdapter
    from ace_graph.learning.online import OnlineAdapter

__all__ = [
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
]

_HOMES = {
    "AdaptationOptions": "adaptation.options",
    "Adapted": "adaptation.adapted",
    "Environment": "adaptation.sample",
    "Epoch": "adaptation.adapted",
    "Measured": "adaptation.measured",
    "OfflineAdapter": "offline",
    "OnlineAdapter": "online",
    "Outcome": "adaptation.sample",
    "Progress": "adaptation.options",
    "Sample": "adaptation.sample",
    "Step": "adaptation.step",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
