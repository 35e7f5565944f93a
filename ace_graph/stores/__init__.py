"""Opens the store that a URL or the settings name, and checks at the start of a service that it can be read.

Opening does no I/O; a store connects, or creates its file, at its first call.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from ace_graph.base.errors import ConfigurationError, StoreUnavailable, StoreUrlError, how_to_install
from ace_graph.base.settings import Settings
from ace_graph.memory.policy import DecayRates, Policy, VersionRetention

if TYPE_CHECKING:
    from ace_graph.memory.stores.store import Store

__all__ = [
    "PROBE_LEARNER",
    "check_store",
    "open_store",
    "policy_of",
    "redacted_url",
]

logger = logging.getLogger("ace_graph")
PROBE_LEARNER = "ace-graph readiness probe"
"""A learner that does not exist; reading it creates nothing."""
_NEO4J = ("neo4j", "neo4j+s", "neo4j+ssc", "bolt", "bolt+s", "bolt+ssc")
_POSTGRES = ("postgresql", "postgres")
_FORMS = "sqlite:///ace.db, memory://, neo4j://host:7687 or postgresql://user@host/database"


def open_store(
    url: str | None = None, policy: Policy | None = None, *, settings: Settings | None = None
) -> Store:
    """Return the store at `url`, without I/O; without one, the store that the settings name.

    A policy that is not given, and the login of Neo4j, come from the settings too, and those from the
    environment. Use the store with `async with`, or close it. Raises StoreUrlError, ConfigurationError.
    """
    known = settings or Settings.load()
    limits = policy or policy_of(known)
    address = known.store_url if url is None else url
    scheme, separator, rest = address.partition("://")
    if separator and scheme == "memory" and not rest.strip("/"):
        from ace_graph.memory.stores.sql.sqlite import SQLiteStore

        return SQLiteStore(policy=limits)
    if separator and scheme == "sqlite":
        from ace_graph.memory.stores.sql.sqlite import SQLiteStore

        # Whether no file was configured, so that the folder of the default file is made as well
        return SQLiteStore(
            _path(rest),
            limits,
            make_folder=url is None and (known.store is None and known.memory_file is None),
            lock_timeout=known.store_timeout,
        )
    if separator and scheme in _NEO4J:
        from ace_graph.memory.stores.neo4j.store import Neo4jStore  # importing the driver takes 0.2 s

        password = known.neo4j_password
        return Neo4jStore(
            address,
            username=known.neo4j_username,
            password=None if password is None else password.get_secret_value(),
            database=known.neo4j_database,
            policy=limits,
            timeout=known.store_timeout,
        )
    if separator and scheme in _POSTGRES:
        try:
            from ace_graph.memory.stores.sql.postgres import PostgresStore
        except ImportError as error:
            raise ConfigurationError(
                f"{redacted_url(address)} needs the driver of PostgreSQL: {how_to_install('postgres')}"
            ) from error
        return PostgresStore(
            address,
            limits,
            connections=known.postgres_connections,
            partitions=known.postgres_partitions,
            timeout=known.store_timeout,
        )
    unknown = f"{scheme}:// is not a kind of store" if separator else "a store URL begins with its kind"
    raise StoreUrlError(f"{unknown}: use {_FORMS}")


async def check_store(store: Store) -> None:
    """Read once, so that a service with a permanent error, such as a wrong password, ends at its start.

    A store that can't be reached yet is only logged. Raises StoreError for everything else.
    """
    try:
        await store.load(PROBE_LEARNER)
    except StoreUnavailable as error:
        logger.warning("[ACE Memory] not reachable yet: %s", error)


def policy_of(settings: Settings) -> Policy:
    """Return the limits and thresholds that the settings name."""
    return Policy(
        max_bullets=settings.max_bullets,
        max_instructions=settings.max_instructions,
        similarity=settings.curator_similarity,
        holdout_rate=settings.holdout_rate,
        history_kept=settings.history_kept,
        versions=VersionRetention(
            keep_latest=settings.versions_kept,
            keep_all_major=settings.versions_major,
            keep_days=settings.versions_days,
        ),
        undo_days=settings.undo_days,
        consolidate_above=settings.consolidate_above,
        consolidate_batch=settings.consolidate_batch,
        dream_after=settings.dream_after or None,
        decay=DecayRates(
            semantic=settings.decay_semantic,
            episodic=settings.decay_episodic,
            procedural=settings.decay_procedural,
        ),
    )


def _path(rest: str) -> Path:
    """Return the path of `sqlite:///path` as it is; nothing in it is unquoted."""
    if not rest.startswith("/") or rest.strip("/") in {"", ":memory:"} or rest.endswith("/"):
        raise StoreUrlError("a SQLite URL is sqlite:/// and the path of a file, such as sqlite:///ace.db")
    return Path(rest[1:]).expanduser()


def redacted_url(url: str) -> str:
    """Return a store URL without the user, the password and secrets in its query."""
    from ace_graph.memory.screening.secrets import redact_query

    parts = urlsplit(url)
    if "@" not in parts.netloc and not parts.query:
        return url
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=host, query=redact_query(parts.query)))
