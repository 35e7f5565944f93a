"""The memory as an MCP server, for agents that are not ours: `ace-graph mcp` (docs/mcp.md)."""

from __future__ import annotations
