"""Transcripts that other programs keep, read as exchanges: a question, what was done, an answer.

A file is untrusted and may be large. JSON lines and JSON arrays are read record by record, so that memory
holds one record and the exchange that is open; a database is opened to read only. What can't be read is
reported with its place, and the rest is read. Nothing that a file holds is imported or called.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, ClassVar, Literal, NamedTuple, cast

from ace_graph.base.errors import FormatError, UsageError, unknown
from ace_graph.base.text import truncate
from ace_graph.memory.formats.reading import Fields, as_fields
from ace_graph.memory.trajectory import MAX_STEPS
from ace_graph.memory.turn import MAX_STEP_CHARS, MAX_TASK_CHARS, Metadata, Step, StepKind

MAX_RECORD = 64_000_000
"""Bytes of one line, one conversation of an array, or one row."""
MAX_OPEN = 10_000
"""Conversations whose messages may be mixed in one file."""
_PROBED = 200
"""Records that may come before the first whose format is known."""
MessageKind = Literal["question", "answer", "call", "result"]
_KINDS: Mapping[str, MessageKind | None] = {
    **dict.fromkeys(("user", "human"), "question"),
    **dict.fromkeys(("assistant", "ai", "model", "agent"), "answer"),
    **dict.fromkeys(("tool", "function"), "result"),
    **dict.fromkeys(("system", "developer"), None),
}


class TranscriptMessage(NamedTuple):
    """One message, tool call or tool result, in the order of the conversation.

    `names` are those that the file gives to whose conversation it is: a user, a folder, the conversation.
    """

    conversation: str
    kind: MessageKind = "question"
    text: str = ""
    at: datetime | None = None
    tool: str = ""
    failed: bool = False
    model: str | None = None
    names: tuple[str, ...] = ()


class Unread(NamedTuple):
    """A part of a file that could not be read: where it is, and why. `cut`: the file ends in it."""

    where: str
    why: str
    cut: bool = False


class EndOfConversation(NamedTuple):
    """No message of the conversations so far follows."""


Entry = TranscriptMessage | Unread | EndOfConversation


@dataclass(frozen=True)
class Exchange:
    """A question, the steps of the work on it, and the last answer.

    `key` is a hash of what was said from the beginning of the conversation up to the answer, so that the same
    exchange of a later export, or of a copy, has the same key.
    """

    key: str
    conversation: str
    question: str
    answer: str
    steps: tuple[Step, ...]
    steps_left_out: int
    started_at: datetime | None
    ended_at: datetime | None
    model: str | None
    names: tuple[str, ...]


# Values of any type, as untrusted JSON has them.


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _items(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _object(value: object) -> Fields:
    return as_fields(value) or {}


def _named(*values: object) -> tuple[str, ...]:
    return tuple(value for value in values if isinstance(value, str) and value)


def _as_json(value: object) -> str:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return ""


_MILLISECONDS = 10**11
"""A larger number of seconds would be in the year 5138: it counts milliseconds."""


def _moment(value: object) -> datetime | None:
    """Return a time in ISO 8601, or in seconds or milliseconds since 1970; UTC where no zone is given."""
    try:
        if isinstance(value, str) and value:
            at = datetime.fromisoformat(value)
            return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            return datetime.fromtimestamp(value / 1000 if value > _MILLISECONDS else value, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return None


# Messages and items as the APIs of OpenAI, Anthropic and LangChain have them.


_TEXTS = ("text", "input_text", "output_text", "refusal")
_CALLS = (
    *("tool_use", "server_tool_use", "tool_call", "mcp_call"),
    *("function_call", "custom_tool_call", "local_shell_call"),
)
_SILENT = ("thinking", "redacted_thinking", "reasoning", "reasoning_content")


@dataclass
class _Speech:
    """Reads the messages of one conversation; `tools` are the names of the tools that were called, by id."""

    tools: dict[str, str] = field(default_factory=dict[str, str])

    def read(self, item: Fields, about: TranscriptMessage) -> Iterator[Entry]:
        """Yield what a message, a call or a result says; `about` has what they have in common."""
        type_ = _text(item.get("type"))
        if type_ in _CALLS or type_.endswith(("_call", "_call_output", "tool_result")):
            yield from self._part(item, about)
            return
        if type_ in _SILENT:
            return
        role = item.get("role") or type_
        if not isinstance(role, str) or role not in _KINDS:
            yield Unread("", f"the role {truncate(_as_json(role), 40)!r} is not known: left out")
            return
        kind = _KINDS[role]
        if kind is None:
            return
        said = about._replace(kind=kind, model=_text(item.get("model")) or about.model)
        if kind == "result":
            tool = _text(item.get("name")) or self.tools.pop(_text(item.get("tool_call_id")), "")
            said = said._replace(tool=tool, failed=item.get("status") == "error")
        content = item.get("content")
        if isinstance(content, str):
            yield said._replace(text=content)
        elif isinstance(content, list):
            for part in cast("list[object]", content):
                yield from self._part(part, said)
        elif content is not None:
            yield Unread("", "the content is neither text nor a list: left out")
        for call in _items(item.get("tool_calls")):
            yield from self._part({"type": "tool_call", **_object(call)}, said)

    def _part(self, part: object, about: TranscriptMessage) -> Iterator[Entry]:
        """Yield a part of a message: text, a call, a result; images and files are named only."""
        fields = _object(part)
        type_ = "text" if isinstance(part, str) else _text(fields.get("type"))
        if type_ in _SILENT:
            return
        if type_ in _TEXTS:
            text = part if isinstance(part, str) else fields.get("text") or fields.get("refusal")
            yield about._replace(text=_text(text))
        elif type_ in _CALLS or type_.endswith("_call") or "function" in fields:
            function = _object(fields.get("function")) or fields
            name = _text(function.get("name")) or type_.removesuffix("_call")
            given = ("arguments", "args", "input", "action")
            asked = next((function[key] for key in given if function.get(key) is not None), "")
            self.tools |= dict.fromkeys(_named(fields.get("id"), fields.get("call_id")), name)
            yield about._replace(kind="call", tool=name, text=_as_json(asked))
        elif type_.endswith(("tool_result", "_call_output")):
            called = _text(fields.get("tool_use_id")) or _text(fields.get("call_id"))
            tool = _text(fields.get("name")) or self.tools.pop(called, "")
            content = fields.get("content", fields.get("output"))
            failed = fields.get("is_error") is True
            yield about._replace(kind="result", tool=tool, text=_content_text(content), failed=failed)
        elif type_:
            yield about._replace(text=f"[{truncate(type_, 40)}]")
        else:
            yield Unread("", "a part of the content has no type: left out")


def _content_text(content: object) -> str:
    """Return the text of the content of a result: a text, parts, or any other JSON."""
    if not isinstance(content, list):
        return _as_json(content) if content is not None else ""
    parts = [_object(part) for part in cast("list[object]", content)]
    return "\n".join(_text(part.get("text")) or _as_json(part) for part in parts)


# The programs.


class TranscriptFormat(ABC):
    """Reads the records of one program; one is made for a file."""

    name: ClassVar[str]
    reads: ClassVar[str]
    """Which versions of its format."""
    made: ClassVar[tuple[str, ...]] = ()
    """How texts begin that the program itself writes in the place of the user: they are left out."""
    table: ClassVar[str] = ""
    """The table of a database that has the records, if they are in one."""
    rows: ClassVar[str] = ""
    """The statement that reads them."""

    def __init__(self) -> None:
        self._speech = _Speech()

    @staticmethod
    @abstractmethod
    def recognises(record: Fields) -> bool:
        """Whether a record is one of this format."""

    @abstractmethod
    def entries(self, record: Fields) -> Iterator[Entry]:
        """Yield what a record says; the place of what is unread is left open."""


class ChatGptFormat(TranscriptFormat):
    """The branch of each conversation that is shown, in the `conversations.json` of ChatGPT's export."""

    name = "chatgpt"
    reads = "conversations.json of ChatGPT's data export, as of 2023 to 2025"

    @staticmethod
    def recognises(record: Fields) -> bool:
        """Whether it is a conversation with its tree of messages."""
        return isinstance(record.get("mapping"), dict)

    def entries(self, record: Fields) -> Iterator[Entry]:
        """Yield the messages from the root to `current_node`."""
        nodes = _object(record.get("mapping"))
        place, path = record.get("current_node"), list[Fields]()
        seen = set[str]()
        if not isinstance(place, str) or place not in nodes:  # the newest, where none is named
            place = next(reversed(nodes), None)
        while isinstance(place, str) and place in nodes and place not in seen:
            seen.add(place)
            path.append(_object(nodes[place]))
            place = path[-1].get("parent")
        names = _named(record.get("conversation_id") or record.get("id"))
        for node in reversed(path):
            yield from self._message(_object(node.get("message")), names)
        yield EndOfConversation()

    @staticmethod
    def _message(message: Fields, names: tuple[str, ...]) -> Iterator[Entry]:
        if not message:
            return
        author, content = _object(message.get("author")), _object(message.get("content"))
        meta, role = _object(message.get("metadata")), author.get("role")
        if not isinstance(role, str) or role not in _KINDS:
            yield Unread("", f"the role {truncate(_as_json(role), 40)!r} is not known: left out")
            return
        kind = _KINDS[role]
        hidden = meta.get("is_visually_hidden_from_conversation") is True
        type_ = _text(content.get("content_type"))
        if kind is None or hidden or type_ in ("thoughts", "reasoning_recap", "user_editable_context"):
            return
        parts = _items(content.get("parts")) or [content.get("text") or content.get("result") or ""]
        text = "\n".join(p if isinstance(p, str) else _attachment(_object(p)) for p in parts)
        at, model = _moment(message.get("create_time")), _text(meta.get("model_slug")) or None
        said = TranscriptMessage(names[0] if names else "", kind, text, at, model=model, names=names)
        recipient = _text(message.get("recipient"))
        if kind == "answer" and recipient not in ("", "all"):
            yield said._replace(kind="call", tool=recipient)
        elif kind == "result":
            tool, failed = _text(author.get("name")), type_ == "system_error"
            yield said._replace(tool=tool, failed=failed)
        else:
            yield said


