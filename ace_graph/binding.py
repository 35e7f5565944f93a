"""How a node function becomes a node: one coroutine, two edges.

Under `ainvoke` and `astream` the coroutine runs on the caller's loop, because the caller's tools and
pools belong to it. Under `invoke` and `stream` it runs on the portal.

Does not: know what the nodes do.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from langchain_core.runnables import Runnable, RunnableConfig

from ace_graph.memory.portal import portal
from ace_graph.resources import Resources
from ace_graph.run import Run, current_run
from ace_graph.state import ACEState
from ace_graph.tracing import span_maker

__all__ = ["BoundNode", "bind"]

Update = TypeVar("Update")
Node = Callable[[ACEState, Run], Awaitable[Update]]


class BoundNode(Runnable[ACEState, Update], Generic[Update]):
    """A node with its resources, callable both ways, named like its function.

    LangGraph has set the run's context and tells its tracers already, so this does no more than call: a
    RunnableLambda would look at signatures and open a run of its own at every step, half a millisecond each.
    """

    def __init__(self, node: Node[Update], resources: Resources) -> None:
        self.name = getattr(node, "__name__", "node")
        self._node = node
        self._resources = resources
        self._span = span_maker()

    # Any: the signature of Runnable
    def invoke(self, input: ACEState, config: RunnableConfig | None = None, **kwargs: Any) -> Update:
        """Run the node on the portal."""
        return portal().run_sync(self.ainvoke(input, config))

    async def ainvoke(self, input: ACEState, config: RunnableConfig | None = None, **kwargs: Any) -> Update:
        """Run the node on the caller's loop."""
        turn = input.get("turn")
        with self._span(f"ace_graph.{self.name}", {"ace.turn_id": turn["turn_id"]} if turn else {}):
            return await self._node(input, current_run(self._resources))


def bind(node: Node[Update], resources: Resources) -> BoundNode[Update]:
    """Return `node` as LangGraph takes it."""
    return BoundNode(node, resources)
