"""What bodies and parameters are made of, checked and cleaned; the chat request, and its reply.

The reply holds the answer and what the turn changed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Self, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    PlainSerializer,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import InitErrorDetails, PydanticCustomError

from ace_graph.agent.context import MAX_PLAYBOOKS, MemoryUse
from ace_graph.agent.state import ACEOutput, Mode
from ace_graph.base.settings import WindowSize
from ace_graph.base.text import without_surrogates
from ace_graph.learning.pipeline import ace_delta
from ace_graph.memory.bullet import LEFT_OUT, MAX_BEFORE, Bullet, PastValue
from ace_graph.memory.delta.effect import Report
from ace_graph.memory.evidence import Verdict
from ace_graph.playbooks.versions import version_from
from ace_graph.server.errors import MISSPELLED

MAX_MESSAGE_CHARS = 100_000
MAX_HISTORY = 1_000
PLAYBOOK_NAME = r"[^/\x00-\x20\x7f]([^/\x00-\x1f\x7f]*[^/\x00-\x20\x7f])?"
PLAYBOOK_REF = rf"^([^\x00-\x1f\x7f]+/)?{PLAYBOOK_NAME}$"
CONVERSATION_ID = r"^[A-Za-z0-9][A-Za-z0-9._:@=+\-]{0,127}$"

MOST_VERSION = 2_147_483_647
_VERSION = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
_MESSAGES: Mapping[str, type[HumanMessage | AIMessage]] = {
    **dict.fromkeys(("user", "human"), HumanMessage),
    **dict.fromkeys(("assistant", "ai"), AIMessage),
}


def _replace_unstorable(text: object) -> object:
    """Return text without what databases and UTF-8 can't hold: lone surrogates and NUL."""
    return without_surrogates(text).replace("\x00", " ") if isinstance(text, str) else text


def not_blank(text: str) -> str:
    """Return the text. Raises ValueError for a blank one."""
    if not text.strip():
        raise ValueError("must not be blank")
    return text


def _check_number(value: object) -> object:
    """Refuse text and booleans, which pydantic would read as numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("must be a whole number")  # noqa: TRY004  pydantic takes a ValueError for a wrong value
    return value


def _check_version(value: object) -> int | str:
    """Return a version's number or label. A JSON number such as 2.0 is refused: it could mean either."""
    if isinstance(value, str) and _VERSION.fullmatch(value):
        return version_from(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_VERSION:
        raise ValueError('must be the number of a version such as 2, or its label as text such as "2.0"')
    return value


VersionName = Annotated[
    int | str,
    BeforeValidator(_check_version),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": MOST_VERSION},
                {"type": "string", "pattern": f"^{_VERSION.pattern}$"},
            ]
        }
    ),
]
"""A version by its number, or as text by its label such as "2.0"."""
Text = Annotated[str, BeforeValidator(_replace_unstorable)]
"""Text that every store can hold."""

Label = Annotated[Text, Field(min_length=1, max_length=128)]
BulletName = Annotated[Text, Field(min_length=1, max_length=128, examples=["fil-00042"])]
NewKind = Literal["fact", "preference", "experience", "strategy", "anti_pattern", "observation"]
"""The kinds of memories that can be added."""

WholeNumber = Annotated[int, BeforeValidator(_check_number)]
"""A number in a body as JSON Schema has it: 2 and 2.0, and no text."""


CAMEL_CASE = ConfigDict(
    frozen=True,
    extra="forbid",
    alias_generator=to_camel,
    populate_by_name=True,
    from_attributes=True,
    json_schema_serialization_defaults_required=True,
)
"""Of what is sent: the names of fields are in camel case; the program makes it by their own names.

A field with a default is sent all the same, so that a client's types need not ask for it.
"""
UNLESS_NULL = Field(exclude_if=lambda value: value is None)
"""Of a field of a reply that is not there when it would be null."""


class Body(BaseModel):
    """A body with the fields that are described, and no others."""

    model_config = CAMEL_CASE

    @classmethod
    def of(cls, source: object, **more: object) -> Self:
        """Return the body with the attributes of `source` that have the names of fields, and `more`."""
        fields = {name: getattr(source, name) for name in cls.model_fields if name not in more}
        return cls.model_validate(fields | more)