def _attachment(part: Fields) -> str:
    return _text(part.get("text")) or f"[{_text(part.get('content_type')) or 'attachment'}]"


class ClaudeFormat(TranscriptFormat):
    """The messages of each conversation in the `conversations.json` of Claude's export."""

    name = "claude"
    reads = "conversations.json of Claude's data export, as of 2024 to 2026"

    @staticmethod
    def recognises(record: Fields) -> bool:
        """Whether it is a conversation with its messages."""
        return isinstance(record.get("chat_messages"), list)

    def entries(self, record: Fields) -> Iterator[Entry]:
        """Yield the messages in their order."""
        names = _named(_object(record.get("account")).get("uuid"), record.get("uuid"))
        model = _text(record.get("model")) or None
        about = TranscriptMessage(_text(record.get("uuid")), model=model, names=names)
        speech = _Speech()
        for item in _items(record.get("chat_messages")):
            message = _object(item)
            said = {
                "role": message.get("sender"),
                "content": message.get("content") or _text(message.get("text")),
            }
            yield from speech.read(said, about._replace(at=_moment(message.get("created_at"))))
        yield EndOfConversation()


class ClaudeCodeFormat(TranscriptFormat):
    """A session file of Claude Code, without the work of its sub-agents, which have files of their own."""

    name = "claude-code"
    reads = "session files of Claude Code 1 and 2 (~/.claude/projects/*/*.jsonl)"

    made = (
        *("<command-", "<local-command-", "<system-reminder>", "<bash-", "<task-notification>", "Caveat: "),
        "[Request interrupted by user",
    )

    @staticmethod
    def recognises(record: Fields) -> bool:
        """Whether it is a message of a session, or one of the notes that a session file begins with."""
        return "sessionId" in record and ("uuid" in record or "parentUuid" in record)

    def entries(self, record: Fields) -> Iterator[Entry]:
        """Yield a message."""
        made = record.get("isMeta") or record.get("isSidechain") or record.get("isCompactSummary")
        if record.get("type") not in ("user", "assistant") or made:
            return
        message, session = _object(record.get("message")), _text(record.get("sessionId"))
        at, names = _moment(record.get("timestamp")), _named(record.get("cwd"), session)
        about = TranscriptMessage(session, at=at, names=names)
        yield from self._speech.read({**message, "role": record["type"]}, about)


