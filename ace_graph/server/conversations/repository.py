"""The repository of conversations: their owners, the turn under way in each, and what could not be saved.

A conversation id belongs to its learner: two learners with the same id have two conversations, and neither
can find out about the other's.

A turn is stored before it begins, with a lease that its server renews. When the server dies the lease expires
and another server claims the turn, so no accepted turn is lost. A conversation has one turn at a time, on any
number of servers. The messages are in LangGraph's checkpoints, in the same database.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, cast
from uuid import uuid4

from ace_graph.base.clock import Clock
from ace_graph.base.errors import RequestRefused
from ace_graph.memory.stores.base import LearnerExport
from ace_graph.memory.stores.whole import CONVERSATIONS_AND_END, memory_pieces
from ace_graph.server.conversations.database import (
    SQL,
    ConversationDatabase,
    Execute,
    Row,
    in_turn,
    make_schema,
)

if TYPE_CHECKING:
    from langchain_core.messages import AnyMessage

_STARTED = 19
"""The index of the start time in /proc/PID/stat, counted from after the program's name."""


def new_owner() -> str:
    """Return a name for one server: machine, process namespace, pid, start of the process, a random part."""
    pid = os.getpid()
    return "|".join((platform.node(), _namespace(), str(pid), _started(pid), uuid4().hex))


def is_gone(owner: str, mine: str) -> bool:
    """Whether `owner` is certainly a process of this machine that has ended; a reused pid starts later.

    Of other machines or containers, and of systems without /proc, nothing is known; their leases expire.
    """
    theirs, ours = owner.split("|"), mine.split("|")
    if len(theirs) != 5 or theirs[:2] != ours[:2] or not theirs[1] or not theirs[2].isdigit():
        return False
    return _started(int(theirs[2])) != theirs[3]