class RequestBody(Body):
    """A body, or parameters, that a client sends: in camel case, and in no other spelling."""

    model_config = ConfigDict(populate_by_name=False, from_attributes=False)

    @model_validator(mode="before")
    @classmethod
    def _spelled_as_described(cls, data: object) -> object:
        """Name the right field for one that is in snake case."""
        if not isinstance(data, Mapping):
            return data
        sent = cast("Mapping[str, object]", data)
        wrong = [
            InitErrorDetails(
                type=PydanticCustomError(MISSPELLED, "is called {right}", {"right": field.alias}),
                loc=(name,),
                input=sent[name],
            )
            for name, field in cls.model_fields.items()
            if name in sent and field.alias not in (None, name)
        ]
        if wrong:
            raise ValidationError.from_exception_data(cls.__name__, wrong)
        return sent


class PastValueFields(PastValue):
    """An earlier value of a bullet, with the names of its fields in camel case."""

    model_config = CAMEL_CASE


class BulletFields(Bullet):
    """A bullet, with the names of its fields in camel case."""

    model_config = CAMEL_CASE

    before: Annotated[tuple[PastValueFields, ...], Field(max_length=MAX_BEFORE), LEFT_OUT] = ()  # pyright: ignore[reportIncompatibleVariableOverride]  # frozen


class HistoryMessage(BaseModel):
    """An earlier message. Roles other than user and assistant are accepted and ignored, because the system
    prompt is the server's own."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    role: Literal["user", "human", "assistant", "ai", "system", "developer", "tool", "function"]
    content: Annotated[Text, Field(max_length=MAX_MESSAGE_CHARS)]


def _no_other_type(value: object) -> object:
    """Refuse what the setting of this name takes from an environment: text for a number."""
    if isinstance(value, bool) or (isinstance(value, str) and value != "all"):
        raise ValueError("must be a number from 0 to 100, or all")
    return value


class ChatRequest(RequestBody):
    """One message of the learner.

    Without `conversationId` a new conversation begins; send the id of the answer to continue it. The server
    keeps the messages, so `conversationHistory` is used only when a conversation begins. The learner is the
    token's subject. Fields that are not listed here are ignored, but for these in another spelling.

    With `memory: "off"` it is a message of a temporary chat: nothing of the learner is read or stored, not
    the conversation either, so `conversationHistory` is all that is known of it. A `conversationId`,
    `playbooks` and `learnInto` are refused then.
    """

    model_config = ConfigDict(extra="ignore")

    message: Annotated[
        Text,
        AfterValidator(not_blank),
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
            str, Field(pattern=CONVERSATION_ID, description="The conversation to continue or to begin.")
        ]
        | None
    ) = None
    conversation_history: Annotated[
        tuple[HistoryMessage, ...],
        Field(max_length=MAX_HISTORY, description="Earlier messages, the oldest first."),
    ] = ()
    mode: Annotated[Mode | None, Field(description="Force how it is answered.")] = None
    additional_context: Annotated[
        Text,
        Field(
            max_length=MAX_MESSAGE_CHARS,
            description="Material for this message alone, such as a passage or a table. It is read as data "
            "(32,000 characters of it at most) and is not part of the conversation.",
        ),
    ] = ""
    playbooks: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=512, pattern=PLAYBOOK_REF)], ...],
        Field(
            max_length=MAX_PLAYBOOKS,
            description="Named playbooks of the learner that are read for this message.",
            examples=[["api_client"]],
        ),
    ] = ()
    learn_into: (
        Annotated[
            str,
            Field(
                min_length=1,
                max_length=512,
                pattern=PLAYBOOK_REF,
                description="A named playbook for the lessons of this message: written where the "
                "learner may write, proposed where they may propose, else kept in the learner's memory. "
                "It is read only where `playbooks` names it, too.",
                examples=["ada/api_client"],
            ),
        ]
        | None
    ) = None
    window_size: Annotated[
        WindowSize | None,
        BeforeValidator(_no_other_type),
        Field(description="Interactions of the conversation that the model reads, 0 to 100, or all of them."),
    ] = None
    replaces: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=128,
            description="The `turnId` of the conversation's last answer: this message takes the place of its "
            "question. What it taught is taken back first. 409 where another answer is the last one.",
        ),
    ] = None
    memory: Annotated[
        Literal[MemoryUse, "read"],
        Field(
            description="read: answer with the memory, and learn nothing. off: read and store nothing of the "
            "learner, a temporary chat."
        ),
    ] = "on"

    @property
    def temporary(self) -> bool:
        """Whether nothing of the learner may be read or stored."""
        return self.memory == "off"

    @model_validator(mode="after")
    def _temporary_names_nothing_kept(self) -> Self:
        if self.temporary and (self.conversation_id is not None or self.playbooks or self.learn_into):
            raise ValueError(
                "a temporary chat has no stored conversation and no playbooks: leave out conversationId, "
                "playbooks and learnInto, and send the messages so far as conversationHistory"
            )
        return self


def history_messages(request: ChatRequest) -> list[AnyMessage]:
    """Return the earlier messages of user and assistant, in order."""
    told = (message for message in request.conversation_history if message.role in _MESSAGES)
    return [_MESSAGES[message.role](message.content) for message in told]


NOT_SAVED = "what this turn learned could not be stored yet; the server tries again"
NOT_LEARNED = "this turn was answered, and nothing was learned from it"


_NAMES_OF_DOCUMENT_003 = ConfigDict(alias_generator=None)


class AceDelta(Body):
    """How many bullets the turn's commit changed."""

    model_config = _NAMES_OF_DOCUMENT_003

    num_new_bullets: Annotated[int, Field(ge=0)]
    num_updates: Annotated[int, Field(ge=0)]
    num_removals: Annotated[int, Field(ge=0)]