class CodexFormat(TranscriptFormat):
    """A rollout file of the Codex command line; what it logs beside the items is a repetition of them."""

    name = "codex"
    reads = "session files of Codex CLI since 0.32 (~/.codex/sessions/**/rollout-*.jsonl)"

    made = (
        *("<environment_context>", "<user_instructions>", "<turn_aborted>", "<permissions instructions>"),
        *("# AGENTS.md instructions", "<skill>", "<user_shell_command>"),
    )

    def __init__(self) -> None:
        super().__init__()
        self._about = TranscriptMessage("")

    @staticmethod
    def recognises(record: Fields) -> bool:
        """Whether it is an entry with its payload."""
        types = ("session_meta", "response_item", "turn_context", "event_msg", "compacted")
        return record.get("type") in types and isinstance(record.get("payload"), dict)

    def entries(self, record: Fields) -> Iterator[Entry]:
        """Yield an item of the conversation; what stands there before the user says something is left out."""
        payload, about = _object(record.get("payload")), self._about
        if record.get("type") == "session_meta" and not about.conversation:
            session = _text(payload.get("id"))
            names = _named(payload.get("cwd"), session)
            self._about = about._replace(conversation=session, names=names)
        elif record.get("type") == "turn_context":
            self._about = about._replace(model=_text(payload.get("model")) or about.model)
        kind = _text(payload.get("type"))
        is_said = kind == "message" or kind.endswith(("_call", "_call_output"))
        if record.get("type") == "response_item" and is_said:
            at = _moment(record.get("timestamp"))
            yield from self._speech.read(payload, about._replace(at=at))


