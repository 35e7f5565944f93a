"""The web backend: `create_app` for your own ASGI server, `ace-graph serve` for ours.

    app = create_app(Settings.load(), Overrides(model=chat_model, store=store))
    mount_page(app, Settings.load())    # or the page alone, in a FastAPI application of yours

Needs the extra `server`. Names are imported when they are first used (PEP 562).
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ace_graph.server.app import create_app
    from ace_graph.server.lifespan import Overrides
    from ace_graph.server.mounting import mount_page

    Brought = Overrides  # for programs written for 0.1

__all__ = ["Overrides", "create_app", "mount_page"]

_MODULES = {"Overrides": "lifespan", "create_app": "app", "mount_page": "mounting"}
_RENAMED = {"Brought": "Overrides"}
"""Old public names; they go with version 0.3."""


def __getattr__(name: str) -> object:
    new = _RENAMED.get(name, name)
    if new not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if new != name:
        warnings.warn(
            f"ace_graph.server.{name} is now {new}; this name goes with 0.3", DeprecationWarning, stacklevel=2
        )
    return getattr(import_module(f"{__name__}.{_MODULES[new]}"), new)
