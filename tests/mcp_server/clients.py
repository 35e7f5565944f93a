"""Clients of the MCP server in this process: each is one learner's, on a store of the test's.

Does not: hold a test.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from mcp import ClientSession
from mcp.shared.memory import create_connected_server_and_client_session
from mcp.types import CallToolResult, TextContent

from ace_graph.agent import BulletFinder, Resources
from ace_graph.hosts.mcp_server import MemoryAccess, build_server, one_learner
from ace_graph.memory.stores import Store

Json = dict[str, Any]  # Any: what a tool returned, whose shape the tests check


class Client:
    """A session whose calls return structured output, or the text of the error."""

    def __init__(self, session: ClientSession) -> None:
        self.session = session

    async def call(self, tool: str, **arguments: object) -> Json:
        """Call a tool that must succeed."""
        result = await self.session.call_tool(tool, dict(arguments))
        assert not result.isError, _text(result)
        assert result.structuredContent is not None
        return result.structuredContent

    async def refused(self, tool: str, **arguments: object) -> str:
        """Call a tool that must fail, and return what it says."""
        result = await self.session.call_tool(tool, dict(arguments))
        assert result.isError
        return _text(result)


@asynccontextmanager
async def client(
    store: Store, learner: str = "ada", learning: Resources | None = None
) -> AsyncGenerator[Client]:
    """Yield a client of one learner's server over in-memory streams."""
    memory = MemoryAccess(store, one_learner(learner), BulletFinder(store), learning)
    server = build_server(memory)
    async with create_connected_server_and_client_session(server) as session:
        yield Client(session)


def _text(result: CallToolResult) -> str:
    first = result.content[0]
    assert isinstance(first, TextContent)
    return first.text
