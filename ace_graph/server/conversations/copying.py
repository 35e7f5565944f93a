"""Copies the conversations with the web backend from one database into another, SQLite or PostgreSQL.

    result = await copy_conversations(source, target, now)     # safe to repeat

A conversation is its row and the newest checkpoint of its thread, which has all messages. The row is written
last, so a copy that was interrupted shows no conversation without its messages. Turns that a stopped server
left, and replies that a repeated request gets, come along.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, LiteralString, NamedTuple

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from ace_graph.errors import ConfigurationError
from ace_graph.server.conversations.database import Database, Row

_PAGE = 200
_ROW: Final = "learner_id, id, thread_id, created_at, used_at, title"
_LIST: Final = (
    f"SELECT {_ROW} FROM ace_conversations WHERE (learner_id, id) > (?, ?) "  # noqa: S608  constants
    "ORDER BY learner_id, id LIMIT ?"
)
_FIND: Final = f"SELECT {_ROW} FROM ace_conversations WHERE learner_id = ? AND id = ?"  # noqa: S608  as above
_PUT: Final = (
    f"INSERT INTO ace_conversations ({_ROW}) VALUES (?, ?, ?, ?, ?, ?) "  # noqa: S608  as above
    "ON CONFLICT (learner_id, id) DO UPDATE SET used_at = excluded.used_at, title = excluded.title"
)
_BUSY: Final = "SELECT count(*) FROM ace_runs WHERE lease_until > ?"

# What belongs to turns: how it is read, and how it is written where it is missing.
_BESIDE: Final[tuple[tuple[LiteralString, LiteralString], ...]] = (
    (
        "SELECT thread_id, run_id, learner_id, conversation_id, asked_json, owner, lease_until, tries "
        "FROM ace_runs",
        "INSERT INTO ace_runs (thread_id, run_id, learner_id, conversation_id, asked_json, owner, "
        "lease_until, tries) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
    ),
    (
        "SELECT turn_id, learner_id, unsaved_json FROM ace_unsaved",
        "INSERT INTO ace_unsaved (turn_id, learner_id, unsaved_json) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
    ),
    (
        "SELECT run_id, learner_id, conversation_id, reason, at FROM ace_given_up",
        "INSERT INTO ace_given_up (run_id, learner_id, conversation_id, reason, at) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT DO NOTHING",
    ),
    (
        "SELECT learner_id, idempotency_key, request, at, status, headers_json, body FROM ace_replies",
        "INSERT INTO ace_replies (learner_id, idempotency_key, request, at, status, headers_json, body) "
        "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
    ),
)


class UnlikeConversation(NamedTuple):
    """A conversation that was not copied, or is not the same, and why."""

    learner_id: str
    conversation_id: str
    why: str


@dataclass(frozen=True)
class ConversationsCopied:
    """How many conversations the source has, how many of them were the same already, how many were copied."""

    conversations: int = 0
    same: int = 0
    copied: int = 0
    problems: tuple[UnlikeConversation, ...] = ()


class _Held(NamedTuple):
    """A conversation's row, and its newest checkpoint; a conversation without an answer has none."""

    row: Row
    checkpoint: CheckpointTuple | None

    def is_like(self, other: _Held | None) -> bool:
        """Whether both say the same."""
        if other is None or self.row != other.row:
            return False
        mine, theirs = self.checkpoint, other.checkpoint
        if mine is None or theirs is None:
            return mine is theirs
        return mine.checkpoint == theirs.checkpoint and mine.metadata == theirs.metadata


def _ignore(_done: int) -> None:
    """Nothing to do after a conversation."""


async def copy_conversations(
    source: Database,
    target: Database,
    now: datetime,
    *,
    verify_only: bool = False,
    on_conversation: Callable[[int], None] = _ignore,
) -> ConversationsCopied:
    """Copy all conversations and compare each with the source; with `verify_only` compare them alone.

    One that the target has already is brought up to date, unless it was used there since or is another one:
    then it is a problem. `on_conversation` is called with the number of those done. Raises
    ConfigurationError while turns are under way, StoreUnavailable.
    """
    await _check_idle(source, now)
    seen = same = copied = 0
    problems = list[UnlikeConversation]()
    async for row in _rows(source):
        seen += 1
        here, there = _Held(row, await _newest(source, row)), await _held(target, row)
        if here.is_like(there):
            same += 1
        elif (why := _why_not(here, there, verify_only=verify_only)) is not None:
            problems.append(UnlikeConversation(str(row[0]), str(row[1]), why))
        else:
            await _write(target, here)
            if here.is_like(await _held(target, row)):
                copied += 1
            else:
                unlike = "reads back from the target as something else: copy again"
                problems.append(UnlikeConversation(str(row[0]), str(row[1]), unlike))
        on_conversation(seen)
    if not verify_only:
        await _copy_beside(source, target)
    return ConversationsCopied(seen, same, copied, tuple(problems))


async def _check_idle(source: Database, now: datetime) -> None:
    ((busy,),) = await source.execute(_BUSY, (now.timestamp(),))
    if busy:
        raise ConfigurationError(f"turns are under way ({busy}): stop the servers, then copy again")


def _why_not(here: _Held, there: _Held | None, *, verify_only: bool) -> str | None:
    """Say why a conversation is not written; None where it may be."""
    if there is not None and there.row[2] != here.row[2]:
        return "is another conversation there: delete it there, or name another target"
    if there is not None and str(there.row[4]) > str(here.row[4]):
        return "was used there since it was copied: keep what is there"
    if verify_only:
        return "is not there: copy again" if there is None else "is older there: copy again"
    return None


async def _rows(database: Database) -> AsyncIterator[Row]:
    page = await database.execute(_LIST, ("", "", _PAGE))
    while page:
        for row in page:
            yield row
        page = await database.execute(_LIST, (page[-1][0], page[-1][1], _PAGE))


async def _held(database: Database, row: Row) -> _Held | None:
    found = await database.execute(_FIND, row[:2])
    return _Held(found[0], await _newest(database, found[0])) if found else None


async def _newest(database: Database, row: Row) -> CheckpointTuple | None:
    config: RunnableConfig = {"configurable": {"thread_id": str(row[2]), "checkpoint_ns": ""}}
    with database.translated():
        return await database.saver.aget_tuple(config)


async def _write(target: Database, held: _Held) -> None:
    """Write the checkpoint, then the row."""
    found = held.checkpoint
    if found is not None:
        place = {"thread_id": str(held.row[2]), "checkpoint_ns": ""}
        if found.parent_config is not None:
            place["checkpoint_id"] = str(found.parent_config.get("configurable", {})["checkpoint_id"])
        with target.translated():
            await target.saver.aput(
                {"configurable": place},
                found.checkpoint,
                found.metadata,
                found.checkpoint["channel_versions"],
            )
    await target.execute(_PUT, held.row)


async def _copy_beside(source: Database, target: Database) -> None:
    for read, write in _BESIDE:
        for row in await source.execute(read, ()):
            await target.execute(write, row)
