"""The memory as an MCP server, for agents that are not ours: `ace-graph mcp` (docs/mcp.md)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
