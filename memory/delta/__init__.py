"""Changes of a playbook: a delta of operations is resolved into an effect, and effects fold into a state."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ace_graph.memory.delta.operations import (
        Add,
        Consolidate,
        Delta,
        Distinguish,
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
        Source,
        Supersede,
        Tag,
        Touch,
        Undo,
        Unpin,
        Update,
    )

__all__ = [
    "Add",
    "Consolidate",
    "Delta",
    "Distinguish",
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
    "Source",
    "Supersede",
    "Tag",
    "Touch",
    "Undo",
    "Unpin",
    "Update",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("ace_graph.memory.delta.operations"), name)


def __dir__() -> list[str]:
    return __all__
