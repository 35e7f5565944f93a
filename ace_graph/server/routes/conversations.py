"""The learner's conversations: list, read, rename and delete them.

Ids belong to learners: another learner's conversation is as unknown as none.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from ace_graph.errors import RequestRefused
from ace_graph.memory.bullet import Moment
from ace_graph.server.conversations.managing import (
    MAX_TITLE_CHARS,
    MessagePage,
    ShownMessage,
    delete_conversation,
    find_conversation,
    list_conversations,
    page_of,
    rename_conversation,
)
from ace_graph.server.conversations.receipts import Receipt, read_turns, receipts
from ace_graph.server.conversations.repository import Conversation
from ace_graph.server.dependencies import Learner, Services, ServicesDep
from ace_graph.server.errors import error_responses
from ace_graph.server.middleware.access_control import does
from ace_graph.server.routes.edit import Absent, IfMatch
from ace_graph.server.schemas import CONVERSATION_ID, Learned, Text, learned_from

__all__ = ["routes"]

routes = APIRouter(prefix="/api/conversations", tags=["conversations"])

ConversationId = Annotated[str, Path(pattern=CONVERSATION_ID, examples=["lesson-1"])]
_AFTER = r"^[0-9T:.+\-Z]{20,40} [A-Za-z0-9][A-Za-z0-9._:@=+\-]{0,127}$"


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text.strip()


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


class PageQuery(_Model):
    """Which page of the list."""

    limit: Annotated[int, Field(ge=1, le=200)] = 50
    after: Annotated[str, Field(pattern=_AFTER, description="`next` of the page before.")] | Absent = None


class MessagesQuery(_Model):
    """Which messages."""

    limit: Annotated[int, Field(ge=1, le=200)] = 50
    before: (
        Annotated[Text, Field(min_length=1, max_length=256, description="`next` of the page before.")]
        | Absent
    ) = None


class TitleBody(_Model):
    """What it is called from now on."""

    title: Annotated[
        Text,
        AfterValidator(_not_blank),
        Field(min_length=1, max_length=MAX_TITLE_CHARS, json_schema_extra={"pattern": r"[^\s\u0000]"}),
    ]


class EntryReply(_Model):
    """A conversation. Its title is its first words until it is renamed; empty in those of older versions."""

    conversation_id: str
    title: str
    created_at: Moment
    used_at: Moment


class ConversationsReply(_Model):
    """The ones used last first; `next` is what `after` of the next page is, null after the last."""

    conversations: list[EntryReply]
    next: str | None


class ReceiptReply(_Model):
    """What an answer was given with, in ids, and what came of its turn so far, also after the answer.

    `learned` is null for a turn from before the changes that the history still has. Why a bullet was shown
    is said in the reply to the message only.
    """

    injected: Annotated[tuple[str, ...], Field(description="Bullets that were in the prompt.")]
    cited: Annotated[tuple[str, ...], Field(description="Those of them that the answer used.")]
    learned: Learned | None


class MessageReply(_Model):
    """What the learner or the agent said. An answer has the id of its turn and a receipt while the turn's
    record is kept."""

    message_id: str
    role: Literal["user", "assistant"]
    content: str
    turn_id: str | None = None
    receipt: ReceiptReply | None = None


class ConversationReply(EntryReply):
    """A page of messages in their order, the newest page first; `next` is `before` of the older one."""

    messages: list[MessageReply]
    next: str | None


@routes.get("", responses=error_responses())
async def list_all(
    learner: Learner, services: ServicesDep, query: Annotated[PageQuery, Query()]
) -> ConversationsReply:
    """Return the learner's conversations, those used last first."""
    after: tuple[str, str] | None = None
    if query.after is not None:
        used_at, _, last_id = query.after.partition(" ")
        after = used_at, last_id
    database = services.conversations.database
    found = await list_conversations(database, learner, query.limit + 1, after)
    page = found[: query.limit]
    following = f"{page[-1].used_at} {page[-1].id}" if len(found) > len(page) else None
    return ConversationsReply(conversations=[_entry(each) for each in page], next=following)


