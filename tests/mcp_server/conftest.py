"""The command line's folder, for tests that call `ace-graph mcp`."""

from tests.cli.conftest import ace

__all__ = ["ace"]
