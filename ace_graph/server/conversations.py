"""Conversations: whose they are, the turn that is under way in each, and what a turn could not save.

A turn is written down before it begins, with a lease that its server renews. A server that dies leaves the
lease to run out, and the turn is taken over: no turn that was accepted is lost. One turn at a time in one
conversation, on however many servers.

Does not: hold the messages. LangGraph's checkpointer does, in the same database.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal, LiteralString, cast

from ace_graph.errors import RequestRefused
from ace_graph.server.clock import Clock
from ace_graph.server.database import Database, Execute, Row
from ace_graph.server.owner import is_gone

__all__ = ["LEASE_SECONDS", "Accepted", "Conversations", "Unsaved"]

LEASE_SECONDS = 10.0

_TABLES: tuple[LiteralString, ...] = (
    "CREATE TABLE IF NOT EXISTS ace_conversations (id TEXT PRIMARY KEY, learner_id TEXT NOT NULL, "
    "created_at TEXT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS ace_conversations_by_learner ON ace_conversations (learner_id)",
    "CREATE TABLE IF NOT EXISTS ace_runs (conversation_id TEXT PRIMARY KEY, run_id TEXT NOT NULL, "
    "learner_id TEXT NOT NULL, asked_json TEXT NOT NULL, owner TEXT NOT NULL, "
    "lease_until DOUBLE PRECISION NOT NULL, tries INTEGER NOT NULL)",
    "CREATE INDEX IF NOT EXISTS ace_runs_by_learner ON ace_runs (learner_id)",
    "CREATE TABLE IF NOT EXISTS ace_unsaved (turn_id TEXT PRIMARY KEY, learner_id TEXT NOT NULL, "
    "unsaved_json TEXT NOT NULL)",
)


@dataclass(frozen=True)
class Accepted:
    """A turn that was written down. `asked` is the request, as JSON; `tries` counts the servers before.

    `known`: how it may have begun already. "nothing": with it the conversation begins. "conversation": there
    were turns before. "turn": another server had begun it.
    """

    run_id: str
    conversation_id: str
    learner_id: str
    asked: str
    tries: int = 0
    known: Literal["nothing", "conversation", "turn"] = "conversation"


@dataclass(frozen=True)
class Unsaved:
    """What a turn learned and could not store (`learning.unsaved`)."""

    turn_id: str
    learner_id: str
    text: str


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
        """Make the tables where they are missing. Raises StoreUnavailable."""
        async with self._database.transaction() as execute:
            for statement in _TABLES:
                await execute(statement, ())

    async def accept(self, turn: Accepted) -> Accepted:
        """Write a turn down, and the conversation with it where it is new; return it with what is known.

        Raises RequestRefused: 403 for another learner's conversation, 409 while a turn is under way in it.
        """
        async with self._database.transaction() as execute:
            new = await execute(
                "INSERT INTO ace_conversations (id, learner_id, created_at) VALUES (?, ?, ?) "
                "ON CONFLICT (id) DO NOTHING RETURNING id",
                (turn.conversation_id, turn.learner_id, self._clock.now().isoformat()),
            )
            if not new:
                await self._check_owner(execute, turn)
            begun = await execute(
                "INSERT INTO ace_runs (conversation_id, run_id, learner_id, asked_json, owner, lease_until, "
                "tries) VALUES (?, ?, ?, ?, ?, ?, 0) ON CONFLICT (conversation_id) DO NOTHING "
                "RETURNING run_id",
                (
                    turn.conversation_id,
                    turn.run_id,
                    turn.learner_id,
                    turn.asked,
                    self._owner,
                    self._until(),
                ),
            )
            if not begun:
                raise RequestRefused(
                    409, "busy", "a turn is under way in this conversation: wait for its end", retry_after=1
                )
        return replace(turn, known="nothing" if new else "conversation")

    async def _check_owner(self, execute: Execute, turn: Accepted) -> None:
        rows = await execute("SELECT learner_id FROM ace_conversations WHERE id = ?", (turn.conversation_id,))
        if [row[0] for row in rows] != [turn.learner_id]:
            raise RequestRefused(403, "forbidden", "this conversation is not yours")

    async def renew(self, turn: Accepted) -> bool:
        """Extend the lease; False when the turn was taken over, or its learner forgotten."""
        async with self._database.transaction() as execute:
            kept = await execute(
                "UPDATE ace_runs SET lease_until = ? WHERE conversation_id = ? AND run_id = ? AND owner = ? "
                "RETURNING run_id",
                (self._until(), turn.conversation_id, turn.run_id, self._owner),
            )
        return bool(kept)

    async def is_ours(self, run_id: str) -> bool:
        """Whether this server has the turn: nobody took it over, and its learner was not forgotten."""
        async with self._database.transaction() as execute:
            found = await execute(
                "SELECT 1 FROM ace_runs WHERE run_id = ? AND owner = ?", (run_id, self._owner)
            )
        return bool(found)

    async def finish(self, turn: Accepted, unsaved: Unsaved | None = None) -> bool:
        """Say that the turn has ended; False when it was not this server's any more.

        Checkpoints that a forgotten learner's turn wrote after the forgetting are deleted again.
        """
        async with self._database.transaction() as execute:
            ended = await execute(
                "DELETE FROM ace_runs WHERE conversation_id = ? AND run_id = ? AND owner = ? "
                "RETURNING run_id",
                (turn.conversation_id, turn.run_id, self._owner),
            )
            if ended and unsaved is not None:
                await execute(
                    "INSERT INTO ace_unsaved (turn_id, learner_id, unsaved_json) VALUES (?, ?, ?) "
                    "ON CONFLICT (turn_id) DO NOTHING",
                    (unsaved.turn_id, unsaved.learner_id, unsaved.text),
                )
            known = await execute(
                "SELECT 1 FROM ace_conversations WHERE id = ? AND learner_id = ?",
                (turn.conversation_id, turn.learner_id),
            )
            elsewhere = await execute("SELECT 1 FROM ace_conversations WHERE id = ?", (turn.conversation_id,))
        if not known and not elsewhere:
            await self._database.saver.adelete_thread(turn.conversation_id)
        return bool(ended)

    async def put_back(self, turn: Accepted) -> None:
        """Leave the turn to the next server: its lease ends now."""
        async with self._database.transaction() as execute:
            await execute(
                "UPDATE ace_runs SET lease_until = 0, tries = tries - 1 "
                "WHERE conversation_id = ? AND run_id = ? AND owner = ?",
                (turn.conversation_id, turn.run_id, self._owner),
            )

    async def take_over(self, busy: Collection[str] = (), most: int = 16) -> list[Accepted]:
        """Take turns whose server is gone: their lease ran out, or their process has ended.

        `busy` are the runs that this server works on, whatever became of their leases.
        """
        taken: list[Accepted] = []
        async with self._database.transaction() as execute:
            rows = await execute(
                "SELECT conversation_id, run_id, learner_id, asked_json, owner, lease_until, tries "
                "FROM ace_runs ORDER BY lease_until LIMIT 200",
                (),
            )
            for row in rows:
                if len(taken) < most and row[1] not in busy and self._is_free(row):
                    mine = await execute(
                        "UPDATE ace_runs SET owner = ?, lease_until = ?, tries = tries + 1 "
                        "WHERE conversation_id = ? AND run_id = ? AND owner = ? AND lease_until = ? "
                        "RETURNING run_id",
                        (self._owner, self._until(), *row[:2], *row[4:6]),
                    )
                    taken += [_accepted(row)] if mine else []
        return taken

    def _is_free(self, row: Row) -> bool:
        owner, until = str(row[4]), float(cast("float", row[5]))
        return until < self._clock.now().timestamp() or is_gone(owner, self._owner)

    async def unsaved(self, most: int = 16) -> list[Unsaved]:
        """Return what turns could not save, the oldest first."""
        async with self._database.transaction() as execute:
            rows = await execute("SELECT turn_id, learner_id, unsaved_json FROM ace_unsaved LIMIT ?", (most,))
        return [Unsaved(str(row[0]), str(row[1]), str(row[2])) for row in rows]

    async def saved(self, turn_id: str) -> None:
        """Forget what a turn could not save: it is saved by now, or never will be."""
        async with self._database.transaction() as execute:
            await execute("DELETE FROM ace_unsaved WHERE turn_id = ?", (turn_id,))

    async def of(self, learner_id: str) -> list[tuple[str, str]]:
        """Return the id of each conversation of a learner, and when it began, the oldest first."""
        async with self._database.transaction() as execute:
            rows = await execute(
                "SELECT id, created_at FROM ace_conversations WHERE learner_id = ? ORDER BY created_at, id",
                (learner_id,),
            )
        return [(str(row[0]), str(row[1])) for row in rows]

    async def forget(self, learner_id: str) -> int:
        """Delete a learner's conversations with their checkpoints; return how many there were.

        The turns under way lose their lease first, so that none of them is taken up again.
        """
        async with self._database.transaction() as execute:
            for statement in _DELETE_WORK:
                await execute(statement, (learner_id,))
        threads = [name for name, _ in await self.of(learner_id)]
        for thread in threads:
            await self._database.saver.adelete_thread(thread)
        async with self._database.transaction() as execute:
            await execute("DELETE FROM ace_conversations WHERE learner_id = ?", (learner_id,))
        await self._database.erased()
        return len(threads)

    def _until(self) -> float:
        return self._clock.now().timestamp() + LEASE_SECONDS


_DELETE_WORK: Sequence[LiteralString] = (
    "DELETE FROM ace_runs WHERE learner_id = ?",
    "DELETE FROM ace_unsaved WHERE learner_id = ?",
)


def _accepted(row: Row) -> Accepted:
    tries = int(cast("int", row[6])) + 1
    return Accepted(str(row[1]), str(row[0]), str(row[2]), str(row[3]), tries, known="turn")
