"""Chat models: made from the settings, called with timeouts and retries, their replies checked.

Gemini by default, any LangChain chat model that is passed in or named by `ACE_MODEL=provider:name`, and the
offline tutor where no model is configured.
"""

from __future__ import annotations

from ace_graph.models.call import (
    MAX_ATTEMPTS,
    NOSTREAM,
    ChatRunnable,
    OnUsage,
    Sleep,
    call_model,
    stream_model,
)
from ace_graph.models.factory import ModelChoice, choose_model, close_model, make_model
from ace_graph.models.failures import redacted
from ace_graph.models.reply import find_json_object, finish_problem, joined
from ace_graph.models.structured import Structured, structured_call
from ace_graph.models.usage import Usage, usage_of

__all__ = [
    "MAX_ATTEMPTS",
    "NOSTREAM",
    "ChatRunnable",
    "ModelChoice",
    "OnUsage",
    "Sleep",
    "Structured",
    "Usage",
    "call_model",
    "choose_model",
    "close_model",
    "find_json_object",
    "finish_problem",
    "joined",
    "make_model",
    "redacted",
    "stream_model",
    "structured_call",
    "usage_of",
]