class MessagesFormat(TranscriptFormat):
    """Messages with a role and a content, one a line, or the `messages` of one conversation a line.

    A conversation is named by `conversation_id`, `session_id` or `thread_id`, else the file is one. Who it is
    of is said by `learner_id`, `user_id` or `user`, a time by `timestamp`, `created_at` or `time`.
    """

    name = "messages"
    reads = "JSON lines of messages as the APIs of OpenAI, Anthropic and LangChain have them"

    def __init__(self) -> None:
        super().__init__()
        self._speeches = defaultdict[str, _Speech](_Speech)

    @staticmethod
    def recognises(record: Fields) -> bool:
        """Whether it is a message, an item of one, or a conversation."""
        type_ = _text(record.get("type"))
        message = "content" in record and ("role" in record or type_ in _KINDS)
        return message or isinstance(record.get("messages"), list) or type_ in _CALLS

    def entries(self, record: Fields) -> Iterator[Entry]:
        """Yield a message, or those of a conversation."""
        whose = ("conversation_id", "session_id", "thread_id")
        conversation = next((named[0] for key in whose if (named := _named(record.get(key)))), "")
        users = _named(*(record.get(key) for key in ("learner_id", "user_id", "user")))
        about = TranscriptMessage(conversation, names=(*users, *_named(conversation)))
        if not isinstance(record.get("messages"), list):
            yield from self._speeches[conversation].read(record, about._replace(at=self._at(record)))
            return
        speech = _Speech()
        for item in _items(record["messages"]):
            message = _object(item)
            at = self._at(message) or self._at(record)
            yield from speech.read(message, about._replace(at=at))
        yield EndOfConversation()

    @staticmethod
    def _at(fields: Fields) -> datetime | None:
        times = (_moment(fields.get(key)) for key in ("timestamp", "created_at", "time"))
        return next((at for at in times if at is not None), None)


