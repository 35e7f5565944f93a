"""Tools of MCP servers. Names are imported when they are first used (PEP 562)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ace_graph.tools.mcp.tools import McpTools, mcp_tools

__all__ = [
    "McpTools",
    "mcp_tools",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.tools"), name)


def __dir__() -> list[str]:
    return __all__