class Scratch(Body):
    """`ace_delta` is absent if the turn could not be stored; `learning_error` says so."""

    model_config = _NAMES_OF_DOCUMENT_003

    ace_delta: Annotated[AceDelta | None, UNLESS_NULL] = None
    learning_error: Annotated[str | None, UNLESS_NULL] = None
    pending: bool = Field(default=False, description="Whether the turn is learned from after the answer.")


MAX_LEARNED = 100


class PairReply(Body):
    """The bullet that stays, and the one that went into it or that it replaces."""

    kept: str
    gone: str


class Learned(Body):
    """What the turn's own commit changed in the memory, in ids: at most 100 in each list.

    What a worker learns after the answer is in `GET /api/playbook/history`, under the turn's id as `source`.
    """

    added: list[str] = []
    updated: list[str] = []
    tagged: list[str] = []
    merged: list[PairReply] = []
    superseded: list[PairReply] = []
    removed: list[str] = []
    quarantined: list[str] = []


def learned_from(reports: Sequence[Report]) -> Learned:
    """Return what several commits changed, from their reports, in the order of the commits."""
    changed: dict[str, list[object]] = {name: [] for name in Learned.model_fields}
    for report in reports:
        for name, ids in changed.items():
            ids += getattr(report, name)
        changed["updated"] += (*report.reinforced, *report.restored, *report.released)
        changed["removed"] += (pruned.id for pruned in report.pruned)
    once = {name: list(dict.fromkeys(ids))[:MAX_LEARNED] for name, ids in changed.items()}
    return Learned.model_validate(once, from_attributes=True)


class LearnedIntoReply(Body):
    """Where the lessons went that were meant for the playbook of `learnInto`.

    A worker's come after the answer: `GET /api/trajectories/{id}` has them under `learnedInto` then.
    """

    playbook: Annotated[str, Field(description="Its name, with its owner's.")]
    how: Literal["written", "proposed", "own memory"]
    count: Annotated[int, Field(ge=0, description="Lessons that the playbook knows by this turn.")]
    kept: Annotated[int, Field(ge=0, description="Lessons that are in the own memory.")]
    why: Annotated[str | None, UNLESS_NULL, Field(description="Why they are there.")] = None
    bullet_ids: Annotated[list[str], Field(description="The playbook's bullets that say the lessons.")] = []
    proposal_id: Annotated[str | None, UNLESS_NULL] = None


class UsageReply(Body):
    """Calls, tokens and seconds of one role."""

    calls: int
    input_tokens: int
    output_tokens: int
    seconds: float = 0.0


