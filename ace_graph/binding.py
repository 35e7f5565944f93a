"""How a node function becomes a node: one coroutine, two edges.

Under `ainvoke` and `astream` the coroutine runs on the caller's loop, because the caller's tools and
pools belong to it. Under `invoke` and `stream` it runs on the portal.

Does not: know what the nodes do.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from langchain_core.runnables import RunnableLambda

from ace_graph.memory.portal import portal
from ace_graph.resources import Resources
from ace_graph.run import Run, current_run
from ace_graph.state import ACEState
from ace_graph.tracing import span_maker

__all__ = ["bind"]

Update = TypeVar("Update")
Node = Callable[[ACEState, Run], Awaitable[Update]]


def bind(node: Node[Update], resources: Resources) -> RunnableLambda[ACEState, Update]:
    """Return `node` with its resources bound, callable both ways, named like the function."""

    name = getattr(node, "__name__", "node")
    span = span_maker()

    async def on_callers_loop(state: ACEState) -> Update:
        turn = state.get("turn")
        with span(f"ace_graph.{name}", {"ace.turn_id": turn["turn_id"]} if turn else {}):
            return await node(state, current_run(resources))

    def on_portal(state: ACEState) -> Update:
        return portal().run_sync(on_callers_loop(state))

    return RunnableLambda(on_portal, afunc=on_callers_loop, name=name)
