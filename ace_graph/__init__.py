"""ace_graph: a LangGraph agent that gets better at helping each learner.

    from ace_graph import ACEContext, build_ace_graph, open_store

Names are resolved when they are used (PEP 562), so importing this package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ace_graph.agent.context import ACEContext
    from ace_graph.agent.retriever import PlaybookRetriever, PlaybookStoreView
    from ace_graph.agent.state import ACEInput, ACEOutput
    from ace_graph.base.errors import AceError
    from ace_graph.base.settings import Settings
    from ace_graph.graph import ACEGraph, build_ace_graph, make_graph
    from ace_graph.learning.batch_reflection import batch_reflect
    from ace_graph.learning.curate_reflections import curate
    from ace_graph.learning.execution import TaskResult, execute_with_learning
    from ace_graph.learning.recurring_patterns import extract_patterns
    from ace_graph.learning.trajectories import Completion, complete_trajectory, log_step, start_trajectory
    from ace_graph.learning.trajectory_feedback import give_feedback
    from ace_graph.learning.worker import PendingOutcome, Worker, build_worker, learn_pending
    from ace_graph.memory import Bullet, Delta, Effect, Evidence, Playbook, Policy, TurnRecord, apply, resolve
    from ace_graph.memory.stores.memories import commit_unsaved
    from ace_graph.memory.stores.store import Store
    from ace_graph.playbooks.memories import memories, remember, search_memories
    from ace_graph.stores import open_store

__all__ = [
    "ACEContext",
    "ACEGraph",
    "ACEInput",
    "ACEOutput",
    "AceError",
    "Bullet",
    "Completion",
    "Delta",
    "Effect",
    "Evidence",
    "PendingOutcome",
    "Playbook",
    "PlaybookRetriever",
    "PlaybookStoreView",
    "Policy",
    "Settings",
    "Store",
    "TaskResult",
    "TurnRecord",
    "Worker",
    "apply",
    "batch_reflect",
    "build_ace_graph",
    "build_worker",
    "commit_unsaved",
    "complete_trajectory",
    "curate",
    "execute_with_learning",
    "extract_patterns",
    "give_feedback",
    "learn_pending",
    "log_step",
    "make_graph",
    "memories",
    "open_store",
    "remember",
    "resolve",
    "search_memories",
    "start_trajectory",
]

_HOMES = {
    "agent.context": ("ACEContext",),
    "base.errors": ("AceError",),
    "graph": ("ACEGraph", "build_ace_graph", "make_graph"),
    "agent.state": ("ACEInput", "ACEOutput"),
    "agent.retriever": ("PlaybookRetriever", "PlaybookStoreView"),
    "base.settings": ("Settings",),
    "memory.stores.store": ("Store",),
    "memory.stores.memories": ("commit_unsaved",),
    "playbooks.memories": ("memories", "remember", "search_memories"),
    "stores": ("open_store",),
    "learning.worker": ("PendingOutcome", "learn_pending", "Worker", "build_worker"),
    "learning.batch_reflection": ("batch_reflect", "extract_patterns"),
    "learning.curate_reflections": ("curate",),
    "learning.trajectories": ("Completion", "start_trajectory", "log_step", "complete_trajectory"),
    "learning.execution": ("TaskResult", "execute_with_learning"),
    "learning.trajectory_feedback": ("give_feedback",),
}
"""The module of each name that is not in `memory`."""


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = next((home for home, names in _HOMES.items() if name in names), "memory")
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return __all__