def _in_camel_case(reason: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {to_camel(name): value for name, value in reason.items()}


WhyReply = Annotated[dict[str, JsonValue], PlainSerializer(_in_camel_case, return_type=dict[str, JsonValue])]
"""Why a bullet is shown, or not."""


class Metadata(Body):
    """What comes with the answer. Bullets are given by id, see GET /api/playbook."""

    scratch: Scratch
    injected: Annotated[list[str], Field(description="Bullets that were in the prompt.")] = []
    cited: Annotated[list[str], Field(description="Those of them that the answer used.")] = []
    why_shown: Annotated[
        dict[str, WhyReply],
        Field(
            description="Why each bullet of `injected` was in the prompt, by id: `kind` is `core` (always "
            "shown, `by` says why) or `retrieved`, with the words of the question that led to it."
        ),
    ] = {}
    learned: Learned = Learned()
    learned_into: Annotated[
        LearnedIntoReply | None,
        UNLESS_NULL,
        Field(description="What became of lessons for the playbook of `learnInto`; absent without any."),
    ] = None
    playbooks: Annotated[
        list[str],
        Field(description="Attached playbooks whose bullets were shown, in the prompt or by a tool."),
    ] = []
    memory: Annotated[MemoryUse, Field(description="off: the answer of a temporary chat.")] = "on"
    verdict: Verdict = "unknown"
    version: Annotated[int | None, UNLESS_NULL, Field(description="Of the playbook after the turn.")] = None
    usage: Annotated[dict[str, UsageReply], Field(description="Calls, tokens and seconds per role.")] = {}


class ChatReply(Body):
    """The answer to one message. Feedback refers to it by `turnId`.

    In a temporary chat there is no `conversationId`, and no feedback can be given.
    """

    answer: str
    mode: Mode
    conversation_id: Annotated[str | None, UNLESS_NULL] = None
    turn_id: str
    stayed: Annotated[
        tuple[str, ...] | None,
        UNLESS_NULL,
        Field(
            description="With `replaces`: bullets that could not be taken back, as they were changed since."
        ),
    ] = None
    metadata: Metadata


class StartEvent(Body):
    """The turn has begun. In a temporary chat there is no `conversationId`."""

    stream_id: str
    conversation_id: Annotated[str | None, UNLESS_NULL] = None


class ModeEvent(Body):
    """How it is answered."""

    mode: Mode


class PromptBullet(Body):
    """A bullet of the prompt."""

    id: str
    section: str
    content: str


class BulletsEvent(Body):
    """The bullets that are in the prompt."""

    bullets: list[PromptBullet]


class TokenEvent(Body):
    """The next piece of the answer."""

    text: str


class FailedEvent(Body):
    """Why there is no answer, with the status that the route without a stream would answer with."""

    error: str
    code: str
    status: int


class DoneEvent(Body):
    """Nothing follows."""


class ChatEvents(Body):
    """What the `data` of each event of an answer holds, by the event's name."""

    start: StartEvent
    mode: ModeEvent
    bullets: BulletsEvent
    token: TokenEvent
    result: ChatReply
    error: FailedEvent
    done: DoneEvent


def reply_of(out: ACEOutput, conversation_id: str | None, stayed: tuple[str, ...] | None = None) -> ChatReply:
    """Return the reply to a finished run; without a conversation it was a turn of a temporary chat.

    `stayed` are the bullets of a replaced turn that could not be taken back.
    """
    plan, result, learning = out.get("plan"), out.get("result"), out.get("learning")
    if plan is None or result is None or learning is None:
        raise ValueError("the run ended without a result")
    error = NOT_SAVED if learning["unsaved"] else NOT_LEARNED if learning["error"] else None
    changed = {
        name: cast("dict[str, list[object]]", learning)[name][:MAX_LEARNED] for name in Learned.model_fields
    }
    into = learning["learned_into"]
    counts = None if learning["unsaved"] else AceDelta.model_validate(ace_delta(learning))
    return ChatReply(
        answer=result["answer"],
        mode=plan["mode"],
        conversation_id=conversation_id,
        turn_id=learning["turn_id"],
        stayed=stayed,
        metadata=Metadata(
            scratch=Scratch(ace_delta=counts, learning_error=error, pending=bool(learning["pending"])),
            injected=result["injected"],
            cited=result["bullet_ids"],
            why_shown=cast("dict[str, dict[str, JsonValue]]", result["why_shown"]),
            learned=Learned() if learning["unsaved"] else Learned.model_validate(changed),
            learned_into=LearnedIntoReply.model_validate(into) if into else None,
            playbooks=result["playbooks"],
            memory=result["memory"],
            verdict=result["verdict"],
            version=learning["version"],
            usage={role: UsageReply.model_validate(used) for role, used in out.get("usage", {}).items()},
        ),
    )
