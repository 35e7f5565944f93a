"""Changes of a playbook: operations are resolved into an effect, and effects are folded into the state.

Names are resolved when they are used (PEP 562).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ace_graph.memory.delta.operations import (
        Add,
        Delta,
        Judge,
        Merge,
        Operation,
        Pin,
        Quarantine,
        Reflect,
        Release,
        Remove,
        Rescreen,
        Reset,
        Restore,
        Rollback,
        Supersede,
        Tag,
        Touch,
        Unpin,
        Update,
    )

__all__ = [
    "Add",
    "Delta",
    "Judge",
    "Merge",
    "Operation",
    "Pin",
    "Quarantine",
    "Reflect",
    "Release",
    "Remove",
    "Rescreen",
    "Reset",
    "Restore",
    "Rollback",
    "Supersede",
    "Tag",
    "Touch",
    "Unpin",
    "Update",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.operations"), name)


def __dir__() -> list[str]:
    return __all__
