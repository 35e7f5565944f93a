"""A chat model that answers at once and always the same."""

from __future__ import annotations

import json
from contextvars import ContextVar

from langchain_core.messages import AIMessage
from langchain_core.messages.ai import UsageMetadata

from ace_graph.agent.models.local import LocalModel, ModelCall

__all__ = ["LESSON", "StubModel"]

LESSON: ContextVar[str | None] = ContextVar("LESSON", default=None)
"""What the reflector finds in the turns that are started in this context."""

ANSWER = "<final>Write both fractions over the common denominator and add the numerators: 5/6.</final>"
_USAGE = UsageMetadata(input_tokens=1_000, output_tokens=20, total_tokens=1_020)


class StubModel(LocalModel):
    """Gives one constant answer, and as a reflector the lesson that the turn's caller put into LESSON."""

    def reply(self, call: ModelCall) -> AIMessage:
        """Return the constant answer, or to a schema a reflection."""
        if call.schema is None:
            return AIMessage(ANSWER, usage_metadata=_USAGE)
        lesson = LESSON.get()
        lessons = [] if lesson is None else [{"content": lesson, "section": "strategies"}]
        return AIMessage(json.dumps({"key_insight": "", "lessons": lessons}), usage_metadata=_USAGE)

    @property
    def _llm_type(self) -> str:
        return "stub"
