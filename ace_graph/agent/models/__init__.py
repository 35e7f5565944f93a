"""Chat models: made from the settings, called with timeouts and retries, their replies checked.

Gemini by default, any LangChain chat model that is passed in or named by `ACE_MODEL=provider:name`, and the
offline tutor where no model is configured.
"""

from __future__ import annotations

from ace_graph.agent.models.call import (
    MAX_ATTEMPTS,
    NOSTREAM,
    ChatRunnable,
    OnUsage,
    Usage,
    call_model,
    model_error,
    redacted,
    secrets_of,
    stream_model,
    usage_of,
)
from ace_graph.agent.models.factory import ModelChoice, choose_model, close_model, make_model
from ace_graph.agent.models.local import LocalModel, ModelCall
from ace_graph.agent.models.reply import (
    Schemas,
    Structured,
    find_json_object,
    finish_problem,
    joined,
    structured_call,
)
from ace_graph.base.clock import Sleep

__all__ = [
    "MAX_ATTEMPTS",
    "NOSTREAM",
    "ChatRunnable",
    "LocalModel",
    "ModelCall",
    "ModelChoice",
    "OnUsage",
    "Schemas",
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
    "model_error",
    "redacted",
    "secrets_of",
    "stream_model",
    "structured_call",
    "usage_of",
]
