"""`ace-graph mcp`: the memory of one learner over stdio, for the program that started it."""

from __future__ import annotations

import logging

from anyio import BrokenResourceError, ClosedResourceError

from ace_graph.mcp_server.access import one_learner
from ace_graph.mcp_server.open_memory import open_memory
from ace_graph.mcp_server.server import build_server
from ace_graph.memory.stores.base import checked_learner_id
from ace_graph.settings import Settings

__all__ = ["quiet_protocol_log", "serve_stdio"]

logger = logging.getLogger("ace_graph")


async def serve_stdio(settings: Settings, learner: str, store: str | None) -> None:
    """Serve until the client hangs up. Raises ConfigurationError, InvalidContext, StoreError."""
    async with open_memory(settings, one_learner(checked_learner_id(learner)), store) as memory:
        server = build_server(memory)
        quiet_protocol_log()
        try:
            await server.run_stdio_async()
        except* (BrokenPipeError, BrokenResourceError, ClosedResourceError):
            logger.info("[ACE MCP] the client hung up in the middle of a message")


def quiet_protocol_log() -> None:
    """Keep the protocol's own log off stderr: it holds what clients sent, and they are told of errors."""
    protocol = logging.getLogger("mcp")
    protocol.handlers = [logging.NullHandler()]
    protocol.propagate = False