@routes.get("/{conversation_id}", responses=error_responses(404))
async def read(
    conversation_id: ConversationId,
    learner: Learner,
    services: ServicesDep,
    query: Annotated[MessagesQuery, Query()],
    response: Response,
) -> ConversationReply:
    """Return a conversation's messages, each answer with its receipt. Calls of tools are left out."""
    found = await read_conversation(services, learner, conversation_id, query)
    _tag(response, found.entry.title)
    return ConversationReply(
        **found.entry.model_dump(),
        messages=[_message(each, found.receipts.get(each.id)) for each in found.page.messages],
        next=found.page.next,
    )


@dataclass(frozen=True)
class ReadConversation:
    """A page of a conversation, with the receipts of its answers by the ids of their messages."""

    entry: EntryReply
    page: MessagePage
    receipts: Mapping[str, Receipt]


async def read_conversation(
    services: Services, learner: str, conversation_id: str, query: MessagesQuery
) -> ReadConversation:
    """Read a page of a learner's conversation. Raises RequestRefused (404)."""
    found = await _found(services, learner, conversation_id)
    messages = await services.conversations.database.messages(found.thread_id)
    turns = await read_turns(services.store, learner, found)
    page = await asyncio.to_thread(page_of, messages, query.limit, query.before)
    known = await asyncio.to_thread(receipts, messages, turns)
    return ReadConversation(_entry(found), page, known)


@routes.patch(
    "/{conversation_id}", responses=error_responses(404, 408, 412, 413), dependencies=[does("converse")]
)
async def rename(
    conversation_id: ConversationId,
    body: TitleBody,
    learner: Learner,
    services: ServicesDep,
    response: Response,
    if_match: IfMatch = None,
) -> EntryReply:
    """Give a conversation another title. With `If-Match`, only if it still has the one that was read."""
    found = await _found(services, learner, conversation_id)
    while not (
        _matches(if_match, found.title)
        and await rename_conversation(services.conversations.database, learner, found, body.title)
    ):
        if not _matches(if_match, found.title):
            raise RequestRefused(412, "changed", "the conversation was renamed meanwhile: read it again")
        found = await _found(services, learner, conversation_id)
    _tag(response, body.title)
    return _entry(found).model_copy(update={"title": body.title})


@routes.delete(
    "/{conversation_id}",
    status_code=204,
    responses=error_responses(404, 409),
    dependencies=[does("converse")],
)
async def delete(conversation_id: ConversationId, learner: Learner, services: ServicesDep) -> None:
    """Delete a conversation for good. What was learned in it stays, and the records of its turns."""
    if not await delete_conversation(services.conversations.database, learner, conversation_id):
        raise _unknown()
    services.turns.drop_events(learner, conversation_id)


async def _found(services: Services, learner: str, conversation_id: str) -> Conversation:
    found = await find_conversation(services.conversations.database, learner, conversation_id)
    if found is None:
        raise _unknown()
    return found


def _unknown() -> RequestRefused:
    return RequestRefused(404, "not_found", "there is no such conversation of yours")


def _entry(found: Conversation) -> EntryReply:
    return EntryReply.model_validate(
        {
            "conversation_id": found.id,
            "title": found.title,
            "created_at": found.created_at,
            "used_at": found.used_at or found.created_at,
        }
    )


def _message(shown: ShownMessage, receipt: Receipt | None) -> MessageReply:
    message = MessageReply(
        message_id=shown.id,
        role=shown.role,
        content=shown.content,
    )
    if receipt is None:
        return message
    turn = receipt.turn
    learned = None if receipt.reports is None else learned_from(receipt.reports)
    given = ReceiptReply(injected=turn.injected, cited=turn.cited, learned=learned)
    return message.model_copy(update={"turn_id": turn.turn_id, "receipt": given})


def _matches(if_match: str | None, title: str) -> bool:
    asked = {"*"} if if_match is None else {each.strip() for each in if_match.split(",")}
    return not asked.isdisjoint({"*", _etag(title)})


def _tag(response: Response, title: str) -> None:
    response.headers["ETag"] = _etag(title)


def _etag(title: str) -> str:
    return f'"{hashlib.sha256(title.encode()).hexdigest()[:32]}"'
