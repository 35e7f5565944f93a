"""Tools of MCP servers."""

from __future__ import annotations

from ace_graph.tools.mcp.tools import McpTools, mcp_tools

__all__ = ["McpTools", "mcp_tools"]
