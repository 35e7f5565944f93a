"""A learner's conversations as text: who said what, in order.

Does not: show tool calls, or what the agent thought.
"""

from __future__ import annotations

from typing import cast

from langchain_core.messages import AnyMessage
from pydantic import JsonValue

from ace_graph.server.conversations import Conversations

__all__ = ["transcripts"]

_SPEAKERS = {"human": "user", "ai": "assistant"}


async def transcripts(conversations: Conversations, learner_id: str) -> list[dict[str, JsonValue]]:
    """Return every conversation of a learner: its id, when it began, and its messages, the oldest first."""
    told: list[dict[str, JsonValue]] = []
    saver = conversations.database.saver
    for each in await conversations.of(learner_id):
        kept = await saver.aget_tuple({"configurable": {"thread_id": each.thread_id, "checkpoint_ns": ""}})
        values = kept.checkpoint["channel_values"] if kept is not None else {}
        messages = cast("list[AnyMessage]", values.get("messages", []))
        said: list[JsonValue] = [
            {"role": _SPEAKERS.get(message.type, message.type), "content": message.text}
            for message in messages
            if message.text  # without one it is a call of a tool
        ]
        told.append({"id": each.id, "created_at": each.created_at, "messages": said})
    return told
