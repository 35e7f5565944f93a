"""The chat: conversations, answers with their receipts, feedback, and a temporary chat that keeps nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, cast
from uuid import uuid4

from fastapi import APIRouter, Form, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import RedirectResponse

from ace_graph.learning.trajectory_feedback import give_feedback
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.evidence import Verdict
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.turn import TurnRecord
from ace_graph.server.middleware import does
from ace_graph.server.page.session import Flash, PageRoute, Visitor, VisitorDep, prefix_of, view_of
from ace_graph.server.receipts import Receipt
from ace_graph.server.routes.conversations import (
    ConversationEntryReply,
    ConversationPageQuery,
    MessagesQuery,
    ReadConversation,
    TitleBody,
    delete,
    list_all,
    read_conversation,
    rename,
    sse_response,
)
from ace_graph.server.schemas import (
    CONVERSATION_ID,
    MAX_MESSAGE_CHARS,
    ChatRequest,
    HistoryMessage,
    Learned,
    Text,
)

routes = APIRouter(prefix="/chat", route_class=PageRoute)
ConversationName = Annotated[str, Path(pattern=CONVERSATION_ID)]
MAX_SHOWN_HISTORY = 200


@dataclass(frozen=True)
class UsedBullet:
    """A bullet that the prompt had. `bullet` None: it is gone. `words` of the question led to it."""

    id: str
    bullet: Bullet | None
    cited: bool
    kind: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class ShownReceipt:
    """One answer: the bullets used and why, the verdict, and the bullets learned from it (None: gone)."""

    turn_id: str
    used: tuple[UsedBullet, ...]
    learned: tuple[tuple[str, Bullet | None], ...]
    pending: bool
    verdict: Verdict


@dataclass(frozen=True)
class ChatLine:
    """What the learner or the agent said, and the receipt of an answer where there is one."""

    role: Literal["user", "assistant"]
    text: str
    receipt: ShownReceipt | None = None


class ConversationQuery(Flash):
    """Which conversations, or which of the messages."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    used_before: Annotated[str | None, Field(max_length=200)] = None
    older: Annotated[str | None, Field(max_length=256)] = None


class MessageForm(BaseModel):
    """A message. Of a temporary chat all earlier messages come with it, as nothing else keeps them."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    message: Annotated[Text, Field(max_length=MAX_MESSAGE_CHARS)] = ""
    conversation: Annotated[str, Field(max_length=128)] = ""
    roles: Annotated[list[Literal["user", "assistant"]], Field(max_length=MAX_SHOWN_HISTORY)] = []
    texts: Annotated[list[Text], Field(max_length=MAX_SHOWN_HISTORY)] = []

    def request(self, *, temporary: bool = False) -> ChatRequest:
        """Return the request that the API would get. Raises ValidationError for a blank message."""
        history = [
            HistoryMessage(role=role, content=text)
            for role, text in zip(self.roles, self.texts, strict=False)
        ]
        return ChatRequest.model_validate(
            {
                "message": self.message,
                "conversationId": None if temporary else self.conversation or None,
                "conversationHistory": history if temporary else [],
                "memory": "off" if temporary else "on",
            }
        )


class FeedbackForm(BaseModel):
    """A verdict on an answer."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    turn: Annotated[str, Field(min_length=1, max_length=128)]
    verdict: Literal["success", "failure"]
    why: Annotated[Text, Field(max_length=2_000)] = ""


@routes.get("")
async def begin(
    request: Request, visitor: VisitorDep, query: Annotated[ConversationQuery, Query()]
) -> Response:
    """Show an empty chat beside the conversations."""
    return await _page(request, visitor, query, None, [], None)


@routes.get("/temporary")
async def begin_temporary(request: Request, visitor: VisitorDep) -> Response:
    """Show an empty temporary chat."""
    return _temporary(request, visitor, [])


@routes.post("/temporary", dependencies=[does("converse")])
async def send_temporary(
    request: Request, visitor: VisitorDep, form: Annotated[MessageForm, Form()]
) -> Response:
    """Answer a message of a temporary chat, and show it with the messages so far."""
    lines = [ChatLine(role, text) for role, text in zip(form.roles, form.texts, strict=False)]
    if form.message.strip():
        turn = await visitor.services.turns.begin(
            form.request(temporary=True), visitor.learner, uuid4().hex, visitor.teams
        )
        reply = await turn.outcome()
        lines += [ChatLine("user", form.message), ChatLine("assistant", reply.answer)]
    return _temporary(request, visitor, lines)


@routes.post("/temporary/stream", dependencies=[does("converse")])
async def stream_temporary(visitor: VisitorDep, form: Annotated[MessageForm, Form()]) -> Response:
    """Answer a message of a temporary chat as server-sent events."""
    turn = await visitor.services.turns.begin(
        form.request(temporary=True), visitor.learner, uuid4().hex, visitor.teams
    )
    return sse_response(turn)


@routes.post("/send", dependencies=[does("converse")])
async def send(request: Request, visitor: VisitorDep, form: Annotated[MessageForm, Form()]) -> Response:
    """Answer a message, and show the conversation. Without JavaScript, when the answer is whole."""
    prefix = prefix_of(request)
    if not form.message.strip():
        return RedirectResponse(
            f"{prefix}/chat/{form.conversation}" if form.conversation else f"{prefix}/chat", 303
        )
    turn = await visitor.services.turns.begin(form.request(), visitor.learner, uuid4().hex, visitor.teams)
    reply = await turn.outcome()
    return RedirectResponse(f"{prefix}/chat/{reply.conversation_id}#latest", 303)


