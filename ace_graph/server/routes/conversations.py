"""Conversations: a message is answered, at once or as a stream; they are listed, read, renamed and deleted.

A stream has the server-sent events `start`, `mode`, `bullets`, `token`s, `result`, `done`; or `error`. The
turn goes on when the client hangs up. Ids belong to learners: another learner's conversation is as unknown as
none.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Annotated, Literal, Self
from uuid import uuid4

from fastapi import APIRouter, Header, Path, Query, Response
from fastapi.responses import StreamingResponse
from pydantic import AfterValidator, Field

from ace_graph.base.errors import RequestRefused
from ace_graph.base.tables import word_sets
from ace_graph.memory.bullet import Moment
from ace_graph.server.conversations.repository import (
    MAX_TITLE_CHARS,
    Conversation,
    MessagePage,
    ShownMessage,
    delete_conversation,
    find_conversation,
    list_conversations,
    page_of,
    rename_conversation,
)
from ace_graph.server.errors import DescribedRoute, error_responses
from ace_graph.server.middleware import does
from ace_graph.server.receipts import Receipt, read_receipts
from ace_graph.server.routes.edit import Absent, IfMatch
from ace_graph.server.schemas import (
    CONVERSATION_ID,
    Body,
    ChatEvents,
    ChatReply,
    ChatRequest,
    Learned,
    RequestBody,
    Text,
    not_blank,
)
from ace_graph.server.services import Learner, Sender, Services, ServicesDep
from ace_graph.server.sse import (
    PING,
    PING_SECONDS,
    described_stream,
    encode_event,
    event_number,
    event_stream,
)
from ace_graph.server.turns import LiveTurn

chatting = APIRouter(
    prefix="/api/ai", tags=["chat"], route_class=DescribedRoute, dependencies=[does("converse")]
)
routes = APIRouter(prefix="/api/conversations", tags=["conversations"], route_class=DescribedRoute)
SSE_RESPONSES = described_stream(
    "The turn as it happens. The answer is the text of all `token` events. `done` comes when what was "
    "learned is stored. `error` comes instead of `result` and `done`, with the `status` that the route "
    "without a stream would answer with.",
    ChatEvents,
    word_sets("ace_graph.server", "streams.toml")["chat"],
)
_CHAT_ERRORS = error_responses(404, 408, 409, 413, 501, 502, 504)


@chatting.post("/chat", responses=_CHAT_ERRORS)
async def chat(request: ChatRequest, sender: Sender, services: ServicesDep) -> ChatReply:
    """Answer a message.

    One turn at a time in a conversation: a second one is 409. When the client hangs up the turn goes on.
    """
    turn = await services.turns.begin(request, sender.learner, uuid4().hex, sender.teams)
    return await turn.outcome()


@chatting.post("/chat/stream", responses={**SSE_RESPONSES, **_CHAT_ERRORS}, response_class=StreamingResponse)
async def chat_stream(request: ChatRequest, sender: Sender, services: ServicesDep) -> StreamingResponse:
    """Answer a message as server-sent events.

    When the client hangs up the turn goes on; `GET /api/ai/chat/stream/{streamId}` resumes the stream.
    """
    return sse_response(await services.turns.begin(request, sender.learner, uuid4().hex, sender.teams))


@chatting.get("/chat/stream/{stream_id}", responses=SSE_RESPONSES, response_class=StreamingResponse)
async def chat_stream_again(
    stream_id: Annotated[str, Path(max_length=64, description="The `streamId` of the `start` event.")],
    learner: Learner,
    services: ServicesDep,
    last_event_id: Annotated[
        str, Header(max_length=20, description="The id of the last event received.")
    ] = "0",
) -> StreamingResponse:
    """Resume a stream, from the event after `Last-Event-ID`.

    For turns under way, and for the last ones that ended, on the server that has them; for turns that were
    given up, on every server.
    """
    turn = services.turns.find(stream_id, learner) or await services.turns.given_up(stream_id, learner)
    if turn is None:
        raise RequestRefused(404, "not_found", "there is no such stream, or it ended too long ago")
    return sse_response(turn, event_number(last_event_id) or 0)


def sse_response(turn: LiveTurn, after: int = 0, refusal: Callable[[str], str] = str) -> StreamingResponse:
    """Return a response that streams a turn's events after number `after`; `refusal` words its error."""
    return event_stream(_stream(turn, after, refusal))


async def _stream(turn: LiveTurn, after: int, refusal: Callable[[str], str]) -> AsyncGenerator[bytes]:
    async with aclosing(turn.follow(after, PING_SECONDS)) as events:
        async for event in events:
            if event is None:
                yield PING
                continue
            said = {"error": refusal(str(event.data["error"]))} if event.name == "error" else {}
            yield encode_event(event.name, {**event.data, **said}, event.number)


ConversationId = Annotated[str, Path(pattern=CONVERSATION_ID, examples=["lesson-1"])]
_AFTER = r"^[0-9T:.+\-Z]{20,40} [A-Za-z0-9][A-Za-z0-9._:@=+\-]{0,127}$"


class ConversationPageQuery(RequestBody):
    """Which page of the list."""

    limit: Annotated[int, Field(ge=1, le=200)] = 50
    after: Annotated[str, Field(pattern=_AFTER, description="`next` of the page before.")] | Absent = None


