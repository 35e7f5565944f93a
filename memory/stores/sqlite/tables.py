"""A connection whose statements run on the tables of one namespace."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping

from ace_graph.memory.stores.namespaces import Namespace, of_playbooks

__all__ = ["Tables", "Values"]

Values = Iterable[object] | Mapping[str, object]


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

    def insert(self, table: str, values: Mapping[str, object], after: str = "") -> None:
        """Insert a row, with `ON CONFLICT ...` in `after`."""
        names, places = ", ".join(values), ", ".join("?" for _ in values)
        self.execute(
            f"INSERT INTO {table} ({names}) VALUES ({places}) {after}",  # noqa: S608  names of ours
            tuple(values.values()),
        )

    def _named(self, statement: str) -> str:
        return statement if self.namespace == "learners" else of_playbooks(statement)
