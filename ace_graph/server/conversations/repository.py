"""Conversations: whose they are, the turn that is under way in each, and what a turn could not save.

An id belongs to its learner: two learners who say the same id have two conversations, and neither can tell
that the other's is there.

A turn is written down before it begins, with a lease that its server renews. A server that dies leaves the
lease to run out, and the turn is taken over: no turn that was accepted is lost. One turn at a time in one
conversation, on however many servers.

Does not: hold the messages. LangGraph's checkpointer does, in the same database.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Literal, LiteralString, cast

from ace_graph.errors import RequestRefused
from ace_graph.server.clock import Clock
from ace_graph.server.conversations.database import Database, Execute, Row
from ace_graph.server.conversations.migrations import migrate
from ace_graph.server.conversations.process import is_gone

__all__ = ["LEASE_SECONDS", "AcceptedTurn", "Conversation", "Conversations", "GivenUpTurn", "UnsavedTurn"]

LEASE_SECONDS = 10.0
MOST_TAKEN_OVER = 1
"""A turn that the server that began it and one more did not survive is given up."""
_GIVEN_UP_KEPT = timedelta(days=30)
_WHY = "two servers stopped, or did not get on, while they worked on this message"


@dataclass(frozen=True)
class Conversation:
    """A learner's conversation: the id is the learner's own, its checkpoints are kept under `thread_id`."""

    id: str
    thread_id: str
    created_at: str


@dataclass(frozen=True)
class AcceptedTurn:
    """A turn that was written down. `request_json` is the ChatRequest; `tries` counts the servers before.

    `thread_id` is where the conversation's checkpoints are kept; before the turn is accepted, where they
    would be if the conversation began with it. `known`: how it may have begun already. "nothing": with it the
    conversation begins. "conversation": there were turns before. "turn": another server had begun it.
    """

    run_id: str
    conversation_id: str
    learner_id: str
    request_json: str
    thread_id: str
    tries: int = 0
    known: Literal["nothing", "conversation", "turn"] = "conversation"


@dataclass(frozen=True)
class UnsavedTurn:
    """What a turn learned and could not store (`learning.unsaved`)."""

    turn_id: str
    learner_id: str
    text: str


@dataclass(frozen=True)
class GivenUpTurn:
    """A turn that ended without an answer because no server should try it again, and why."""

    run_id: str
    conversation_id: str
    learner_id: str
    reason: str
    at: str


class Conversations:
    """All conversations of one database, as the server `owner` sees them."""

    def __init__(self, database: Database, clock: Clock, owner: str) -> None:
        self._database = database
        self._clock = clock
        self._owner = owner

    @property
    def database(self) -> Database:
        """Where they are kept, with LangGraph's checkpoints."""
        return self._database

    async def set_up(self) -> None:
        """Bring the tables up to date. Raises NewerFormat, StoreUnavailable."""
        await migrate(self._database, self._clock.now().isoformat())

    async def accept(self, turn: AcceptedTurn) -> AcceptedTurn:
        """Write a turn down, and the conversation with it where it is new; return it with what is known.

        Raises RequestRefused: 409 while a turn is under way in the conversation.
        """
        async with self._database.transaction() as execute:
            new = await execute(
                "INSERT INTO ace_conversations (learner_id, id, thread_id, created_at, used_at) "
                "VALUES (?, ?, ?, ?, ?) ON CONFLICT (learner_id, id) DO NOTHING RETURNING thread_id",
                (
                    turn.learner_id,
                    turn.conversation_id,
                    turn.thread_id,
                    *(self._clock.now().isoformat(),) * 2,
                ),
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
                    self._until(),
                ),
            )
            if not begun:
                raise RequestRefused(
                    409, "busy", "a turn is under way in this conversation: wait for its end", retry_after=1
                )
        return replace(turn, thread_id=thread, known="nothing" if new else "conversation")

    async def _thread_of(self, execute: Execute, new: list[Row], turn: AcceptedTurn) -> str:
        rows = new or await execute(
            "UPDATE ace_conversations SET used_at = ? WHERE learner_id = ? AND id = ? RETURNING thread_id",
            (self._clock.now().isoformat(), turn.learner_id, turn.conversation_id),
        )
        if not rows:
            raise RequestRefused(409, "busy", "this conversation is being deleted: ask again", retry_after=1)
        return str(rows[0][0])

    async def renew(self, turn: AcceptedTurn) -> bool:
        """Extend the lease; False when the turn was taken over, or its learner forgotten."""
        async with self._database.transaction() as execute:
            kept = await execute(
                "UPDATE ace_runs SET lease_until = ? WHERE thread_id = ? AND run_id = ? AND owner = ? "
                "RETURNING run_id",
                (self._until(), turn.thread_id, turn.run_id, self._owner),
            )
        return bool(kept)

    async def is_ours(self, run_id: str) -> bool:
        """Whether this server has the turn: nobody took it over, and its learner was not forgotten."""
        async with self._database.transaction() as execute:
            found = await execute(
                "SELECT 1 FROM ace_runs WHERE run_id = ? AND owner = ?", (run_id, self._owner)
            )
        return bool(found)

    async def finish(self, turn: AcceptedTurn, unsaved: UnsavedTurn | None = None) -> bool:
        """Say that the turn has ended; False when it was not this server's any more.

        Checkpoints that a forgotten learner's turn wrote after the forgetting are deleted again.
        """
        async with self._database.transaction() as execute:
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
            await self._database.delete_thread(turn.thread_id)
        return bool(ended)

    async def release(self, turn: AcceptedTurn) -> None:
        """Leave the turn to the next server: its lease ends now."""
        async with self._database.transaction() as execute:
            await execute(
                "UPDATE ace_runs SET lease_until = 0, tries = tries - 1 "
                "WHERE thread_id = ? AND run_id = ? AND owner = ?",
                (turn.thread_id, turn.run_id, self._owner),
            )

    async def claim_orphans(self, busy: Collection[str] = (), most: int = 16) -> list[AcceptedTurn]:
        """Take turns whose server is gone: their lease ran out, or their process has ended.

        `busy` are the runs that this server works on, whatever became of their leases.
        """
        taken: list[AcceptedTurn] = []
        async with self._database.transaction() as execute:
            for row, turn in await self._orphans(execute, busy):
                if turn.tries <= MOST_TAKEN_OVER and len(taken) < most:
                    mine = await execute(
                        "UPDATE ace_runs SET owner = ?, lease_until = ?, tries = tries + 1 "
                        "WHERE thread_id = ? AND run_id = ? AND owner = ? AND lease_until = ? "
                        "RETURNING run_id",
                        (self._owner, self._until(), *row[:2], *row[4:6]),
                    )
                    taken += [turn] if mine else []
        return taken

    async def give_up(self, busy: Collection[str] = ()) -> list[GivenUpTurn]:
        """End the turns that two servers did not survive, with the reason; return them.

        A turn whose text stops whoever works on it would go on to stop one server after the other.
        """
        given_up: list[GivenUpTurn] = []
        now = self._clock.now()
        async with self._database.transaction() as execute:
            for row, turn in await self._orphans(execute, busy):
                if turn.tries > MOST_TAKEN_OVER:
                    mine = await execute(
                        "DELETE FROM ace_runs WHERE thread_id = ? AND run_id = ? AND owner = ? "
                        "AND lease_until = ? RETURNING run_id",
                        (*row[:2], *row[4:6]),
                    )
                    ended = GivenUpTurn(
                        turn.run_id, turn.conversation_id, turn.learner_id, _WHY, now.isoformat()
                    )
                    given_up += [ended] if mine else []
            for each in given_up:
                await execute(
                    "INSERT INTO ace_given_up (run_id, conversation_id, learner_id, reason, at) "
                    "VALUES (?, ?, ?, ?, ?) ON CONFLICT (run_id) DO NOTHING",
                    (each.run_id, each.conversation_id, each.learner_id, each.reason, each.at),
                )
            if given_up:
                await execute("DELETE FROM ace_given_up WHERE at < ?", ((now - _GIVEN_UP_KEPT).isoformat(),))
        return given_up

    async def given_up(self, learner_id: str) -> list[GivenUpTurn]:
        """Return the turns of a learner that were given up, the oldest first."""
        async with self._database.transaction() as execute:
            rows = await execute(
                "SELECT run_id, conversation_id, learner_id, reason, at FROM ace_given_up "
                "WHERE learner_id = ? ORDER BY at, run_id",
                (learner_id,),
            )
        return [GivenUpTurn(*map(str, row)) for row in rows]

    async def _orphans(self, execute: Execute, busy: Collection[str]) -> list[tuple[Row, AcceptedTurn]]:
        """Turns whose server is gone, as they are after one more try."""
        rows = await execute(
            "SELECT thread_id, run_id, learner_id, asked_json, owner, lease_until, tries, "
            "conversation_id FROM ace_runs ORDER BY lease_until LIMIT 200",
            (),
        )
        return [(row, _accepted(row)) for row in rows if row[1] not in busy and self._is_free(row)]

    def _is_free(self, row: Row) -> bool:
        owner, until = str(row[4]), float(cast("float", row[5]))
        return until < self._clock.now().timestamp() or is_gone(owner, self._owner)

    async def unsaved(self, most: int = 16) -> list[UnsavedTurn]:
        """Return what turns could not save, the oldest first."""
        async with self._database.transaction() as execute:
            rows = await execute("SELECT turn_id, learner_id, unsaved_json FROM ace_unsaved LIMIT ?", (most,))
        return [UnsavedTurn(str(row[0]), str(row[1]), str(row[2])) for row in rows]

    async def saved(self, turn_id: str) -> None:
        """Forget what a turn could not save: it is saved by now, or never will be."""
        async with self._database.transaction() as execute:
            await execute("DELETE FROM ace_unsaved WHERE turn_id = ?", (turn_id,))

    async def of(self, learner_id: str) -> list[Conversation]:
        """Return a learner's conversations, the oldest first."""
        async with self._database.transaction() as execute:
            rows = await execute(
                "SELECT id, thread_id, created_at FROM ace_conversations WHERE learner_id = ? "
                "ORDER BY created_at, id",
                (learner_id,),
            )
        return [Conversation(str(row[0]), str(row[1]), str(row[2])) for row in rows]

    async def forget(self, learner_id: str) -> int:
        """Delete a learner's conversations with their checkpoints; return how many there were.

        The turns under way lose their lease first, so that none of them is taken up again.
        """
        async with self._database.transaction() as execute:
            for statement in _DELETE_WORK:
                await execute(statement, (learner_id,))
        gone = await self.of(learner_id)
        for each in gone:
            await self._database.delete_thread(each.thread_id)
        async with self._database.transaction() as execute:
            await execute("DELETE FROM ace_conversations WHERE learner_id = ?", (learner_id,))
        await self._database.erased()
        return len(gone)

    def _until(self) -> float:
        return self._clock.now().timestamp() + LEASE_SECONDS


_DELETE_WORK: Sequence[LiteralString] = (
    "DELETE FROM ace_runs WHERE learner_id = ?",
    "DELETE FROM ace_unsaved WHERE learner_id = ?",
    "DELETE FROM ace_given_up WHERE learner_id = ?",
)


def _accepted(row: Row) -> AcceptedTurn:
    tries = int(cast("int", row[6])) + 1
    return AcceptedTurn(str(row[1]), str(row[7]), str(row[2]), str(row[3]), str(row[0]), tries, known="turn")
