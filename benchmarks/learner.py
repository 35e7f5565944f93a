"""A learner in a store, and a graph of its own, as one process would have it."""

# LangGraph leaves type arguments of its own signatures open.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from langchain_core.messages import HumanMessage

from ace_graph import ACEContext, ACEGraph, build_ace_graph
from ace_graph.agent.context import LearningMode
from ace_graph.base.settings import Settings
from ace_graph.memory.stores.store import Store
from benchmarks.stub import LESSON, StubModel

__all__ = ["Learner", "with_graph"]


@dataclass(frozen=True)
class Learner:
    """Its turns run through the whole graph, on the caller's event loop."""

    graph: ACEGraph
    store: Store
    learner_id: str
    playbooks: tuple[str, ...] = ()

    async def turn(
        self,
        question: str,
        lesson: str | None = None,
        *,
        states: bool = False,
        learning: LearningMode = "inline",
        memory: Literal["on", "off"] = "on",
    ) -> None:
        """Ask; with a lesson, the reflector finds it and it is stored, and so is what the question `states`.

        Raises RuntimeError when the turn learned anything else, or failed.
        """
        LESSON.set(lesson)
        context = ACEContext(
            learner_id=self.learner_id,
            playbooks=self.playbooks,
            learning=learning,
            memory=memory,
            reflect_when="auto" if lesson is None else "always",
        )
        out = await self.graph.ainvoke({"messages": [HumanMessage(question)]}, context=context)
        learned = out["learning"]
        if learned["error"] or len(learned["added"]) != states + (lesson is not None):
            raise RuntimeError(f"this turn did not do what it was to do: {learned}")


def with_graph(store: Store, learner_id: str, *, by_meaning: bool = False) -> Learner:
    """Return the learner with a new graph, whose snapshot cache is empty.

    It finds by meaning only where that is asked for, whatever is installed.
    """
    # nothing of this machine's environment
    settings = Settings.model_construct(embeddings="static" if by_meaning else "off")
    graph = build_ace_graph(model=StubModel(), store=store, settings=settings)
    return Learner(graph, store, learner_id)
