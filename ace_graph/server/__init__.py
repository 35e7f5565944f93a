"""The web backend: `create_app` for your own ASGI server, `ace-graph serve` for ours.

Needs the extra: `pip install 'ace-graph[server]'`.
"""

from __future__ import annotations

from ace_graph.server.app import create_app
from ace_graph.server.opening import Brought

__all__ = ["Brought", "create_app"]
