"""The web backend: `create_app` for your own ASGI server, `ace-graph serve` for ours.

    app = create_app(Settings.load(), Brought(model=chat_model, store=store))

Needs the extra: `pip install 'ace-graph[server]'`. Names are resolved when they are used (PEP 562).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ace_graph.server.app import create_app
    from ace_graph.server.lifespan import Brought

__all__ = ["Brought", "create_app"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{'app' if name == 'create_app' else 'lifespan'}"), name)
