"""Which bullets a prompt gets: relevance, ranking, cutoff, budget.

Names are loaded at their first use (PEP 562).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ace_graph.memory.retrieval.retrieve import Retrieval, retrieve
    from ace_graph.memory.retrieval.selection import Scored

__all__ = [
    "Retrieval",
    "Scored",
    "retrieve",
]

_HOMES = {
    "Retrieval": "retrieve",
    "Scored": "selection",
    "retrieve": "retrieve",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
