"""One file holds two namespaces, the learners and the named playbooks, in tables of their own.

The tables have the same columns, so the same statements serve both: statements name the tables of learners,
and in the namespace of playbooks the names are replaced. There the column `user_id` holds a playbook's id.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Literal

__all__ = ["Namespace", "Tables", "of_playbooks"]

Namespace = Literal["learners", "playbooks"]

_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "ace_learners": "ace_named_states",
        "ace_playbooks": "ace_named_contents",
        "ace_bases": "ace_named_bases",
        "ace_deltas": "ace_named_deltas",
        "ace_turns": "ace_named_turns",
        "ace_pending": "ace_named_pending",
        "ace_duties": "ace_named_duties",
    }
)

Values = Iterable[object] | Mapping[str, object]


@cache
def of_playbooks(statement: str) -> str:
    """Return a statement on the tables of learners as one on those of playbooks."""
    for name, other in _NAMES.items():
        statement = statement.replace(name, other)
    return statement


class Tables:
    """A connection whose statements run on the tables of one namespace."""

    def __init__(self, connection: sqlite3.Connection, namespace: Namespace) -> None:
        self.connection = connection
        self.namespace = namespace

    def of(self, namespace: Namespace) -> Tables:
        """Return the same connection, for the tables of a namespace."""
        return Tables(self.connection, namespace)

    def execute(self, statement: str, values: Values = ()) -> sqlite3.Cursor:
        """Run a statement."""
        # The stubs want types that SQLite can store; what is passed here is checked by the columns' readers.
        return self.connection.execute(self._named(statement), values)  # type: ignore[arg-type]

    def executemany(self, statement: str, values: Iterable[Iterable[object]]) -> sqlite3.Cursor:
        """Run a statement for each of several tuples of values."""
        return self.connection.executemany(self._named(statement), values)  # type: ignore[arg-type]  # as above

    def _named(self, statement: str) -> str:
        return statement if self.namespace == "learners" else of_playbooks(statement)
