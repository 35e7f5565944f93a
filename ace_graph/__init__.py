"""ace_graph: a LangGraph agent that gets better at helping each learner.

    from ace_graph import ACEContext, build_ace_graph, open_store

Names are resolved when they are used (PEP 562), so importing this package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ace_graph.background.learn_pending import PendingOutcome, learn_pending
    from ace_graph.background.worker import Worker, build_worker
    from ace_graph.context import ACEContext
    from ace_graph.errors import AceError
    from ace_graph.graph import ACEGraph, build_ace_graph, make_graph
    from ace_graph.learning.batch_reflection import batch_reflect
    from ace_graph.learning.curate_reflections import curate
    from ace_graph.learning.recurring import extract_patterns
    from ace_graph.memory import Bullet, Delta, Effect, Evidence, Playbook, Policy, TurnRecord, apply, resolve
    from ace_graph.memory.stores.base import Store
    from ace_graph.memory.stores.memories import memories, remember
    from ace_graph.memory.stores.unsaved import commit_unsaved
    from ace_graph.reasoning.playbook_retriever import PlaybookRetriever
    from ace_graph.reasoning.store_view import PlaybookStoreView
    from ace_graph.settings import Settings
    from ace_graph.state import ACEInput, ACEOutput
    from ace_graph.stores import open_store
    from ace_graph.trajectories.execution import TaskResult, execute_with_learning
    from ace_graph.trajectories.feedback import give_feedback
    from ace_graph.trajectories.recording import (
        Completion,
        complete_trajectory,
        log_step,
        start_trajectory,
    )

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
    "start_trajectory",
]

_HOMES = {
    "ACEContext": "ace_graph.context",
    "AceError": "ace_graph.errors",
    "ACEGraph": "ace_graph.graph",
    "ACEInput": "ace_graph.state",
    "ACEOutput": "ace_graph.state",
    "build_ace_graph": "ace_graph.graph",
    "make_graph": "ace_graph.graph",
    "PlaybookRetriever": "ace_graph.reasoning.playbook_retriever",
    "PlaybookStoreView": "ace_graph.reasoning.store_view",
    "Settings": "ace_graph.settings",
    "Store": "ace_graph.memory.stores.base",
    "commit_unsaved": "ace_graph.memory.stores.unsaved",
    "memories": "ace_graph.memory.stores.memories",
    "remember": "ace_graph.memory.stores.memories",
    "open_store": "ace_graph.stores",
    "PendingOutcome": "ace_graph.background.learn_pending",
    "learn_pending": "ace_graph.background.learn_pending",
    "Worker": "ace_graph.background.worker",
    "build_worker": "ace_graph.background.worker",
    "batch_reflect": "ace_graph.learning.batch_reflection",
    "curate": "ace_graph.learning.curate_reflections",
    "extract_patterns": "ace_graph.learning.recurring",
    "Completion": "ace_graph.trajectories.recording",
    "start_trajectory": "ace_graph.trajectories.recording",
    "log_step": "ace_graph.trajectories.recording",
    "complete_trajectory": "ace_graph.trajectories.recording",
    "TaskResult": "ace_graph.trajectories.execution",
    "execute_with_learning": "ace_graph.trajectories.execution",
    "give_feedback": "ace_graph.trajectories.feedback",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, "ace_graph.memory")), name)


def __dir__() -> list[str]:
    return __all__