def _started(pid: int) -> str:
    """Return when the process started, in the kernel's ticks; '' if there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[_STARTED]


def _namespace() -> str:
    """Return the namespace in which pids are unique; '' if the system has none."""
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


LEASE_SECONDS = 10.0
MAX_CLAIMS = 1
"""A turn that its first server and one more did not survive is given up."""
_GIVEN_UP_RETENTION = timedelta(days=30)
_GIVEN_UP_REASON = "two servers stopped, or did not get on, while they worked on this message"


@dataclass(frozen=True)
class Conversation:
    """A learner's conversation: the id is the learner's own, its checkpoints are kept under `thread_id`."""

    id: str
    thread_id: str
    created_at: str
    used_at: str = ""
    title: str = ""


@dataclass(frozen=True)
class AcceptedTurn:
    """A stored turn. `request_json` is the ChatRequest; `tries` counts the servers that had it before.

    `thread_id` is LangGraph's thread of the conversation, or of a new one until the turn is accepted. `known`
    says what the checkpoints may hold: "nothing" in a conversation's first turn, the "conversation" so far,
    or this "turn" if another server began it. `title` is that of the conversation if it is new.
    """

    run_id: str
    conversation_id: str
    learner_id: str
    request_json: str
    thread_id: str
    tries: int = 0
    known: Literal["nothing", "conversation", "turn"] = "conversation"
    title: str = ""


class UnsavedTurn(NamedTuple):
    """What a turn learned and could not store (`learning.unsaved`)."""

    turn_id: str
    learner_id: str
    text: str


class GivenUpTurn(NamedTuple):
    """A turn that no server tries again, and why."""

    run_id: str
    conversation_id: str
    learner_id: str
    reason: str
    at: str


class Conversations:
    """All conversations of one database, which holds LangGraph's checkpoints too, for the server `owner`."""

    def __init__(self, database: ConversationDatabase, clock: Clock, owner: str) -> None:
        self.database = database
        self._clock = clock
        self._owner = owner

    async def set_up(self) -> None:
        """Make the tables where there are none. Raises OtherSchema, StoreUnavailable."""
        await make_schema(self.database, self._clock.now().isoformat())

    async def accept(self, turn: AcceptedTurn, if_paused: str | None = None) -> AcceptedTurn:
        """Store a turn, and its conversation if it is new; return it with `thread_id` and `known` set.

        `if_paused` replaces its `request_json` where the learner has paused learning.

        Raises RequestRefused: 409 while a turn is under way in the conversation.
        """
        now = self._clock.now().isoformat()

        async def work(execute: Execute) -> AcceptedTurn:
            ((thread_id, paused),) = await execute(
                SQL["USE_CONVERSATION"],
                (turn.learner_id, turn.conversation_id, turn.thread_id, turn.title, now, now),
            )
            thread, new = str(thread_id), thread_id == turn.thread_id
            asked = if_paused if paused and if_paused is not None else turn.request_json
            ids = (thread, turn.run_id, turn.learner_id, turn.conversation_id)
            begun = await execute(SQL["BEGIN_RUN"], (*ids, asked, self._owner, self._lease_end()))
            if not begun:
                sentence = "an answer is under way: wait for its end"
                raise RequestRefused(409, "busy", sentence, retry_after=1)
            return replace(
                turn, thread_id=thread, request_json=asked, known="nothing" if new else "conversation"
            )

        return await self.database.transaction(work)

    async def renew(self, turn: AcceptedTurn) -> bool:
        """Extend the lease; False when the turn was taken over, or its learner forgotten."""
        kept = await self.database.execute(
            SQL["RENEW_RUN"], (self._lease_end(), turn.thread_id, turn.run_id, self._owner)
        )
        return bool(kept)

    async def is_ours(self, run_id: str) -> bool:
        """Whether this server still has the turn: no other claimed it, and its learner was not forgotten."""
        found = await self.database.execute(
            "SELECT 1 FROM ace_runs WHERE run_id = ? AND owner = ?", (run_id, self._owner)
        )
        return bool(found)

    async def finish(
        self, turn: AcceptedTurn, unsaved: UnsavedTurn | None = None, *, answered: bool = False
    ) -> bool:
        """End the turn; return False if it was no longer this server's.

        Of the conversation's checkpoints only the last one of an answered turn stays; none where its learner
        was forgotten meanwhile.
        """

        async def work(execute: Execute) -> bool:
            ended = await execute(SQL["END_RUN"], (turn.thread_id, turn.run_id, self._owner))
            if ended and unsaved is not None:
                await execute(SQL["NOTE_UNSAVED"], unsaved)
            if not (ended and ended[0][0]):
                await self._delete_unless_kept(turn, execute)
            elif answered:
                for statement, values in self.database.prunings(turn.thread_id, turn.run_id):
                    await execute(statement, values)
            return bool(ended)

        return await self.database.transaction(work)

    async def abandon(self, turn: AcceptedTurn) -> None:
        """End a turn that failed, and delete the conversation that it began: nothing was said in it."""

        async def work(execute: Execute) -> None:
            ended = await execute(SQL["END_RUN"], (turn.thread_id, turn.run_id, self._owner))
            if ended and turn.known == "nothing":
                await execute("DELETE FROM ace_conversations WHERE thread_id = ?", (turn.thread_id,))
            await self._delete_unless_kept(turn, execute)

        await self.database.transaction(work)

    async def _delete_unless_kept(self, turn: AcceptedTurn, execute: Execute) -> None:
        """Delete the checkpoints of a conversation that is not there any more."""
        if not await execute("SELECT 1 FROM ace_conversations WHERE thread_id = ?", (turn.thread_id,)):
            await self.database.delete_thread(turn.thread_id, execute)

    async def release(self, turn: AcceptedTurn) -> None:
        """End the lease now, so that another server can claim the turn."""
        await self.database.execute(SQL["RELEASE_RUN"], (turn.thread_id, turn.run_id, self._owner))

    async def claim_orphans(self, busy: Collection[str] = (), most: int = 16) -> list[AcceptedTurn]:
        """Claim turns whose lease has expired or whose process has ended.

        `busy` are the runs that this server works on; they are not claimed even if their lease has expired.
        """

        async def work(execute: Execute) -> list[AcceptedTurn]:
            taken: list[AcceptedTurn] = []
            for row, turn in await self._orphans(execute, busy):
                if turn.tries <= MAX_CLAIMS and len(taken) < most:
                    mine = await execute(
                        SQL["CLAIM_RUN"], (self._owner, self._lease_end(), *row[:2], *row[4:6])
                    )
                    taken += [turn] if mine else []
            return taken

        return await self.database.transaction(work)

    async def give_up(self, busy: Collection[str] = ()) -> list[GivenUpTurn]:
        """End the turns that two servers did not survive; return them with the reason.

        A turn that makes its server stop would otherwise stop one server after the other.
        """

        async def work(execute: Execute) -> list[GivenUpTurn]:
            given_up: list[GivenUpTurn] = []
            now = self._clock.now()
            for row, turn in await self._orphans(execute, busy):
                if turn.tries > MAX_CLAIMS:
                    mine = await execute(SQL["GIVE_UP_RUN"], (*row[:2], *row[4:6]))
                    ids = (turn.run_id, turn.conversation_id, turn.learner_id)
                    given_up += [GivenUpTurn(*ids, _GIVEN_UP_REASON, now.isoformat())] if mine else []
            for each in given_up:
                await execute(SQL["NOTE_GIVEN_UP"], each)
            if given_up:
                await execute(
                    "DELETE FROM ace_given_up WHERE at < ?", ((now - _GIVEN_UP_RETENTION).isoformat(),)
                )
            return given_up

        return await self.database.transaction(work)

    async def given_up(self, learner_id: str) -> list[GivenUpTurn]:
        """Return a learner's turns that were given up, the oldest first."""
        rows = await self.database.execute(SQL["GIVEN_UP_OF_LEARNER"], (learner_id,))
        return [GivenUpTurn(*map(str, row)) for row in rows]

    async def _orphans(self, execute: Execute, busy: Collection[str]) -> list[tuple[Row, AcceptedTurn]]:
        """Return the rows of turns without a living server, and the turns with one more try."""
        rows = await execute(SQL["OLDEST_LEASES"], ())
        now = self._clock.now().timestamp()
        orphans = [
            row for row in rows if float(cast("float", row[5])) < now or is_gone(str(row[4]), self._owner)
        ]
        return [(row, _accepted(row)) for row in orphans if row[1] not in busy]

    async def unsaved(self, most: int = 16) -> list[UnsavedTurn]:
        """Return what turns could not store, the oldest first."""
        rows = await self.database.execute(
            "SELECT turn_id, learner_id, unsaved_json FROM ace_unsaved LIMIT ?", (most,)
        )
        return [UnsavedTurn(*map(str, row)) for row in rows]

    async def saved(self, turn_id: str) -> None:
        """Delete what a turn could not store: it is stored now, or never will be."""
        await self.database.execute("DELETE FROM ace_unsaved WHERE turn_id = ?", (turn_id,))

    async def paused(self, learner_id: str) -> bool:
        """Whether the learner has paused learning."""
        found = await self.database.execute("SELECT 1 FROM ace_paused WHERE learner_id = ?", (learner_id,))
        return bool(found)

    async def pause(self, learner_id: str, paused: bool) -> None:
        """Learn nothing from the learner's messages, or learn again."""
        statement = SQL["PAUSE"] if paused else "DELETE FROM ace_paused WHERE learner_id = ?"
        await self.database.execute(statement, (learner_id,))

    async def of(self, learner_id: str) -> list[Conversation]:
        """Return a learner's conversations, the oldest first."""
        rows = await self.database.execute(SQL["CONVERSATIONS_OF_LEARNER"], (learner_id,))
        return [Conversation(*map(str, row)) for row in rows]

    async def forget(self, learner_id: str) -> int:
        """Delete a learner's conversations with their checkpoints; return how many there were.

        Turns under way lose their lease first, so that none of them is claimed again.
        """

        async def delete(execute: Execute) -> int:
            for statement in in_turn(SQL["DELETE_WORK_OF_LEARNER"]):
                await execute(statement, (learner_id,))
            gone = await execute(SQL["DELETE_OF_LEARNER"], (learner_id,))
            for row in gone:
                await self.database.delete_thread(str(row[0]), execute)
            return len(gone)

        gone = await self.database.transaction(delete)
        await self.database.scrub()
        return gone

    def _lease_end(self) -> float:
        return self._clock.now().timestamp() + LEASE_SECONDS


