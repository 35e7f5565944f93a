"""What `ace-graph serve` does: settings and logs as everywhere, then the web backend.

Without a model it is an error: the offline tutor never takes the place of a model here.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from ace_graph.cli.environment import load_settings
from ace_graph.errors import ConfigurationError, how_to_install

__all__ = ["run_server"]

_NEEDED = ("fastapi", "uvicorn", "jwt", "prometheus_client", "langgraph.checkpoint.sqlite")


def run_server(host: str, port: int, base: Path | None) -> int:
    """Serve until told to stop; return the exit code. Raises ConfigurationError saying what to set."""
    if any(_missing(name) for name in _NEEDED):
        raise ConfigurationError(f"the web backend needs more packages: {how_to_install('server')}")
    settings = load_settings()
    from ace_graph.server.serve import serve

    return serve(settings, host, port, base)


def _missing(name: str) -> bool:
    try:
        return find_spec(name) is None
    except ModuleNotFoundError:
        return True
