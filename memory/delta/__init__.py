"""Changes of a playbook: a delta of operations is resolved into an effect, and effects fold into a state."""

from __future__ import annotations

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
