"""Everything stored about a learner as a stream of chunks, serialized off the event loop.

The memory is read at one moment, as a whole; conversations, which may hold hundreds of megabytes, one by one.
Tool calls and the agent's thoughts are left out. The command line writes the same; it needs no FastAPI.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator, Sequence

from langchain_core.messages import AnyMessage

from ace_graph.memory.stores.base import LearnerExport
from ace_graph.memory.stores.whole import CONVERSATIONS_AND_END, memory_pieces
from ace_graph.server.conversations.repository import Conversation, Conversations, GivenUpTurn

_CHUNK_CHARS = 65_536
_ROLES = {"human": "user", "ai": "assistant"}


async def export_chunks(found: LearnerExport, conversations: Conversations | None) -> AsyncGenerator[bytes]:
    """Yield the learner's document: the memory, then each conversation."""
    memory = memory_pieces(found)
    while piece := await asyncio.to_thread(_next_chunk, memory):
        yield piece
    begin, end = CONVERSATIONS_AND_END
    yield begin.encode("utf-8")
    if conversations is not None:
        separator = "\n"
        given_up = await conversations.given_up(found.learner_id)
        for conversation in await conversations.of(found.learner_id):
            messages = await conversations.database.messages(conversation.thread_id)
            piece = await asyncio.to_thread(_conversation_json, separator, conversation, messages, given_up)
            del messages  # before the next is read
            yield piece
            separator = ",\n"
    yield end.encode("utf-8")


def _next_chunk(pieces: Iterator[str]) -> bytes:
    """Return the next pieces, joined to a large chunk; empty at the end."""
    taken, size = list[str](), 0
    for piece in pieces:
        taken.append(piece)
        size += len(piece)
        if size >= _CHUNK_CHARS:
            break
    return "".join(taken).encode("utf-8")


def _conversation_json(
    separator: str,
    conversation: Conversation,
    messages: Sequence[AnyMessage],
    given_up: Sequence[GivenUpTurn],
) -> bytes:
    """Return a conversation: its id, date, messages, and the turns that were given up."""
    texts = [
        {"role": _ROLES.get(message.type, message.type), "content": message.text}
        for message in messages
        if message.text  # without one it is a call of a tool
    ]
    ended = [
        {"stream_id": turn.run_id, "reason": turn.reason, "at": turn.at}
        for turn in given_up
        if turn.conversation_id == conversation.id
    ]
    document = {
        "id": conversation.id,
        "title": conversation.title,
        "created_at": conversation.created_at,
        "messages": texts,
        "given_up": ended,
    }
    return (separator + json.dumps(document, ensure_ascii=False)).encode("utf-8")