class OpenAIAgentsFormat(TranscriptFormat):
    """The sessions in a database of `SQLiteSession` of the OpenAI Agents SDK."""

    name = "openai-agents"
    reads = "SQLite databases of the OpenAI Agents SDK 0.2 to 0.24 (SQLiteSession)"
    table = "agent_messages"
    rows = (
        "SELECT session_id, message_data AS record, created_at AS at, length(message_data) AS size "
        "FROM agent_messages ORDER BY session_id, id"
    )

    def __init__(self) -> None:
        super().__init__()
        self._session: str | None = None

    @staticmethod
    def recognises(record: Fields) -> bool:
        """Whether it is a row of the messages."""
        return record.keys() >= {"session_id", "record", "size"}

    def entries(self, record: Fields) -> Iterator[Entry]:
        """Yield what an item of a session says."""
        session = str(record["session_id"])
        if session != self._session:
            self._session, self._speech = session, _Speech()
            yield EndOfConversation()
        item = as_fields(json.loads(str(record["record"])))
        if item is None:
            yield Unread("", "it is not a JSON object: left out")
            return
        about = TranscriptMessage(session, at=_moment(record["at"]), names=_named(session))
        yield from self._speech.read(item, about)


class LangGraphFormat(TranscriptFormat):
    """The messages of each thread in a database of LangGraph's SQLite checkpointer, as its newest state is.

    The classes that a checkpoint names are not loaded: their fields alone are read. A thread has one time.
    """

    name = "langgraph"
    reads = "checkpoints of langgraph-checkpoint-sqlite 2 and 3, channel `messages`"
    table = "checkpoints"
    rows = (
        "SELECT thread_id, max(checkpoint_id), type, checkpoint AS record, length(checkpoint) AS size "
        "FROM checkpoints WHERE checkpoint_ns = '' GROUP BY thread_id ORDER BY thread_id"
    )

    @staticmethod
    def recognises(record: Fields) -> bool:
        """Whether it is a checkpoint."""
        return record.keys() >= {"thread_id", "record", "size"}

    def entries(self, record: Fields) -> Iterator[Entry]:
        """Yield the messages of a thread."""
        thread, raw = str(record["thread_id"]), cast("bytes", record["record"])
        checkpoint = _object(json.loads(raw) if record["type"] == "json" else _unpacked(raw))
        messages = _object(checkpoint.get("channel_values")).get("messages")
        if not isinstance(messages, list):
            yield Unread("", "its state has no list `messages`: left out")
            return
        about = TranscriptMessage(thread, at=_moment(checkpoint.get("ts")), names=_named(thread))
        speech = _Speech()
        for item in cast("list[object]", messages):
            fields = _object(item)
            yield from speech.read(_object(fields.get("kwargs")) or fields, about)
        yield EndOfConversation()


def _unpacked(raw: bytes) -> object:
    """Return the value of MessagePack, objects of classes as their fields. Raises ValueError."""
    import ormsgpack  # comes with langgraph

    def fields(code: int, data: bytes) -> object:
        parts = _items(ormsgpack.unpackb(data, ext_hook=fields, option=ormsgpack.OPT_NON_STR_KEYS))
        return parts[2] if len(parts) > 2 and code < _NUMPY else None

    return ormsgpack.unpackb(raw, ext_hook=fields, option=ormsgpack.OPT_NON_STR_KEYS)


