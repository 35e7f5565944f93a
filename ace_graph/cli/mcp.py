"""What `ace-graph mcp` does: settings and logs as everywhere, then the MCP server."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec

from ace_graph.cli.environment import load_settings
from ace_graph.cli.options import DEFAULT_LEARNER
from ace_graph.errors import ConfigurationError, UsageError, how_to_install

__all__ = ["run_mcp"]

_NEEDED = ("mcp", "fastapi", "jwt")


def run_mcp(learner: str, store: str | None, http: bool, host: str, port: int) -> None:
    """Serve one learner's memory over stdio until the client hangs up, or with `http` that of each token.

    Raises ConfigurationError saying what to set, UsageError.
    """
    if any(find_spec(name) is None for name in _NEEDED):
        raise ConfigurationError(f"the MCP server needs more packages: {how_to_install('mcp')}")
    if http and learner != DEFAULT_LEARNER:
        raise UsageError("over HTTP the learner is the subject of the token: leave --learner out")
    settings = load_settings(quiet="WARNING")  # clients show what a server writes to stderr as problems
    from ace_graph.mcp_server.run_http import serve_http
    from ace_graph.mcp_server.run_stdio import serve_stdio

    asyncio.run(serve_http(settings, host, port, store) if http else serve_stdio(settings, learner, store))
