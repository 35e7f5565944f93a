"""The chat: conversations, answers with their receipts, feedback, and a temporary chat that keeps nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, cast
from uuid import uuid4

from fastapi import APIRouter, Form, Path, Query, Response
from markupsafe import Markup
from pydantic import Field

from ace_graph.agent.context import MAX_PLAYBOOKS, ACEContext
from ace_graph.agent.models import name_of_model
from ace_graph.agent.reasoning.attempt import turn_of_answer
from ace_graph.base.off_loop import run_off_loop
from ace_graph.base.settings import is_time_zone
from ace_graph.learning.trajectory_feedback import give_feedback
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.catalogue import DEFAULT
from ace_graph.memory.evidence import Verdict
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.turn import TurnRecord
from ace_graph.server.middleware import does
from ace_graph.server.page.render import marked
from ace_graph.server.page.session import Flash, PageForm, PageRoute, Visitor, VisitorDep
from ace_graph.server.page.views.people import shared_playbooks
from ace_graph.server.receipts import Receipt
from ace_graph.server.routes import conversations as api
from ace_graph.server.routes import playbook as playbooks
from ace_graph.server.schemas import (
    CONVERSATION_ID,
    MAX_MESSAGE_CHARS,
    ChatRequest,
    HistoryMessage,
    Learned,
    Text,
)
from ace_graph.server.turns import LiveTurn

routes = APIRouter(prefix="/chat", route_class=PageRoute)
ConversationName = Annotated[str, Path(pattern=CONVERSATION_ID)]
MAX_SHOWN_HISTORY = 200
_MOST_FOUND, _MOST_BOOKS = 50, 20


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
    """One answer: the bullets used and why, the verdict, and the bullets learned from it (None: gone).

    `playbooks` are the ids of the named ones that it was given with.
    """

    turn_id: str
    used: tuple[UsedBullet, ...]
    learned: tuple[tuple[str, Bullet | None], ...]
    pending: bool
    verdict: Verdict
    playbooks: frozenset[str]


@dataclass(frozen=True)
class ChatLine:
    """What the learner or the agent said, an answer as HTML, its turn, and its receipt where there is one."""

    role: Literal["user", "assistant"]
    text: str
    turn_id: str | None = None
    html: Markup | None = None
    receipt: ShownReceipt | None = None


class ConversationQuery(Flash):
    """Which conversations, or which of the messages; `again`: to change the last question."""

    find: Annotated[Text, Field(max_length=200)] = ""
    again: bool = False
    used_before: Annotated[str | None, Field(max_length=200)] = None
    older: Annotated[str | None, Field(max_length=256)] = None


class MessageForm(PageForm):
    """A message. Of a temporary chat all earlier messages come with it, as nothing else keeps them.

    `replaces` is the turn of the last answer where its question is changed or asked once more.
    `timezone` is the browser's; one that this machine does not know is left out.
    """

    message: Annotated[Text, Field(max_length=MAX_MESSAGE_CHARS)] = ""
    conversation: Annotated[str, Field(max_length=128)] = ""
    replaces: Annotated[str, Field(max_length=128)] = ""
    playbooks: Annotated[list[str], Field(max_length=MAX_PLAYBOOKS)] = Field([])
    roles: Annotated[list[Literal["user", "assistant"]], Field(max_length=MAX_SHOWN_HISTORY)] = Field([])
    texts: Annotated[list[Text], Field(max_length=MAX_SHOWN_HISTORY)] = Field([])
    timezone: Annotated[str, Field(max_length=64)] = ""

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
                "replaces": None if temporary else self.replaces or None,
                "conversationHistory": history if temporary else [],
                "memory": "off" if temporary else "on",
                "playbooks": [] if temporary else self.playbooks,
                "timezone": self.timezone if is_time_zone(self.timezone) else None,
            }
        )


class FeedbackForm(PageForm):
    """A verdict on an answer."""

    turn: Annotated[str, Field(min_length=1, max_length=128)]
    verdict: Literal["success", "failure"]
    why: Annotated[Text, Field(max_length=2_000)] = ""


@routes.get("")
async def begin(visitor: VisitorDep, query: Annotated[ConversationQuery, Query()]) -> Response:
    """Show an empty chat beside the conversations."""
    return await _page(visitor, query)


@routes.get("/temporary")
async def begin_temporary(visitor: VisitorDep) -> Response:
    """Show an empty temporary chat."""
    return await _page(visitor, ConversationQuery(), temporary=True)


@routes.post("/temporary", dependencies=[does("converse")])
async def send_temporary(visitor: VisitorDep, form: Annotated[MessageForm, Form()]) -> Response:
    """Answer a message of a temporary chat, and show it with the messages so far."""
    lines = [await _line(role, text) for role, text in zip(form.roles, form.texts, strict=False)]
    if form.message.strip():
        reply = await (await _begin_turn(visitor, form, temporary=True)).outcome()
        lines += [await _line("user", form.message), await _line("assistant", reply.answer)]
    return await _page(visitor, ConversationQuery(), lines=lines[-MAX_SHOWN_HISTORY:], temporary=True)


@routes.post("/temporary/stream", dependencies=[does("converse")])
async def stream_temporary(visitor: VisitorDep, form: Annotated[MessageForm, Form()]) -> Response:
    """Answer a message of a temporary chat as server-sent events."""
    return api.sse_response(await _begin_turn(visitor, form, temporary=True), refusal=visitor.refusal)


@routes.post("/send", dependencies=[does("converse")])
async def send(visitor: VisitorDep, form: Annotated[MessageForm, Form()]) -> Response:
    """Answer a message, and show the conversation. Without JavaScript, when the answer is whole."""
    if not form.message.strip():
        return visitor.lead_to(f"/chat/{form.conversation}" if form.conversation else "/chat")
    reply = await (await _begin_turn(visitor, form)).outcome()
    said = {"said": "stayed"} if reply.stayed else {}
    return visitor.lead_to(f"/chat/{reply.conversation_id}#latest", **said)


@routes.post("/stream", dependencies=[does("converse")])
async def stream(visitor: VisitorDep, form: Annotated[MessageForm, Form()]) -> Response:
    """Answer a message as server-sent events, as the API does."""
    return api.sse_response(await _begin_turn(visitor, form), refusal=visitor.refusal)


@routes.get("/{conversation_id}")
async def show(
    conversation_id: ConversationName, visitor: VisitorDep, query: Annotated[ConversationQuery, Query()]
) -> Response:
    """Show a conversation, with a receipt under each answer."""
    asked = api.MessagesQuery(limit=50, before=query.older)
    found = await api.read_conversation(visitor.services, visitor.learner, conversation_id, asked)
    known = await _shown_receipts(visitor, found)
    messages = found.page.messages
    lines = [
        await _line(message.role, message.content, turn_of_answer(message.id), known.get(message.id))
        for message in messages
    ]
    return await _page(visitor, query, found.entry, lines, found.page.next)


@routes.get("/{conversation_id}/export")
async def export(conversation_id: ConversationName, visitor: VisitorDep) -> Response:
    """Return the conversation as a text file."""
    pieces, before = list[str](), None
    while True:
        asked = api.MessagesQuery(limit=200, before=before)
        found = await api.read_conversation(visitor.services, visitor.learner, conversation_id, asked)
        page = [f"{'Q' if each.role == 'user' else 'A'}: {each.content}\n\n" for each in found.page.messages]
        pieces = [*page, *pieces]
        if (before := found.page.next) is None:
            break
    named = {"content-disposition": 'attachment; filename="chat.txt"'}
    return Response("".join(pieces), media_type="text/plain; charset=utf-8", headers=named)


@routes.post("/{conversation_id}/rename", dependencies=[does("converse")])
async def rename_one(
    conversation_id: ConversationName, visitor: VisitorDep, title: Annotated[str, Form(max_length=500)] = ""
) -> Response:
    """Give the conversation another title."""
    if title.strip():
        body = api.TitleBody(title=title.strip())
        await api.rename(conversation_id, body, visitor.learner, visitor.services, Response())
    return visitor.lead_to(f"/chat/{conversation_id}")


@routes.post("/{conversation_id}/delete", dependencies=[does("converse")])
async def delete_one(conversation_id: ConversationName, visitor: VisitorDep) -> Response:
    """Delete the conversation. What was learned in it stays."""
    await api.delete(conversation_id, visitor.learner, visitor.services)
    return visitor.lead_to("/chat", said="deleted")


@routes.post("/{conversation_id}/feedback", dependencies=[does("judge")])
async def judge(
    conversation_id: ConversationName, visitor: VisitorDep, form: Annotated[FeedbackForm, Form()]
) -> Response:
    """Take a verdict on an answer: it credits or blames the bullets that the answer used."""
    await give_feedback(
        *(visitor.services.store, visitor.learner, form.turn, form.verdict, form.why),
        by="learner",
        clock=visitor.services.clock.now,
        op_id=f"page-{uuid4().hex}",
    )
    return visitor.lead_to(f"/chat/{conversation_id}", said="judged")


async def _begin_turn(visitor: Visitor, form: MessageForm, *, temporary: bool = False) -> LiveTurn:
    request = form.request(temporary=temporary)
    return await visitor.services.turns.begin(request, visitor.learner, uuid4().hex, visitor.identity.teams)


async def _line(
    role: Literal["user", "assistant"],
    text: str,
    turn_id: str | None = None,
    receipt: ShownReceipt | None = None,
) -> ChatLine:
    html = None if role == "user" else await run_off_loop(len(text), marked, text)
    return ChatLine(role, text, turn_id, html, receipt)


async def _page(
    visitor: Visitor,
    query: ConversationQuery,
    conversation: api.ConversationEntryReply | None = None,
    lines: Sequence[ChatLine] = (),
    older: str | None = None,
    *,
    temporary: bool = False,
) -> Response:
    services, learner = visitor.services, visitor.learner
    listed = api.ConversationsReply(conversations=[], next=None)
    if query.find:
        every, words = await services.conversations.of(learner), query.find.casefold()
        hits = [each for each in reversed(every) if words in each.title.casefold()][:_MOST_FOUND]
        listed = api.ConversationsReply(
            conversations=[*map(api.ConversationEntryReply.about, hits)], next=None
        )
    elif not temporary:
        asked = api.ConversationPageQuery(limit=30, after=query.used_before)
        listed = await api.list_all(learner, services, asked)
    own = [line.receipt for line in lines if line.receipt is not None]
    return visitor.show(
        "chat.html",
        query=query,
        conversation=conversation,
        conversations=listed.conversations,
        next=listed.next,
        lines=lines,
        older=older,
        temporary=temporary,
        last=next((line.text for line in reversed(lines) if line.role == "user"), ""),
        books=[] if temporary else await _attachable(visitor),
        attached=own[-1].playbooks if own else frozenset[str](),
        paused=not temporary and await services.conversations.paused(learner),
        answers_by=name_of_model(await services.resources.ready_model(ACEContext())),
    )


async def _attachable(visitor: Visitor) -> list[tuple[str, str, str]]:
    """Return the named playbooks that a message can be answered with: id, how it is named there, and name."""
    own = await playbooks.list_all(visitor.identity, visitor.services, playbooks.PageQuery(limit=_MOST_BOOKS))
    return [
        *((each.playbook_id, each.name, each.name) for each in own.playbooks if each.playbook_id != DEFAULT),
        *(
            (each.playbook_id, f"{each.owner}/{each.name}", each.name)
            for each in await shared_playbooks(visitor)
            if each.owner is not None
        ),
    ]


async def _shown_receipts(visitor: Visitor, found: api.ReadConversation) -> dict[str, ShownReceipt]:
    if not found.receipts:
        return {}
    services, learner = visitor.services, visitor.learner
    playbook = (await services.store.load(learner)).playbook
    waiting = {item.turn_id for item in await services.store.list_pending(learner)}
    return {
        name: _shown(visitor, receipt, playbook, receipt.turn.turn_id in waiting)
        for name, receipt in found.receipts.items()
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
        playbooks=frozenset(each.playbook_id for each in turn.playbooks),
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
