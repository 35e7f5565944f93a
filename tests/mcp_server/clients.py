"""Clients of the MCP server in this process: each is one learner's, on a store of the test's.

Does not: hold a test.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import mcp
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, TextContent

from ace_graph.agent import BulletFinder, Resources
from ace_graph.hosts.mcp_server import MemoryAccess, build_server, one_learner
from ace_graph.memory.stores import Store

Json = dict[str, Any]  # Any: what a tool returned, whose shape the tests check; options of the client


class Client:
    """A session whose calls return structured output, or the text of the error."""

    def __init__(self, session: mcp.Client) -> None:
        self.session = session

    async def call(self, tool: str, **arguments: object) -> Json:
        """Call a tool that must succeed."""
        result = await self.session.call_tool(tool, dict(arguments))
        assert not result.is_error, _text(result)
        assert result.structured_content is not None
        return result.structured_content

    async def refused(self, tool: str, **arguments: object) -> str:
        """Call a tool that must fail, and return what it says."""
        result = await self.session.call_tool(tool, dict(arguments))
        assert result.is_error
        return _text(result)


@asynccontextmanager
async def client(
    store: Store, learner: str = "ada", learning: Resources | None = None, **options: Any
) -> AsyncGenerator[Client]:
    """Yield a client of one learner's server in this process, with these options of `mcp.Client`."""
    memory = MemoryAccess(store, one_learner(learner), BulletFinder(store), learning)
    async with mcp.Client(build_server(memory), **options) as session:
        yield Client(session)


@asynccontextmanager
async def over_http(url: str, headers: dict[str, str], **options: Any) -> AsyncGenerator[Client]:
    """Yield a client of the server at this address, with these options of `mcp.Client`."""
    async with (
        httpx2.AsyncClient(headers=headers, trust_env=False) as sender,
        mcp.Client(streamable_http_client(url, http_client=sender), **options) as session,
    ):
        yield Client(session)


def _text(result: CallToolResult) -> str:
    first = result.content[0]
    assert isinstance(first, TextContent)
    return first.text
