"""Test doubles for the tests of this project and of programs that use it.

Names are imported when they are first used, so that the store conformance suite does not load a chat model.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ace_graph.agent.models.local import ModelCall
    from ace_graph.testing.gemini_server import GeminiServer
    from ace_graph.testing.scripted_model import (
        BrokenStream,
        Reply,
        ScriptedModel,
        UnexpectedModelCall,
    )

__all__ = ["BrokenStream", "GeminiServer", "ModelCall", "Reply", "ScriptedModel", "UnexpectedModelCall"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "gemini_server" if name == "GeminiServer" else "scripted_model"
    return getattr(import_module(f"{__name__}.{module}"), name)
