"""The repository of conversations: their owners, the turn under way in each, and what could not be saved.

A conversation id belongs to its learner: two learners with the same id have two conversations, and neither
can find out about the other's.

A turn is stored before it begins, with a lease that its server renews. When the server dies the lease expires
and another server claims the turn, so no accepted turn is lost. A conversation has one turn at a time, on any
number of servers. The messages are in LangGraph's checkpoints, in the same database.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Literal, LiteralString, cast
from uuid import uuid4

from ace_graph.base.clock import Clock
from ace_graph.base.errors import RequestRefused
from ace_graph.server.conversations.database import ConversationDatabase, Execute, Row, make_schema

# Names the process that works on a turn, and finds out whether a process of this machine has ended.
#
# For processes of other machines or containers, and on systems without /proc, nothing is known; their
# leases expire.


_STARTED = 19
"""The index of the start time in /proc/PID/stat, counted from after the program's name."""


def new_owner() -> str:
    """Return a name for one server: machine, process namespace, pid, start of the process, a random part."""
    pid = os.getpid()
    return "|".join((platform.node(), _namespace(), str(pid), _started(pid), uuid4().hex))


def is_gone(owner: str, mine: str) -> bool:
    """Whether `owner` is certainly a process of this machine that has ended; a reused pid starts later."""
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


@dataclass(frozen=True)
class UnsavedTurn:
    """What a turn learned and could not store (`learning.unsaved`)."""

    turn_id: str
    learner_id: str
    text: str


@dataclass(frozen=True)
class GivenUpTurn:
    """A turn that no server tries again, and why."""

    run_id: str
    conversation_id: str
    learner_id: str
    reason: str
    at: str


