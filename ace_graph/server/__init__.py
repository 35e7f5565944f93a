"""The web backend: `create_app` for your own ASGI server, `ace-graph serve` for ours.

    app = create_app(Settings.load(), Overrides(model=chat_model, store=store))
    mount_page(app, Settings.load())    # or the page alone, in a FastAPI application of yours

Needs the extra `server`. Names are imported when they are first used (PEP 562).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ace_graph.server.app import create_app
    from ace_graph.server.page.mount import mount_page
    from ace_graph.server.services import Overrides

__all__ = ["Overrides", "create_app", "mount_page"]

_HOMES = {
    "Overrides": "ace_graph.server.services",
    "create_app": "ace_graph.server.app",
    "mount_page": "ace_graph.server.page.mount",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
