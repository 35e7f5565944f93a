"""How texts are stored in PostgreSQL, which refuses U+0000 in them: with two characters for it.

U+0000 becomes U+001A and "0", U+001A becomes U+001A and "1". Two texts are never stored alike, so keys stay
exact. JSON text holds neither character, so it is stored as it is.
"""

from __future__ import annotations

from psycopg import AsyncConnection
from psycopg.abc import Buffer
from psycopg.types.string import StrDumper, StrDumperUnknown, TextLoader

__all__ = ["register_texts", "restored_text", "stored_text"]

_ESCAPE = "\x1a"


def stored_text(text: str) -> str:
    """Return a text without U+0000 that no other text becomes."""
    if "\x00" not in text and _ESCAPE not in text:
        return text
    return text.replace(_ESCAPE, f"{_ESCAPE}1").replace("\x00", f"{_ESCAPE}0")


def restored_text(stored: str) -> str:
    """Return the text that `stored_text` was given."""
    if _ESCAPE not in stored:
        return stored
    return stored.replace(f"{_ESCAPE}0", "\x00").replace(f"{_ESCAPE}1", _ESCAPE)


class _Stored(StrDumper):
    def dump(self, obj: str) -> Buffer | None:
        return super().dump(stored_text(obj))


class _StoredUnknown(StrDumperUnknown):
    def dump(self, obj: str) -> Buffer | None:
        return super().dump(stored_text(obj))


class _Restored(TextLoader):
    def load(self, data: Buffer) -> bytes | str:
        found = super().load(data)
        return restored_text(found) if isinstance(found, str) else found


def register_texts(connection: AsyncConnection) -> None:
    """Make a connection store and read texts so."""
    connection.adapters.register_dumper(str, _Stored)
    connection.adapters.register_dumper(str, _StoredUnknown)
    connection.adapters.register_loader("text", _Restored)
