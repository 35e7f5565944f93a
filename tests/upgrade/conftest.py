"""The commands of `ace-graph` in a folder of their own, as the tests of the command line have them."""

from __future__ import annotations

from tests.cli.conftest import ace

__all__ = ["ace"]
