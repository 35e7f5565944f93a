"""Lists, reads, renames and deletes single conversations of a learner; no other learner's is seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from langchain_core.messages import AnyMessage

from ace_graph.base.errors import RequestRefused
from ace_graph.server.conversations.database import ConversationDatabase, Execute
from ace_graph.server.conversations.repository import Conversation

MAX_TITLE_CHARS = 200
MAX_PAGE_CHARS = 1_000_000
"""The most characters of messages on one page, though always one message."""
_FIRST_TITLE_CHARS = 80
_ROLES: Mapping[str, Literal["user", "assistant"]] = {"human": "user", "ai": "assistant"}


@dataclass(frozen=True)
class ShownMessage:
    """A message that a person wrote or read. Calls of tools and their results are none."""

    id: str
    role: Literal["user", "assistant"]
    content: str


@dataclass(frozen=True)
class MessagePage:
    """Messages in order. `next` is the first one's id where there are older ones, else None."""

    messages: tuple[ShownMessage, ...]
    next: str | None


def title_of(message: str) -> str:
    """Return the title of a conversation that begins with this message: its first words on one line."""
    line = " ".join(message[: 4 * _FIRST_TITLE_CHARS].split())
    return line if len(line) <= _FIRST_TITLE_CHARS else f"{line[:_FIRST_TITLE_CHARS].rstrip()}…"


async def list_conversations(
    database: ConversationDatabase, learner_id: str, limit: int, after: tuple[str, str] | None = None
) -> list[Conversation]:
    """Return the conversations that were used last, at most `limit`.

    `after` is `used_at` and id of the last one of the page before. Raises StoreUnavailable.
    """
    used_at, last_id = after or ("9999", "")
    rows = await database.execute(
        "SELECT id, thread_id, created_at, used_at, title FROM ace_conversations WHERE learner_id = ? "
        "AND (used_at < ? OR (used_at = ? AND id > ?)) ORDER BY used_at DESC, id LIMIT ?",
        (learner_id, used_at, used_at, last_id, limit),
    )
    return [Conversation(*map(str, row)) for row in rows]


async def find_conversation(
    database: ConversationDatabase, learner_id: str, conversation_id: str
) -> Conversation | None:
    """Return a learner's conversation. Raises StoreUnavailable."""
    rows = await database.execute(
        "SELECT id, thread_id, created_at, used_at, title FROM ace_conversations "
        "WHERE learner_id = ? AND id = ?",
        (learner_id, conversation_id),
    )
    return Conversation(*map(str, rows[0])) if rows else None


async def rename_conversation(
    database: ConversationDatabase, learner_id: str, found: Conversation, title: str
) -> bool:
    """Give a conversation another title; False if it has another one by now than `found`, or is gone."""
    renamed = await database.execute(
        "UPDATE ace_conversations SET title = ? WHERE learner_id = ? AND id = ? AND thread_id = ? "
        "AND title = ? RETURNING id",
        (title, learner_id, found.id, found.thread_id, found.title),
    )
    return bool(renamed)


async def delete_conversation(database: ConversationDatabase, learner_id: str, conversation_id: str) -> bool:
    """Delete a conversation with its messages; False if there was none. What was learned in it stays.

    Raises RequestRefused (409) while a turn is under way in it, StoreUnavailable.
    """

    async def delete(execute: Execute) -> bool:
        gone = await execute(
            "DELETE FROM ace_conversations WHERE learner_id = ? AND id = ? AND NOT EXISTS "
            "(SELECT 1 FROM ace_runs r WHERE r.thread_id = ace_conversations.thread_id) RETURNING thread_id",
            (learner_id, conversation_id),
        )
        for statement in database.thread_deletions if gone else ():
            await execute(statement, (gone[0][0],))
        if gone:
            await execute(
                "DELETE FROM ace_given_up WHERE learner_id = ? AND conversation_id = ?",
                (learner_id, conversation_id),
            )
        return bool(gone)

    gone = await database.transaction(delete)
    if not gone and await find_conversation(database, learner_id, conversation_id) is not None:
        raise RequestRefused(
            409, "busy", "a turn is under way in this conversation: wait for its end", retry_after=1
        )
    if gone:
        await database.scrub()
    return gone


def page_of(messages: Sequence[AnyMessage], limit: int, before: str | None = None) -> MessagePage:
    """Return the newest messages, at most `limit`, or those before the one with the id `before`.

    Where that one is not there any more, the older ones have been deleted as well, and the page is empty.
    """
    shown = [
        ShownMessage(message.id or "", _ROLES[message.type], message.text)
        for message in messages
        if message.type in _ROLES and message.text
    ]
    end = len(shown)
    if before is not None:
        end = next((place for place, each in enumerate(shown) if each.id == before), 0)
    start, room = end, MAX_PAGE_CHARS
    while start and end - start < limit and (start == end or len(shown[start - 1].content) <= room):
        start -= 1
        room -= len(shown[start].content)
    return MessagePage(tuple(shown[start:end]), shown[start].id if start else None)