def _accepted(row: Row) -> AcceptedTurn:
    tries = int(cast("int", row[6])) + 1
    return AcceptedTurn(str(row[1]), str(row[7]), str(row[2]), str(row[3]), str(row[0]), tries, known="turn")


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
        SQL["PAGE_OF_CONVERSATIONS"], (learner_id, used_at, used_at, last_id, limit)
    )
    return [Conversation(*map(str, row)) for row in rows]


async def find_conversation(
    database: ConversationDatabase, learner_id: str, conversation_id: str
) -> Conversation | None:
    """Return a learner's conversation. Raises StoreUnavailable."""
    rows = await database.execute(SQL["ONE_CONVERSATION"], (learner_id, conversation_id))
    return Conversation(*map(str, rows[0])) if rows else None


async def rename_conversation(
    database: ConversationDatabase, learner_id: str, found: Conversation, title: str
) -> bool:
    """Give a conversation another title; False if it has another one by now than `found`, or is gone."""
    renamed = await database.execute(
        SQL["RENAME"], (title, learner_id, found.id, found.thread_id, found.title)
    )
    return bool(renamed)


async def delete_conversation(database: ConversationDatabase, learner_id: str, conversation_id: str) -> bool:
    """Delete a conversation with its messages; False if there was none. What was learned in it stays.

    Raises RequestRefused (409) while a turn is under way in it, StoreUnavailable.
    """

    async def delete(execute: Execute) -> bool:
        gone = await execute(SQL["DELETE_UNLESS_BUSY"], (learner_id, conversation_id))
        if gone:
            await database.delete_thread(str(gone[0][0]), execute)
            await execute(
                "DELETE FROM ace_given_up WHERE learner_id = ? AND conversation_id = ?",
                (learner_id, conversation_id),
            )
        return bool(gone)

    gone = await database.transaction(delete)
    if not gone and await find_conversation(database, learner_id, conversation_id) is not None:
        raise RequestRefused(409, "busy", "an answer is under way: wait for its end", retry_after=1)
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


_CHUNK_CHARS = 65_536


async def export_chunks(found: LearnerExport, conversations: Conversations | None) -> AsyncGenerator[bytes]:
    """Yield the learner's document: the memory as it is at one moment, then each conversation.

    Conversations may hold hundreds of megabytes: they are read one by one, and serialized off the event loop.
    Tool calls and the agent's thoughts are left out.
    """
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
