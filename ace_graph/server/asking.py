"""What a client asks for, as data: the body of a chat request, checked and cleaned.

Does not: say who asks. That is the subject of the token.
"""

from __future__ import annotations

from typing import Annotated, Literal

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from ace_graph.state import Mode

__all__ = ["CONVERSATION_ID", "ChatRequest", "HistoryMessage", "history_messages"]

MAX_MESSAGE_CHARS = 100_000
MAX_HISTORY = 1_000
CONVERSATION_ID = r"^[A-Za-z0-9][A-Za-z0-9._:@=+\-]{0,127}$"

_USER = frozenset({"user", "human"})
_ASSISTANT = frozenset({"assistant", "ai"})


def _storable(text: object) -> object:
    """Return text without what no database and no UTF-8 can hold: lone surrogates and NUL."""
    if not isinstance(text, str):
        return text
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", " ")


def _said(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


Said = Annotated[str, BeforeValidator(_storable)]


class HistoryMessage(BaseModel):
    """An earlier message. Roles other than user and assistant are taken and dropped: the server's own
    system prompt stands first."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    role: Literal["user", "human", "assistant", "ai", "system", "developer", "tool", "function"]
    content: Annotated[Said, Field(max_length=MAX_MESSAGE_CHARS)]


class ChatRequest(BaseModel):
    """One message of the learner.

    Without `conversationId` a conversation begins; the id in the answer goes on with it. The server keeps the
    messages, so `conversationHistory` is for the beginning of a conversation only (later it is ignored).
    Whose memory is used is the token's subject; fields that are not listed here are ignored.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)

    message: Annotated[
        Said,
        AfterValidator(_said),
        Field(
            min_length=1,
            max_length=MAX_MESSAGE_CHARS,
            description="The question. Not blank.",
            examples=["What is 1/2 + 1/3?"],
            json_schema_extra={"pattern": r"[^\s\u0000]"},
        ),
    ]
    conversation_id: (
        Annotated[
            str, Field(pattern=CONVERSATION_ID, description="The conversation to go on with, or begin.")
        ]
        | None
    ) = None
    conversation_history: Annotated[
        tuple[HistoryMessage, ...],
        Field(max_length=MAX_HISTORY, description="Earlier messages, the oldest first."),
    ] = ()
    mode: Annotated[Mode | None, Field(description="Force how it is answered.")] = None


def history_messages(request: ChatRequest) -> list[AnyMessage]:
    """Return the conversation before the message, in order, without what only a server may say."""
    told: list[AnyMessage] = []
    for message in request.conversation_history:
        if message.role in _USER:
            told.append(HumanMessage(message.content))
        elif message.role in _ASSISTANT:
            told.append(AIMessage(message.content))
    return told
