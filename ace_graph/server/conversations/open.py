"""Opens the conversations at the location that the settings name, for the server and for commands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path

from platformdirs import user_data_path

from ace_graph.errors import ConfigurationError, how_to_install
from ace_graph.memory.stores.base import Timeouts
from ace_graph.server.clock import Clock, SystemClock
from ace_graph.server.conversations.cleaning import ConversationLimits, clean_conversations
from ace_graph.server.conversations.database import Database
from ace_graph.server.conversations.owner import new_owner
from ace_graph.server.conversations.repository import Conversations
from ace_graph.server.conversations.schema import make_schema
from ace_graph.settings import Settings

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
    database = await _open_database(settings)
    try:
        conversations = Conversations(database, clock, new_owner())
        await conversations.set_up()
        yield conversations
    finally:
        await database.close()


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
async def open_database(place: str, settings: Settings, *, exists: bool = False) -> AsyncGenerator[Database]:
    """Yield the database at a place that is given as in ACE_CONVERSATIONS, with its tables.

    Raises ConfigurationError, also where it must exist and is no file; StoreUnavailable.
    """
    named = settings.model_copy(update={"conversations": place})
    if exists and not _exist(named):
        raise ConfigurationError(f"there is no file {conversations_location(named)}: check the path")
    database = await _open_database(named)
    try:
        await make_schema(database, SystemClock().now().isoformat())
        yield database
    finally:
        await database.close()


def _exist(settings: Settings) -> bool:
    location = conversations_location(settings)
    return location.exists() if isinstance(location, Path) else location is not None


async def _open_database(settings: Settings) -> Database:
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
