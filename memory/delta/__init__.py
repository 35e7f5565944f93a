"""Changes of a playbook: a delta of operations is resolved into an effect, effects are folded into a state.

The operations can be imported from here; they are loaded at their first use (PEP 562).
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