_NUMPY = 6
"""The first code of what is no object of a class: arrays, deltas."""
TRANSCRIPT_FORMATS: tuple[type[TranscriptFormat], ...] = (
    *(ChatGptFormat, ClaudeFormat, ClaudeCodeFormat, CodexFormat),
    *(OpenAIAgentsFormat, LangGraphFormat, MessagesFormat),
)


# Files: records, and where they stand.


class TranscriptFile:
    """A file of transcripts. `format` is known once the first record was read, `done` are bytes read."""

    def __init__(self, path: Path, format_name: str = "auto") -> None:
        known = {format_.name: format_ for format_ in TRANSCRIPT_FORMATS}
        if format_name not in ("auto", *known):
            raise UsageError(unknown("format", format_name, ("auto", *known)))
        self.path = path
        self.done, self.size = 0, 0
        self.format = known.get(format_name)

    def exchanges(self) -> Iterator[Exchange | Unread]:
        """Yield the exchanges in the order in which they end, and what could not be read.

        A question without an answer is left out, and so is the last exchange of a file that is cut off.
        Raises FormatError where nothing can be read.
        """
        any_read = False
        try:
            for found in _exchanges(self._entries()):
                any_read = True
                yield found
        except FormatError as error:
            if not any_read:
                raise
            yield Unread("what follows", f"it is left out: {error}")

    def _entries(self) -> Iterator[Entry]:
        try:
            if not self.path.is_file():
                raise FormatError(f"{self.path}: there is no such file: check the path")
            self.size = self.path.stat().st_size
            with self.path.open("rb") as stream:
                start = stream.read(16)
                if start.startswith(b"SQLite format 3"):
                    self.format, records = None, self._rows()
                elif start.startswith(b"PK"):
                    raise FormatError(
                        f"{self.path}: it is an archive: unpack it and give its conversations.json"
                    )
                else:
                    stream.seek(begin := 3 if start.startswith(b"\xef\xbb\xbf") else 0)
                    first = start[begin:].lstrip()
                    if first.startswith(b"[") or first[1:].lstrip(b" \r").startswith(b"\n"):
                        records = _array(self, stream, "item" if first.startswith(b"[") else "")
                    else:
                        records = _lines(self, stream)
                yield from self._read(records)
                self.done = self.size
        except OSError as error:
            raise FormatError(f"{self.path}: {error.strerror or error}: check the file") from error

    def _read(self, records: Iterator[tuple[str, Fields] | Unread]) -> Iterator[Entry]:
        if self.format is None:
            first = list[tuple[str, Fields] | Unread]()
            for record in islice(records, _PROBED):
                first.append(record)
                if not isinstance(record, Unread):
                    self.format = next((f for f in TRANSCRIPT_FORMATS if f.recognises(record[1])), None)
                    if self.format is not None:
                        break
            if self.format is None:
                bad = next((record for record in first if isinstance(record, Unread)), None)
                why = "" if bad is None else f"; {bad.where}: {bad.why}"
                names = ", ".join(format_.name for format_ in TRANSCRIPT_FORMATS)
                raise FormatError(f"{self.path}: no conversation was found: it is in none of {names}{why}")
            records = chain(first, records)
        reader = self.format()
        for record in records:
            if isinstance(record, Unread):
                yield record
                continue
            where, fields = record
            try:
                for entry in reader.entries(fields):
                    if isinstance(entry, TranscriptMessage):
                        if entry.kind != "question" or not entry.text.startswith(reader.made):
                            yield entry
                    else:
                        yield entry._replace(where=where) if isinstance(entry, Unread) else entry
            except (ValueError, RecursionError, TypeError, KeyError) as error:
                yield Unread(where, f"it can't be read ({truncate(str(error), 100)}): left out")

    def _rows(self) -> Iterator[tuple[str, Fields] | Unread]:
        """Yield the rows of a database that is opened to read only."""
        try:
            address = f"{self.path.resolve().as_uri()}?mode=ro"
            with closing(sqlite3.connect(address, uri=True, check_same_thread=False)) as database:
                database.row_factory = sqlite3.Row
                database.text_factory = partial(str, encoding="utf-8", errors="replace")
                held = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
                tables, known = {row[0] for row in held}, [form for form in TRANSCRIPT_FORMATS if form.table]
                kind = next((form for form in known if form.table in tables), None)
                if kind is None:
                    names = " nor ".join(form.table for form in known)
                    raise FormatError(
                        f"{self.path}: the database has neither {names}: "
                        "name one of the OpenAI Agents SDK or of LangGraph's checkpointer"
                    )
                self.format = kind
                for number, row in enumerate(database.execute(kind.rows), 1):
                    where = f"{kind.table} row {number}"
                    if (row["size"] or 0) > MAX_RECORD:
                        yield Unread(where, f"it is larger than {MAX_RECORD // 1_000_000} MB: left out")
                    else:
                        yield where, {key: row[key] for key in row.keys()}  # noqa: SIM118  a Row iterates over values
        except sqlite3.Error as error:
            raise FormatError(
                f"{self.path}: the database can't be read ({error}): stop its program, or copy it"
            ) from error


