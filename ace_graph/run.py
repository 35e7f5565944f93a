"""One run of the graph as a node sees it: the resources, the run's context, and who the learner is.

Does not: hold state between nodes; what flows is in state.py.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.runtime import Runtime, get_runtime

from ace_graph.context import ACEContext, LearningMode
from ace_graph.errors import ConfigurationError, InvalidContext
from ace_graph.memory.stores.base import checked_learner_id, keeps_pending
from ace_graph.resources import Resources

__all__ = ["Run", "check_learning", "current_run", "log_text", "logger"]

logger = logging.getLogger("ace_graph")


@dataclass(frozen=True)
class Run:
    """What every node gets beside the state."""

    resources: Resources
    context: ACEContext
    learner_id: str | None
    runtime: Runtime[ACEContext]

    @property
    def learning(self) -> LearningMode:
        """How this run learns: the context's word, else the graph's."""
        return self.context.learning or self.resources.learning

    def call_config(self, role: str) -> RunnableConfig:
        """Return the config of a model call: its role in the metadata, its tokens kept from the user."""
        return {"tags": ["nostream"], "metadata": {"ace_role": role}, "run_name": role}


def current_run(resources: Resources) -> Run:
    """Return the run that is executing. Raises InvalidContext when another learner's memory is asked for.

    Under a LangGraph server with authentication the authenticated user is the learner.
    """
    runtime = get_runtime(ACEContext)
    # Embedded without a context it is None, whatever the annotation says.
    context = cast("ACEContext | None", runtime.context) or ACEContext()
    learner_id = _identity(context)
    # Tools read the learner from the context, so the authenticated one must be in it.
    context = context.model_copy(update={"learner_id": learner_id})
    run = Run(resources, context, learner_id, runtime.override(context=context))
    check_learning(run.learning, resources)
    return run


def check_learning(learning: LearningMode, resources: Resources) -> None:
    """Raise ConfigurationError for learning in the background on a store that can't keep what is pending."""
    if learning == "background" and not keeps_pending(resources.store):
        raise ConfigurationError(
            f"learning='background' needs a store that keeps pending turns, and {resources.store.name} lacks "
            "methods of PendingStore: use SQLite, Neo4j or memory, or learn 'inline' or 'off'"
        )


def _identity(context: ACEContext) -> str | None:
    configurable: Mapping[str, object] = get_config().get("configurable", {})
    user = configurable.get("langgraph_auth_user")
    if user is None:
        return context.learner_id
    identity: object = getattr(user, "identity", None) or (
        cast("Mapping[str, object]", user).get("identity") if isinstance(user, Mapping) else None
    )
    learner_id = checked_learner_id(identity)
    if context.learner_id not in (None, learner_id):
        raise InvalidContext("learner_id is not the authenticated user: leave it out")
    return learner_id


def log_text(resources: Resources, text: str) -> str:
    """Return what a log line may hold of a text: a preview where content is logged, else its length."""
    from ace_graph.prompts import preview

    return preview(text) if resources.settings.log_content else f"[len={len(text)}]"
