"""Everything stored about a learner, in pieces: written while it is read, off the event loop.

The memory is read at one moment, as a whole; conversations, which may hold hundreds of megabytes, one by one.

Does not: show tool calls, or what the agent thought.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator, Sequence

from langchain_core.messages import AnyMessage

from ace_graph.errors import RequestRefused
from ace_graph.memory.stores.base import LearnerExport
from ace_graph.memory.stores.export import CONVERSATIONS_AND_END, memory_pieces
from ace_graph.server.conversations.repository import Conversation, Conversations, GivenUpTurn

__all__ = ["Exports", "export_chunks"]

_PIECE_CHARS = 65_536
_SPEAKERS = {"human": "user", "ai": "assistant"}


class Exports:
    """The learners whose data is being handed out by this server."""

    def __init__(self) -> None:
        self._busy: set[str] = set()

    def take(self, learner_id: str) -> None:
        """Take the learner's one place. Raises RequestRefused (409) while it is taken."""
        if learner_id in self._busy:
            raise RequestRefused(
                409, "busy", "an export of yours is under way: wait for its end", retry_after=5
            )
        self._busy.add(learner_id)

    def free(self, learner_id: str) -> None:
        """Give the place back."""
        self._busy.discard(learner_id)


async def export_chunks(found: LearnerExport, conversations: Conversations | None) -> AsyncGenerator[bytes]:
    """Yield the learner's document: the memory that was found, then each conversation."""
    memory = memory_pieces(found)
    while piece := await asyncio.to_thread(_next, memory):
        yield piece
    begin, end = CONVERSATIONS_AND_END
    yield begin.encode("utf-8")
    if conversations is not None:
        separator = "\n"
        given_up = await conversations.given_up(found.learner_id)
        for each in await conversations.of(found.learner_id):
            messages = await conversations.database.messages(each.thread_id)
            piece = await asyncio.to_thread(_conversation, separator, each, messages, given_up)
            del messages  # before the next is read
            yield piece
            separator = ",\n"
    yield end.encode("utf-8")


def _next(pieces: Iterator[str]) -> bytes:
    """The next pieces, as many as make a large one; empty at the end."""
    taken, size = list[str](), 0
    for piece in pieces:
        taken.append(piece)
        size += len(piece)
        if size >= _PIECE_CHARS:
            break
    return "".join(taken).encode("utf-8")


def _conversation(
    separator: str, each: Conversation, messages: Sequence[AnyMessage], given_up: Sequence[GivenUpTurn]
) -> bytes:
    """A conversation: its id, when it began, what was said, and which turns were given up."""
    said = [
        {"role": _SPEAKERS.get(message.type, message.type), "content": message.text}
        for message in messages
        if message.text  # without one it is a call of a tool
    ]
    ended = [
        {"stream_id": turn.run_id, "reason": turn.reason, "at": turn.at}
        for turn in given_up
        if turn.conversation_id == each.id
    ]
    told = {"id": each.id, "created_at": each.created_at, "messages": said, "given_up": ended}
    return (separator + json.dumps(told, ensure_ascii=False)).encode("utf-8")
