"""Rows in an SQL database: the statements, of which a driver runs each on its connection.

A statement is written once, as PostgreSQL spells it, with `?` or `:name` for a value; `spelled` replaces what
a driver spells otherwise. Statements name the tables of learners; in the namespace of playbooks, where
`user_id` holds a playbook's id, the names are replaced.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from ace_graph.memory.stores.backend import KEYS, Namespace, Row, Rows, Where
from ace_graph.memory.stores.sql.state import load_attached, of_playbooks

if TYPE_CHECKING:
    import re

    from ace_graph.memory.catalogue import Loaded, WantedPlaybook
    from ace_graph.memory.snapshot import Snapshot

Values = Sequence[object] | Mapping[str, object]

_NAMES = MappingProxyType(
    {
        "states": "ace_learners",
        "duties": "ace_memory_duties",
        "catalogue": "ace_named_catalogue",
        "members": "ace_team_members",
    }
)


def table_name(table: str) -> str:
    """Return the name of a table in the database."""
    return _NAMES.get(table, f"ace_{table}")


def selection(
    table: str,
    columns: str,
    where: Iterable[Where],
    order: str = "",
    limit: int | None = None,
    skip: int = 0,
    *,
    distinct: bool = False,
) -> tuple[str, list[object]]:
    """Return the statement that selects rows, made of names of ours, and its values."""
    conditions, values = _conditions(where)
    statement = f"SELECT {'DISTINCT ' if distinct else ''}{columns} FROM {table_name(table)}{conditions}"  # noqa: S608
    if order:
        statement += f" ORDER BY {order}"
    if limit is not None:
        statement += " LIMIT ?"
        values.append(limit)
    if skip:
        statement += " OFFSET ?"
        values.append(skip)
    return statement, values


def _conditions(where: Iterable[Where]) -> tuple[str, list[object]]:
    texts, values = list[str](), list[object]()
    for column, sign, value in where:
        if isinstance(value, bool):  # as a partial index has it
            texts.append(column if value else f"NOT {column}")
            continue
        texts.append(
            column + {"in": " = ANY(?)", "not in": " <> ALL(?)", "!=": " <> ?"}.get(sign, f" {sign} ?")
        )
        values.append(value)
    return (f" WHERE {' AND '.join(texts)}" if texts else ""), values


def insertion(table: str, columns: Iterable[str]) -> str:
    """Return the statement that inserts a row with these columns, unless its key is there."""
    names = tuple(columns)
    places = ", ".join("?" for _ in names)
    return f"INSERT INTO {table_name(table)} ({', '.join(names)}) VALUES ({places}) ON CONFLICT DO NOTHING"  # noqa: S608


class Tables(Rows):
    """A connection whose statements run on the tables of one namespace."""

    spelling: ClassVar[Sequence[tuple[re.Pattern[str], str]]]
    """What this driver spells otherwise than the statements do."""

    version: ClassVar[str]
    """An expression for the version of the database."""

    bytes_of_tables: ClassVar[str]
    """An expression for the bytes of the database."""

    named_tables: ClassVar[str]
    """A statement for those of a list of tables that the database has."""

    @abstractmethod
    async def fetch(self, statement: str, values: Values = ()) -> list[Row]:
        """Run a statement and return its rows."""

    @abstractmethod
    async def change(self, statement: str, values: Values = ()) -> int:
        """Run a statement and return how many rows it changed."""

    @abstractmethod
    async def change_each(self, statement: str, values: Iterable[Sequence[object]]) -> int:
        """Run a statement once for each of the values; return how many rows they changed."""

    async def begin_schema(self) -> None:
        """Wait for others who make the tables. Raises StoreError where the database can't hold them."""

    @classmethod
    @cache
    def spell(cls, statement: str, namespace: Namespace) -> str:
        """Return a statement for a namespace, as the driver spells it."""
        text = statement if namespace == "learners" else of_playbooks(statement)
        for found, replacement in cls.spelling:
            text = found.sub(replacement, text)
        return text

    def spelled(self, statement: str) -> str:
        """Return a statement for this namespace, as the driver spells it."""
        return self.spell(statement, self.namespace)

    async def select(
        self,
        table: str,
        columns: str,
        *where: Where,
        order: str = "",
        limit: int | None = None,
        skip: int = 0,
        distinct: bool = False,
    ) -> list[Row]:
        """Return rows; see `Rows.select`."""
        return await self.fetch(*selection(table, columns, where, order, limit, skip, distinct=distinct))

    async def count(self, table: str, *where: Where) -> int:
        """Return how many rows match."""
        ((number,),) = await self.fetch(*selection(table, "count(*)", where))
        return int(number)

    async def add(self, table: str, *rows: Mapping[str, object]) -> int:
        """Store rows with keys that are not there yet; return how many were."""
        return await self._insert(table, rows, "") if rows else 0

    async def put(self, table: str, *rows: Mapping[str, object]) -> None:
        """Store rows, in the place of those with the same keys."""
        if rows:
            key = KEYS[table]
            assigned = ", ".join(f"{name} = excluded.{name}" for name in rows[0] if name not in key)
            await self._insert(table, rows, f" ({', '.join(key)}) DO UPDATE SET {assigned}")

    async def _insert(self, table: str, rows: Sequence[Mapping[str, object]], or_else: str) -> int:
        statement = insertion(table, rows[0])
        if or_else:
            statement = statement.replace(" DO NOTHING", or_else)
        if len(rows) == 1:
            return await self.change(statement, tuple(rows[0].values()))
        return await self.change_each(statement, (tuple(row.values()) for row in rows))

    async def update(self, table: str, values: Mapping[str, object], *where: Where) -> int:
        """Change columns of the rows that match; return how many there were."""
        conditions, compared = _conditions(where)
        assigned = ", ".join(f"{name} = ?" for name in values)
        statement = f"UPDATE {table_name(table)} SET {assigned}{conditions}"  # noqa: S608  names of ours
        return await self.change(statement, (*values.values(), *compared))

    async def delete(self, table: str, *where: Where) -> int:
        """Delete the rows that match; return how many there were."""
        conditions, compared = _conditions(where)
        return await self.change(f"DELETE FROM {table_name(table)}{conditions}", compared)  # noqa: S608

    async def load_at_once(self, key: str, known: Snapshot, wanted: Sequence[WantedPlaybook]) -> Loaded:
        """Return the newest snapshot and named playbooks, read in one statement."""
        return await load_attached(self.fetch, key, known, wanted)

    async def describe(self, name: str) -> str:
        """Return the versions of the database and of the schema."""
        ((version, schema),) = await self.fetch(
            f"SELECT {self.version}, (SELECT max(name) FROM ace_memory_schema)"  # noqa: S608  constants
        )
        return f"{name} {version}, schema {schema}"

    async def size(self) -> int:
        """Return the bytes that the tables of both namespaces take."""
        ((size,),) = await self.fetch(f"SELECT {self.bytes_of_tables}")
        return int(size)