def _lines(file: TranscriptFile, stream: BinaryIO) -> Iterator[tuple[str, Fields] | Unread]:
    """Yield the objects of JSON lines."""
    number = 0
    while line := stream.readline(MAX_RECORD + 1):
        number += 1
        where, whole = f"line {number}", line.endswith(b"\n")
        if len(line) > MAX_RECORD:
            while line and not line.endswith(b"\n"):
                line = stream.readline(MAX_RECORD)
            yield Unread(where, f"it is longer than {MAX_RECORD // 1_000_000} MB: left out")
            continue
        file.done = stream.tell()
        if not line.strip():
            continue
        try:
            fields = as_fields(json.loads(line.decode("utf-8")))
        except (ValueError, RecursionError) as error:
            if whole:
                yield Unread(where, f"it is not valid JSON ({truncate(str(error), 80)}): left out")
            else:
                why = "it is cut off: import the file again once it is whole; what it ends in is left out"
                yield Unread(where, why, cut=True)
            continue
        yield Unread(where, "it is not a JSON object: left out") if fields is None else (where, fields)


class _Bounded:
    """Reads a stream up to a number of bytes from the last record on."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.left = MAX_RECORD

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes. Raises FormatError where a record is too large."""
        got = self._stream.read(min(size, 65_536) if size >= 0 else 65_536)
        self.left -= len(got)
        if self.left < 0:
            raise FormatError(f"it is larger than {MAX_RECORD // 1_000_000} MB: the rest is left out")
        return got


def _array(file: TranscriptFile, stream: BinaryIO, prefix: str) -> Generator[tuple[str, Fields] | Unread]:
    """Yield the objects of a JSON array (the prefix `item`), or the one object that the file is."""
    import ijson  # type: ignore[import-untyped]  # it has no types

    bounded, number = _Bounded(stream), 0
    try:
        values = cast("Iterator[object]", ijson.items(bounded, prefix, use_float=True))
        for value in values:
            number, bounded.left, file.done = number + 1, MAX_RECORD, stream.tell()
            where, fields = f"conversation {number}", as_fields(value)
            yield Unread(where, "it is not a JSON object: left out") if fields is None else (where, fields)
    except ijson.IncompleteJSONError:
        yield Unread(f"conversation {number + 1}", "the file is cut off there: export or copy it again")
    except (ijson.JSONError, FormatError, ValueError, RecursionError) as error:
        why = truncate(" ".join(str(error).split()), 80)
        at = f"conversation {number + 1}, near byte {stream.tell()}"
        yield Unread(at, f"it can't be read ({why}): what follows is left out")


# Exchanges of messages.


