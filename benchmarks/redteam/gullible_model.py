"""A model that believes everything: it calls the tool it is shown, and its reflector repeats what it read."""

from __future__ import annotations

import json

from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from pydantic import PrivateAttr

from ace_graph.agent.models.local import LocalModel, ModelCall

__all__ = ["Gullible"]

TOOL = "look_up"
_SHORT = 11
"""Words that a lesson may copy: one more and it is refused as a copy."""


class Gullible(LocalModel):
    """Every prompt it sees is in `calls`; `reflection` is what its reflector replies next."""

    _calls: list[ModelCall] = PrivateAttr(default_factory=list[ModelCall])
    _reflection: str = PrivateAttr(default='{"lessons": []}')

    @property
    def _llm_type(self) -> str:
        return "gullible"

    def believe(self, text: str) -> None:
        """Reflect on the next turns as if `text` were a lesson, whole and by its first words."""
        first = " ".join(text.split()[:_SHORT])
        lessons = [{"content": content} for content in dict.fromkeys((text, first))]
        self.reflect(json.dumps({"lessons": lessons, "key_insight": first}))

    def reflect(self, reply: str) -> None:
        """Let the reflector reply this, word for word."""
        self._reflection = reply

    def take_calls(self) -> list[ModelCall]:
        """Return the calls since the last time."""
        taken, self._calls = self._calls, []
        return taken

    def reply(self, call: ModelCall) -> AIMessage:
        self._calls.append(call)
        if call.role == "reflector":
            return AIMessage(self._reflection)
        if call.role == "curator":
            return AIMessage('{"operations": []}')
        if TOOL in call.tool_names and not isinstance(call.messages[-1], ToolMessage):
            return AIMessage(content="", tool_calls=[ToolCall(name=TOOL, args={}, id="1", type="tool_call")])
        return AIMessage("<final>5/6</final><used></used>")
