"""What is remembered: bullets, playbooks, deltas and the pure functions over them.

    resolve(snapshot, delta, policy) -> Effect     turns requests into facts
    apply(playbook, effect) -> Playbook            folds facts into the state

This package imports neither LangGraph nor LangChain, and does I/O in `stores/` only. Names are resolved when
they are used (PEP 562): who needs a bullet does not load what resolves deltas.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ace_graph.memory.bullet import Bullet, BulletTag, MemoryType, Polarity, Stated, content_hash
    from ace_graph.memory.delta.effect import Effect, Report, apply
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
        Reset,
        Restore,
        Source,
        Supersede,
        Tag,
        Touch,
        Undo,
        Unpin,
        Update,
    )
    from ace_graph.memory.delta.resolve import resolve
    from ace_graph.memory.evidence import Evidence, Verdict, verdict_of
    from ace_graph.memory.playbook import Playbook, PlaybookStats
    from ace_graph.memory.policy import DecayRates, Policy
    from ace_graph.memory.snapshot import Access, Snapshot, Version, touch
    from ace_graph.memory.turn import RecentTurn, TurnRecord

__all__ = [
    "Access",
    "Add",
    "Bullet",
    "BulletTag",
    "Consolidate",
    "DecayRates",
    "Delta",
    "Distinguish",
    "Effect",
    "Evidence",
    "Judge",
    "MemoryType",
    "Merge",
    "Operation",
    "Pin",
    "Playbook",
    "PlaybookStats",
    "Polarity",
    "Policy",
    "Quarantine",
    "RecentTurn",
    "Reflect",
    "Release",
    "Remove",
    "Report",
    "Reset",
    "Restore",
    "Snapshot",
    "Source",
    "Stated",
    "Supersede",
    "Tag",
    "Touch",
    "TurnRecord",
    "Undo",
    "Unpin",
    "Update",
    "Verdict",
    "Version",
    "apply",
    "content_hash",
    "resolve",
    "touch",
    "verdict_of",
]

_HOMES = {
    "bullet": ("Bullet", "BulletTag", "MemoryType", "Polarity", "Stated", "content_hash"),
    "delta.effect": ("Effect", "Report", "apply"),
    "delta.operations": (
        *("Add", "Consolidate", "Delta", "Distinguish", "Judge", "Merge", "Operation", "Pin", "Quarantine"),
        *("Reflect", "Release", "Remove", "Reset", "Restore", "Source", "Supersede", "Tag", "Touch", "Undo"),
        *("Unpin", "Update"),
    ),
    "delta.resolve": ("resolve",),
    "evidence": ("Evidence", "Verdict", "verdict_of"),
    "playbook": ("Playbook", "PlaybookStats"),
    "policy": ("DecayRates", "Policy"),
    "snapshot": ("Access", "Snapshot", "Version", "touch"),
    "turn": ("RecentTurn", "TurnRecord"),
}
"""The module of each name."""


def __getattr__(name: str) -> object:
    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return __all__