class _Open:
    """The exchange of a conversation that is not over: its texts are bounded, its hash is of the whole."""

    def __init__(self, before: str, names: tuple[str, ...]) -> None:
        self.names = names
        self.hash = hashlib.sha256(before.encode())
        self.question, self.answer = list[str](), list[str]()
        self.first, self.newest = list[Step](), list[Step]()
        self.left_out = 0
        self.times = list[datetime]()
        self.answered_at: datetime | None = None
        self.model: str | None = None

    @property
    def is_replied(self) -> bool:
        return bool(self.answer or self.first)

    def take(self, message: TranscriptMessage) -> None:
        """Add a message."""
        said = "\0".join((message.kind, message.tool, message.text))
        self.hash.update(said.encode("utf-8", "replace") + b"\n")
        self.model = message.model or self.model
        tool = message.tool[:200]
        if message.at is not None:
            self.times = [min([message.at, *self.times]), max([message.at, *self.times])]
        if message.kind == "question":
            self._add(self.question, message.text)
        elif message.kind == "answer":
            self._add(self.answer, message.text)
            self.answered_at = message.at
        else:
            if self.answer:  # it was said on the way
                self._step("decision", "\n".join(self.answer), {"role": "assistant"}, self.answered_at)
                self.answer = []
            if message.kind == "call":
                text = f"{tool}({message.text})" if tool else message.text
                self._step("action", text, {"role": "assistant", "tool": tool}, message.at)
            else:
                made: Metadata = {"role": "tool", "tool": tool, "error": message.failed}
                self._step("observation", message.text, made, message.at)

    @staticmethod
    def _add(texts: list[str], text: str) -> None:
        if text.strip() and sum(map(len, texts)) <= MAX_TASK_CHARS:
            texts.append(truncate(text, MAX_TASK_CHARS, show_length=True))

    def _step(self, kind: StepKind, text: str, about: Metadata, at: datetime | None) -> None:
        cut = truncate(text, MAX_STEP_CHARS, show_length=True)
        step = Step(kind=kind, text=cut, metadata={k: v for k, v in about.items() if v}, at=at)
        steps = self.first if len(self.first) < MAX_STEPS // 4 else self.newest
        steps.append(step)
        if len(self.newest) > MAX_STEPS - MAX_STEPS // 4:
            del self.newest[0]
            self.left_out += 1

    def closed(self, conversation: str) -> Exchange:
        """Return the exchange."""
        return Exchange(
            key=self.hash.hexdigest(),
            conversation=conversation,
            question=truncate("\n\n".join(self.question), MAX_TASK_CHARS, show_length=True),
            answer=truncate("\n".join(self.answer), MAX_TASK_CHARS, show_length=True),
            steps=(*self.first, *self.newest),
            steps_left_out=self.left_out,
            started_at=self.times[0] if self.times else None,
            ended_at=self.times[-1] if self.times else None,
            model=self.model,
            names=self.names,
        )


def _exchanges(entries: Iterable[Entry]) -> Iterator[Exchange | Unread]:
    """Yield the exchanges of each conversation; what is said before its first question is left out."""
    open_, ended = dict[str, _Open](), set[str]()

    def end(names: Iterable[str]) -> Iterator[Exchange]:
        for name in names:
            exchange = open_.pop(name)
            if exchange.is_replied:
                yield exchange.closed(name)

    for entry in entries:
        if isinstance(entry, EndOfConversation):
            yield from end([*open_])
        elif isinstance(entry, Unread):
            yield entry
            if entry.cut:
                open_.clear()
        else:
            name = entry.conversation
            if name in ended:
                raise FormatError(
                    f"{name[:60]} goes on after {MAX_OPEN} others: sort the file by conversation"
                )
            held = open_.pop(name, None)  # the one that spoke last stands last
            if entry.kind == "question" and (held is None or held.is_replied):
                if held is not None:
                    yield held.closed(name)
                held = _Open("" if held is None else held.hash.hexdigest(), entry.names)
            if held is not None:
                held.take(entry)
                open_[name] = held
            if len(open_) > MAX_OPEN:
                ended.add(oldest := next(iter(open_)))
                yield from end([oldest])
    yield from end([*open_])