class Conversations:
    """All conversations of one database, for the server `owner`."""

    def __init__(self, database: ConversationDatabase, clock: Clock, owner: str) -> None:
        self._database = database
        self._clock = clock
        self._owner = owner

    @property
    def database(self) -> ConversationDatabase:
        """The database, which holds LangGraph's checkpoints too."""
        return self._database

    async def set_up(self) -> None:
        """Make the tables where there are none. Raises OtherSchema, StoreUnavailable."""
        await make_schema(self._database, self._clock.now().isoformat())

    async def accept(self, turn: AcceptedTurn) -> AcceptedTurn:
        """Store a turn, and its conversation if it is new; return it with `thread_id` and `known` set.

        Raises RequestRefused: 409 while a turn is under way in the conversation.
        """
        thread, new = await self._database.transaction(partial(self._accept, turn))
        return replace(turn, thread_id=thread, known="nothing" if new else "conversation")

    async def _accept(self, turn: AcceptedTurn, execute: Execute) -> tuple[str, bool]:
        """Return the thread, and whether the conversation is new."""
        now = self._clock.now().isoformat()
        new = await execute(
            "INSERT INTO ace_conversations (learner_id, id, thread_id, title, created_at, used_at) "
            "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (learner_id, id) DO NOTHING RETURNING thread_id",
            (turn.learner_id, turn.conversation_id, turn.thread_id, turn.title, now, now),
        )
        thread = await self._thread_of(execute, new, turn)
        begun = await execute(
            "INSERT INTO ace_runs (thread_id, run_id, learner_id, conversation_id, asked_json, owner, "
            "lease_until, tries) VALUES (?, ?, ?, ?, ?, ?, ?, 0) ON CONFLICT (thread_id) DO NOTHING "
            "RETURNING run_id",
            (
                thread,
                turn.run_id,
                turn.learner_id,
                turn.conversation_id,
                turn.request_json,
                self._owner,
                self._lease_end(),
            ),
        )
        if not begun:
            raise RequestRefused(
                409, "busy", "a turn is under way in this conversation: wait for its end", retry_after=1
            )
        return thread, bool(new)

    async def _thread_of(self, execute: Execute, new: list[Row], turn: AcceptedTurn) -> str:
        rows = new or await execute(
            "UPDATE ace_conversations SET used_at = ? WHERE learner_id = ? AND id = ? RETURNING thread_id",
            (self._clock.now().isoformat(), turn.learner_id, turn.conversation_id),
        )
        if not rows:
            raise RequestRefused(409, "busy", "this conversation is being deleted: try again", retry_after=1)
        return str(rows[0][0])

    async def renew(self, turn: AcceptedTurn) -> bool:
        """Extend the lease; False when the turn was taken over, or its learner forgotten."""
        kept = await self._database.execute(
            "UPDATE ace_runs SET lease_until = ? WHERE thread_id = ? AND run_id = ? AND owner = ? "
            "RETURNING run_id",
            (self._lease_end(), turn.thread_id, turn.run_id, self._owner),
        )
        return bool(kept)

    async def is_ours(self, run_id: str) -> bool:
        """Whether this server still has the turn: no other claimed it, and its learner was not forgotten."""
        found = await self._database.execute(
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
        return await self._database.transaction(partial(self._finish, turn, unsaved, answered))

    async def _finish(
        self, turn: AcceptedTurn, unsaved: UnsavedTurn | None, answered: bool, execute: Execute
    ) -> bool:
        ended = await execute(
            "DELETE FROM ace_runs WHERE thread_id = ? AND run_id = ? AND owner = ? RETURNING run_id",
            (turn.thread_id, turn.run_id, self._owner),
        )
        if ended and unsaved is not None:
            await execute(
                "INSERT INTO ace_unsaved (turn_id, learner_id, unsaved_json) VALUES (?, ?, ?) "
                "ON CONFLICT (turn_id) DO NOTHING",
                (unsaved.turn_id, unsaved.learner_id, unsaved.text),
            )
        known = await execute("SELECT 1 FROM ace_conversations WHERE thread_id = ?", (turn.thread_id,))
        if not known:
            await self._delete_threads([turn.thread_id], execute)
        elif ended and answered:
            for statement, values in self._database.prunings(turn.thread_id, turn.run_id):
                await execute(statement, values)
        return bool(ended)

    async def abandon(self, turn: AcceptedTurn) -> None:
        """End a turn that failed, and delete the conversation that it began: nothing was said in it."""
        await self._database.transaction(partial(self._abandon, turn))

    async def _abandon(self, turn: AcceptedTurn, execute: Execute) -> None:
        ended = await execute(
            "DELETE FROM ace_runs WHERE thread_id = ? AND run_id = ? AND owner = ? RETURNING run_id",
            (turn.thread_id, turn.run_id, self._owner),
        )
        if ended and turn.known == "nothing":
            await execute("DELETE FROM ace_conversations WHERE thread_id = ?", (turn.thread_id,))
        known = await execute("SELECT 1 FROM ace_conversations WHERE thread_id = ?", (turn.thread_id,))
        if not known:
            await self._delete_threads([turn.thread_id], execute)

    async def _delete_threads(self, threads: Sequence[str], execute: Execute) -> None:
        for thread in threads:
            for statement in self._database.thread_deletions:
                await execute(statement, (thread,))

    async def release(self, turn: AcceptedTurn) -> None:
        """End the lease now, so that another server can claim the turn."""
        await self._database.execute(
            "UPDATE ace_runs SET lease_until = 0, tries = tries - 1 "
            "WHERE thread_id = ? AND run_id = ? AND owner = ?",
            (turn.thread_id, turn.run_id, self._owner),
        )

    async def claim_orphans(self, busy: Collection[str] = (), most: int = 16) -> list[AcceptedTurn]:
        """Claim turns whose lease has expired or whose process has ended.

        `busy` are the runs that this server works on; they are not claimed even if their lease has expired.
        """
        return await self._database.transaction(partial(self._claim_orphans, busy, most))

    async def _claim_orphans(self, busy: Collection[str], most: int, execute: Execute) -> list[AcceptedTurn]:
        taken: list[AcceptedTurn] = []
        for row, turn in await self._orphans(execute, busy):
            if turn.tries <= MAX_CLAIMS and len(taken) < most:
                mine = await execute(
                    "UPDATE ace_runs SET owner = ?, lease_until = ?, tries = tries + 1 "
                    "WHERE thread_id = ? AND run_id = ? AND owner = ? AND lease_until = ? "
                    "RETURNING run_id",
                    (self._owner, self._lease_end(), *row[:2], *row[4:6]),
                )
                taken += [turn] if mine else []
        return taken

    async def give_up(self, busy: Collection[str] = ()) -> list[GivenUpTurn]:
        """End the turns that two servers did not survive; return them with the reason.

        A turn that makes its server stop would otherwise stop one server after the other.
        """
        return await self._database.transaction(partial(self._give_up, busy))

    async def _give_up(self, busy: Collection[str], execute: Execute) -> list[GivenUpTurn]:
        given_up: list[GivenUpTurn] = []
        now = self._clock.now()
        for row, turn in await self._orphans(execute, busy):
            if turn.tries > MAX_CLAIMS:
                mine = await execute(
                    "DELETE FROM ace_runs WHERE thread_id = ? AND run_id = ? AND owner = ? "
                    "AND lease_until = ? RETURNING run_id",
                    (*row[:2], *row[4:6]),
                )
                ended = GivenUpTurn(
                    turn.run_id, turn.conversation_id, turn.learner_id, _GIVEN_UP_REASON, now.isoformat()
                )
                given_up += [ended] if mine else []
        for each in given_up:
            await execute(
                "INSERT INTO ace_given_up (run_id, conversation_id, learner_id, reason, at) "
                "VALUES (?, ?, ?, ?, ?) ON CONFLICT (run_id) DO NOTHING",
                (each.run_id, each.conversation_id, each.learner_id, each.reason, each.at),
            )
        if given_up:
            await execute("DELETE FROM ace_given_up WHERE at < ?", ((now - _GIVEN_UP_RETENTION).isoformat(),))
        return given_up

    async def given_up(self, learner_id: str) -> list[GivenUpTurn]:
        """Return a learner's turns that were given up, the oldest first."""
        rows = await self._database.execute(
            "SELECT run_id, conversation_id, learner_id, reason, at FROM ace_given_up "
            "WHERE learner_id = ? ORDER BY at, run_id",
            (learner_id,),
        )
        return [GivenUpTurn(*map(str, row)) for row in rows]

    async def _orphans(self, execute: Execute, busy: Collection[str]) -> list[tuple[Row, AcceptedTurn]]:
        """Return the rows of turns without a living server, and the turns with one more try."""
        rows = await execute(
            "SELECT thread_id, run_id, learner_id, asked_json, owner, lease_until, tries, "
            "conversation_id FROM ace_runs ORDER BY lease_until LIMIT 200",
            (),
        )
        return [(row, _accepted(row)) for row in rows if row[1] not in busy and self._is_orphan(row)]

    def _is_orphan(self, row: Row) -> bool:
        owner, until = str(row[4]), float(cast("float", row[5]))
        return until < self._clock.now().timestamp() or is_gone(owner, self._owner)

    async def unsaved(self, most: int = 16) -> list[UnsavedTurn]:
        """Return what turns could not store, the oldest first."""
        rows = await self._database.execute(
            "SELECT turn_id, learner_id, unsaved_json FROM ace_unsaved LIMIT ?", (most,)
        )
        return [UnsavedTurn(str(row[0]), str(row[1]), str(row[2])) for row in rows]

    async def saved(self, turn_id: str) -> None:
        """Delete what a turn could not store: it is stored now, or never will be."""
        await self._database.execute("DELETE FROM ace_unsaved WHERE turn_id = ?", (turn_id,))

    async def of(self, learner_id: str) -> list[Conversation]:
        """Return a learner's conversations, the oldest first."""
        rows = await self._database.execute(
            "SELECT id, thread_id, created_at, used_at, title FROM ace_conversations "
            "WHERE learner_id = ? ORDER BY created_at, id",
            (learner_id,),
        )
        return [Conversation(*map(str, row)) for row in rows]

    async def forget(self, learner_id: str) -> int:
        """Delete a learner's conversations with their checkpoints; return how many there were.

        Turns under way lose their lease first, so that none of them is claimed again.
        """
        gone = await self._database.transaction(partial(self._forget, learner_id))
        await self._database.scrub()
        return gone

    async def _forget(self, learner_id: str, execute: Execute) -> int:
        for statement in _DELETE_WORK:
            await execute(statement, (learner_id,))
        gone = await execute(
            "DELETE FROM ace_conversations WHERE learner_id = ? RETURNING thread_id", (learner_id,)
        )
        await self._delete_threads([str(row[0]) for row in gone], execute)
        return len(gone)

    def _lease_end(self) -> float:
        return self._clock.now().timestamp() + LEASE_SECONDS


_DELETE_WORK: Sequence[LiteralString] = (
    "DELETE FROM ace_runs WHERE learner_id = ?",
    "DELETE FROM ace_unsaved WHERE learner_id = ?",
    "DELETE FROM ace_given_up WHERE learner_id = ?",
    "DELETE FROM ace_replies WHERE learner_id = ?",
)


def _accepted(row: Row) -> AcceptedTurn:
    tries = int(cast("int", row[6])) + 1
    return AcceptedTurn(str(row[1]), str(row[7]), str(row[2]), str(row[3]), str(row[0]), tries, known="turn")