class MessagesQuery(RequestBody):
    """Which messages."""

    limit: Annotated[int, Field(ge=1, le=200)] = 50
    before: (
        Annotated[Text, Field(min_length=1, max_length=256, description="`next` of the page before.")]
        | Absent
    ) = None


class TitleBody(RequestBody):
    """What it is called from now on."""

    title: Annotated[
        Text,
        AfterValidator(not_blank),
        AfterValidator(str.strip),
        Field(min_length=1, max_length=MAX_TITLE_CHARS, json_schema_extra={"pattern": r"[^\s\u0000]"}),
    ]


class ConversationEntryReply(Body):
    """A conversation. Its title is its first words until it is renamed; empty in those of older versions."""

    conversation_id: str
    title: str
    created_at: Moment
    used_at: Moment

    @classmethod
    def about(cls, found: Conversation) -> Self:
        return cls.of(found, conversation_id=found.id, used_at=found.used_at or found.created_at)


class ConversationsReply(Body):
    """The ones used last first; `next` is what `after` of the next page is, null after the last."""

    conversations: list[ConversationEntryReply]
    next: str | None


class ReceiptReply(Body):
    """What an answer was given with, in ids, and what came of its turn so far, also after the answer.

    `learned` is null for a turn from before the changes that the history still has. Why a bullet was shown
    is said in the reply to the message only.
    """

    injected: Annotated[tuple[str, ...], Field(description="Bullets that were in the prompt.")]
    cited: Annotated[tuple[str, ...], Field(description="Those of them that the answer used.")]
    learned: Learned | None


class MessageReply(Body):
    """What the learner or the agent said. An answer has the id of its turn and a receipt while the turn's
    record is kept."""

    message_id: str
    role: Literal["user", "assistant"]
    content: str
    turn_id: str | None = None
    receipt: ReceiptReply | None = None

    @classmethod
    def about(cls, message: ShownMessage, receipt: Receipt | None) -> Self:
        given = None if receipt is None else ReceiptReply.of(receipt.turn, learned=receipt.learned)
        turn_id = None if receipt is None else receipt.turn.turn_id
        return cls.of(message, message_id=message.id, turn_id=turn_id, receipt=given)


class ConversationReply(ConversationEntryReply):
    """A page of messages in their order, the newest page first; `next` is `before` of the older one."""

    messages: list[MessageReply]
    next: str | None


@routes.get("")
async def list_all(
    learner: Learner, services: ServicesDep, query: Annotated[ConversationPageQuery, Query()]
) -> ConversationsReply:
    """Return the learner's conversations, those used last first."""
    used_at, _, last_id = (query.after or "").partition(" ")
    after = (used_at, last_id) if query.after is not None else None
    found = await list_conversations(services.conversations.database, learner, query.limit + 1, after)
    page = found[: query.limit]
    following = f"{page[-1].used_at} {page[-1].id}" if len(found) > len(page) else None
    return ConversationsReply(conversations=[*map(ConversationEntryReply.about, page)], next=following)


@routes.get("/{conversation_id}")
async def read(
    conversation_id: ConversationId,
    learner: Learner,
    services: ServicesDep,
    query: Annotated[MessagesQuery, Query()],
    response: Response,
) -> ConversationReply:
    """Return a conversation's messages, each answer with its receipt. Calls of tools are left out."""
    found = await read_conversation(services, learner, conversation_id, query)
    response.headers["ETag"] = _etag(found.entry.title)
    return ConversationReply(
        **found.entry.model_dump(),
        messages=[MessageReply.about(shown, found.receipts.get(shown.id)) for shown in found.page.messages],
        next=found.page.next,
    )


@dataclass(frozen=True)
class ReadConversation:
    """A page of a conversation, with the receipts of its answers by the ids of their messages."""

    entry: ConversationEntryReply
    page: MessagePage
    receipts: Mapping[str, Receipt]


async def read_conversation(
    services: Services, learner: str, conversation_id: str, query: MessagesQuery
) -> ReadConversation:
    """Read a page of a learner's conversation. Raises RequestRefused (404)."""
    found = await _found(services, learner, conversation_id)
    messages = await services.conversations.database.messages(found.thread_id)
    page = await asyncio.to_thread(page_of, messages, query.limit, query.before)
    known = await read_receipts(services.store, learner, found, messages)
    return ReadConversation(ConversationEntryReply.about(found), page, known)


@routes.patch("/{conversation_id}", dependencies=[does("converse")])
async def rename(
    conversation_id: ConversationId,
    body: TitleBody,
    learner: Learner,
    services: ServicesDep,
    response: Response,
    if_match: IfMatch = None,
) -> ConversationEntryReply:
    """Give a conversation another title. With `If-Match`, only if it still has the one that was read."""
    while True:
        found = await _found(services, learner, conversation_id)
        asked = {"*"} if if_match is None else {etag.strip() for etag in if_match.split(",")}
        if asked.isdisjoint({"*", _etag(found.title)}):
            raise RequestRefused(412, "changed", "the conversation was renamed meanwhile: read it again")
        if await rename_conversation(services.conversations.database, learner, found, body.title):
            break
    response.headers["ETag"] = _etag(body.title)
    return ConversationEntryReply.about(replace(found, title=body.title))


@routes.delete(
    "/{conversation_id}", status_code=204, responses=error_responses(409), dependencies=[does("converse")]
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


def _etag(title: str) -> str:
    return f'"{hashlib.sha256(title.encode()).hexdigest()[:32]}"'