@routes.post("/stream", dependencies=[does("converse")])
async def stream(request: Request, visitor: VisitorDep, form: Annotated[MessageForm, Form()]) -> Response:
    """Answer a message as server-sent events, as the API does."""
    turn = await visitor.services.turns.begin(form.request(), visitor.learner, uuid4().hex, visitor.teams)
    return sse_response(turn)


@routes.get("/{conversation_id}")
async def show(
    request: Request,
    conversation_id: ConversationName,
    visitor: VisitorDep,
    query: Annotated[ConversationQuery, Query()],
) -> Response:
    """Show a conversation, with a receipt under each answer."""
    asked = MessagesQuery(limit=50, before=query.older)
    found = await read_conversation(visitor.services, visitor.learner, conversation_id, asked)
    known = await _shown_receipts(visitor, found)
    lines = [ChatLine(each.role, each.content, known.get(each.id)) for each in found.page.messages]
    return await _page(request, visitor, query, found.entry, lines, found.page.next)


@routes.post("/{conversation_id}/rename", dependencies=[does("converse")])
async def rename_one(
    request: Request,
    conversation_id: ConversationName,
    visitor: VisitorDep,
    title: Annotated[str, Form(max_length=500)] = "",
) -> Response:
    """Give the conversation another title."""
    if title.strip():
        body = TitleBody(title=title.strip())
        await rename(conversation_id, body, visitor.learner, visitor.services, Response())
    return RedirectResponse(f"{prefix_of(request)}/chat/{conversation_id}", 303)


@routes.post("/{conversation_id}/delete", dependencies=[does("converse")])
async def delete_one(request: Request, conversation_id: ConversationName, visitor: VisitorDep) -> Response:
    """Delete the conversation. What was learned in it stays."""
    await delete(conversation_id, visitor.learner, visitor.services)
    return RedirectResponse(f"{prefix_of(request)}/chat?said=deleted", 303)


@routes.post("/{conversation_id}/feedback", dependencies=[does("judge")])
async def judge(
    request: Request,
    conversation_id: ConversationName,
    visitor: VisitorDep,
    form: Annotated[FeedbackForm, Form()],
) -> Response:
    """Take a verdict on an answer: it credits or blames the bullets that the answer used."""
    services = visitor.services
    await give_feedback(
        services.store,
        visitor.learner,
        form.turn,
        form.verdict,
        form.why,
        by="learner",
        clock=services.clock.now,
        op_id=f"page-{uuid4().hex}",
    )
    return RedirectResponse(f"{prefix_of(request)}/chat/{conversation_id}?said=judged", 303)


async def _page(
    request: Request,
    visitor: Visitor,
    query: ConversationQuery,
    conversation: ConversationEntryReply | None,
    lines: list[ChatLine],
    older: str | None,
) -> Response:
    listed = await list_all(
        visitor.learner, visitor.services, ConversationPageQuery(limit=30, after=query.used_before)
    )
    values = {
        "query": query,
        "conversation": conversation,
        "conversations": listed.conversations,
        "next": listed.next,
        "lines": lines,
        "older": older,
        "temporary": False,
    }
    return view_of(request, visitor, "chat.html", values)


def _temporary(request: Request, visitor: Visitor, lines: list[ChatLine]) -> Response:
    values = {
        "query": ConversationQuery(),
        "conversation": None,
        "conversations": [],
        "next": None,
        "lines": lines[-MAX_SHOWN_HISTORY:],
        "older": None,
        "temporary": True,
    }
    return view_of(request, visitor, "chat.html", values)


async def _shown_receipts(visitor: Visitor, found: ReadConversation) -> dict[str, ShownReceipt]:
    """What the page shows of a conversation's receipts, by the ids of the answers' messages."""
    if not found.receipts:
        return {}
    services, learner = visitor.services, visitor.learner
    playbook = (await services.store.load(learner)).playbook
    waiting = {item.turn_id for item in await services.store.list_pending(learner)}
    return {
        name: _shown(visitor, each, playbook, each.turn.turn_id in waiting)
        for name, each in found.receipts.items()
    }


def _shown(visitor: Visitor, receipt: Receipt, playbook: Playbook, pending: bool) -> ShownReceipt:
    """A receipt with texts. The reasons are in the reply of a turn that this server has just ended."""
    turn, learned = receipt.turn, receipt.learned or Learned()
    live = visitor.services.turns.find(turn.turn_id, visitor.learner)
    reasons = live.reply.metadata.why_shown if live is not None and live.reply is not None else {}
    return ShownReceipt(
        turn_id=turn.turn_id,
        used=tuple(_used(name, turn, playbook, reasons.get(name, {})) for name in turn.injected),
        learned=tuple(
            (name, playbook.get_bullet(name)) for name in dict.fromkeys((*learned.added, *learned.updated))
        ),
        pending=pending,
        verdict=receipt.verdict,
    )


def _used(name: str, turn: TurnRecord, playbook: Playbook, why: Mapping[str, object]) -> UsedBullet:
    words = why.get("words")
    listed = cast("list[object]", words) if isinstance(words, list) else []
    return UsedBullet(
        id=name,
        bullet=playbook.get_bullet(playbook.aliases.get(name, name)),
        cited=name in turn.cited,
        kind=str(why.get("kind", "")),
        words=tuple(map(str, listed))[:8],
    )
