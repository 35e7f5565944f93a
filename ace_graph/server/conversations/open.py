"""Opens the conversations at the location that the settings name, for the server and for commands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, LiteralString, NamedTuple

from platformdirs import user_data_path

from ace_graph.base.clock import Clock, SystemClock
from ace_graph.base.errors import ConfigurationError, how_to_install
from ace_graph.base.settings import Settings
from ace_graph.memory.stores.base import Timeouts
from ace_graph.server.conversations.cleaning import ConversationLimits, clean_conversations
from ace_graph.server.conversations.database import SQL, ConversationDatabase, Row, make_schema
from ace_graph.server.conversations.repository import Conversations, new_owner

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import CheckpointTuple

_POSTGRES = ("postgresql://", "postgres://")


def conversations_location(settings: Settings) -> Path | str | None:
    """Return where conversations are stored: a file, the URL of a PostgreSQL, or None for memory.

    ACE_CONVERSATIONS if it is set; else next to the memory: in its PostgreSQL database, beside its SQLite
    file, or in the user's data folder if the memory is in Neo4j. Raises ConfigurationError for another URL.
    """
    configured = settings.conversations
    if configured is not None:
        if configured.startswith(_POSTGRES):
            return configured
        path = configured.removeprefix("sqlite:///")
        if "://" in path:
            raise ConfigurationError("ACE_CONVERSATIONS: use the path of a file, or postgresql://...")
        return Path(path).expanduser().absolute()
    scheme, _, rest = settings.store_url.partition("://")
    if scheme == "memory":
        return None
    if settings.store_url.startswith(_POSTGRES):
        return settings.store_url
    if scheme != "sqlite":
        return user_data_path("ace-graph", appauthor=False) / "conversations.db"
    memory = Path(rest.removeprefix("/")).expanduser().absolute()
    return memory.with_name(f"{memory.stem}-conversations.db")


@asynccontextmanager
async def open_conversations(settings: Settings, clock: Clock) -> AsyncGenerator[Conversations]:
    """Yield the conversations. Raises ConfigurationError, StoreUnavailable."""
    async with _opened(settings, clock) as database:
        yield Conversations(database, clock, new_owner())


@asynccontextmanager
async def open_existing_conversations(settings: Settings) -> AsyncGenerator[Conversations | None]:
    """Yield the conversations, or None if there is no database of them yet."""
    if not _exist(settings):
        yield None
        return
    async with open_conversations(settings, SystemClock()) as conversations:
        yield conversations


async def forget_conversations(settings: Settings, learner_id: str) -> int:
    """Delete a learner's conversations with the web backend; return how many there were.

    Raises ConfigurationError if there is a database of them and the packages to open it are missing.
    """
    async with open_existing_conversations(settings) as conversations:
        return 0 if conversations is None else await conversations.forget(learner_id)


async def clean_conversations_of(settings: Settings, now: datetime, *, dry_run: bool) -> int:
    """Delete the conversations beyond the limits that are set, or count them; return how many."""
    limits = ConversationLimits.of(settings)
    if not limits.any:
        return 0
    async with open_existing_conversations(settings) as conversations:
        if conversations is None:
            return 0
        return await clean_conversations(conversations.database, limits, now, asyncio.sleep, dry_run=dry_run)


@asynccontextmanager
async def open_database(
    place: str, settings: Settings, *, exists: bool = False
) -> AsyncGenerator[ConversationDatabase]:
    """Yield the database at a place that is given as in ACE_CONVERSATIONS, with its tables.

    Raises ConfigurationError, also where it must exist and is no file; StoreUnavailable.
    """
    named = settings.model_copy(update={"conversations": place})
    if exists and not _exist(named):
        raise ConfigurationError(f"there is no file {conversations_location(named)}: check the path")
    async with _opened(named, SystemClock()) as database:
        yield database


@asynccontextmanager
async def _opened(settings: Settings, clock: Clock) -> AsyncGenerator[ConversationDatabase]:
    database = await _open_database(settings)
    try:
        await make_schema(database, clock.now().isoformat())
        yield database
    finally:
        await database.close()


def _exist(settings: Settings) -> bool:
    location = conversations_location(settings)
    return location.exists() if isinstance(location, Path) else location is not None


async def _open_database(settings: Settings) -> ConversationDatabase:
    place = conversations_location(settings)
    try:
        if isinstance(place, str):
            from ace_graph.server.conversations.postgres import open_postgres

            setting = "ACE_STORE" if settings.conversations is None else "ACE_CONVERSATIONS"
            timeouts = Timeouts(settings.store_timeout)
            return await open_postgres(place, settings.postgres_connections, setting, timeouts)
        from ace_graph.server.conversations.sqlite import open_sqlite

        return await open_sqlite(place)
    except ImportError as error:
        extra = "postgres" if isinstance(place, str) else "server"
        raise ConfigurationError(
            f"conversations are kept by the web backend: {how_to_install(extra)}"
        ) from error


_PAGE = 200
_BUSY: Final = "SELECT count(*) FROM ace_runs WHERE lease_until > ?"

# What belongs to turns, and is written where it is missing.
_BESIDE: Final[Mapping[LiteralString, LiteralString]] = {
    "ace_runs": "thread_id, run_id, learner_id, conversation_id, asked_json, owner, lease_until, tries",
    "ace_unsaved": "turn_id, learner_id, unsaved_json",
    "ace_given_up": "run_id, learner_id, conversation_id, reason, at",
    "ace_replies": "learner_id, idempotency_key, request, at, status, headers_json, body",
}


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


async def copy_conversations(
    source: ConversationDatabase,
    target: ConversationDatabase,
    now: datetime,
    *,
    verify_only: bool = False,
    on_conversation: Callable[[int], None] = lambda _: None,
) -> ConversationsCopied:
    """Copy all conversations and compare each with the source; with `verify_only` compare them alone.

    A conversation is its row and the newest checkpoint of its thread, which has all messages. The row is
    written last, so a copy that was interrupted can be repeated, and shows no conversation without its
    messages. Turns that a stopped server left, and replies that a repeated request gets, come along.

    One that the target has already is brought up to date, unless it was used there since or is another one:
    then it is a problem. `on_conversation` is called with the number of those done. Raises
    ConfigurationError while turns are under way, StoreUnavailable.
    """
    ((busy,),) = await source.execute(_BUSY, (now.timestamp(),))
    if busy:
        raise ConfigurationError(f"turns are under way ({busy}): stop the servers, then copy again")
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
            # Write the checkpoint, then the row
            found = here.checkpoint
            if found is not None:
                place = {"thread_id": str(here.row[2]), "checkpoint_ns": ""}
                if found.parent_config is not None:
                    place["checkpoint_id"] = str(found.parent_config.get("configurable", {})["checkpoint_id"])
                with target.translated():
                    await target.saver.aput(
                        {"configurable": place},
                        found.checkpoint,
                        found.metadata,
                        found.checkpoint["channel_versions"],
                    )
            await target.execute(SQL["PUT_COPIED"], here.row)
            if here.is_like(await _held(target, row)):
                copied += 1
            else:
                unlike = "reads back from the target as something else: copy again"
                problems.append(UnlikeConversation(str(row[0]), str(row[1]), unlike))
        on_conversation(seen)
    for table, columns in () if verify_only else _BESIDE.items():
        values = ", ".join("?" for _ in columns.split(", "))
        write = f"INSERT INTO {table} ({columns}) VALUES ({values}) ON CONFLICT DO NOTHING"  # noqa: S608  as above
        for row in await source.execute(f"SELECT {columns} FROM {table}", ()):  # noqa: S608  as above
            await target.execute(write, row)
    return ConversationsCopied(seen, same, copied, tuple(problems))


def _why_not(here: _Held, there: _Held | None, *, verify_only: bool) -> str | None:
    if there is not None and there.row[2] != here.row[2]:
        return "is another conversation there: delete it there, or choose another target"
    if there is not None and str(there.row[4]) > str(here.row[4]):
        return "was used there since it was copied: keep what is there"
    if verify_only:
        return "is not there: copy again" if there is None else "is older there: copy again"
    return None


async def _rows(database: ConversationDatabase) -> AsyncIterator[Row]:
    page = await database.execute(SQL["COPIED_PAGE"], ("", "", _PAGE))
    while page:
        for row in page:
            yield row
        page = await database.execute(SQL["COPIED_PAGE"], (page[-1][0], page[-1][1], _PAGE))


async def _held(database: ConversationDatabase, row: Row) -> _Held | None:
    found = await database.execute(SQL["COPIED_ROW"], row[:2])
    return _Held(found[0], await _newest(database, found[0])) if found else None


async def _newest(database: ConversationDatabase, row: Row) -> CheckpointTuple | None:
    config: RunnableConfig = {"configurable": {"thread_id": str(row[2]), "checkpoint_ns": ""}}
    with database.translated():
        return await database.saver.aget_tuple(config)
