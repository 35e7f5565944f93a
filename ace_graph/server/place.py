"""Where conversations are kept, by the settings.

Does not: open anything, or need the packages of the server.
"""

from __future__ import annotations

from pathlib import Path

from platformdirs import user_data_path

from ace_graph.errors import ConfigurationError
from ace_graph.settings import Settings

__all__ = ["conversations_place"]

_POSTGRES = ("postgresql://", "postgres://")


def conversations_place(settings: Settings) -> Path | str | None:
    """Return where conversations are kept: a file, the URL of a PostgreSQL, or None for memory.

    What ACE_CONVERSATIONS says; else beside the memory's SQLite file, or in the user's data folder where the
    memory is in Neo4j. Raises ConfigurationError for a URL of another kind.
    """
    said = settings.conversations
    if said is not None:
        if said.startswith(_POSTGRES):
            return said
        path = said.removeprefix("sqlite:///")
        if "://" in path:
            raise ConfigurationError("ACE_CONVERSATIONS: use the path of a file, or postgresql://...")
        return Path(path).expanduser().absolute()
    scheme, _, rest = settings.store_url.partition("://")
    if scheme == "memory":
        return None
    if scheme != "sqlite":
        return user_data_path("ace-graph", appauthor=False) / "conversations.db"
    memory = Path(rest.removeprefix("/")).expanduser().absolute()
    return memory.with_name(f"{memory.stem}-conversations.db")
