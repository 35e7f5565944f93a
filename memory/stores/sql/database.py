"""What the SQL store needs of a database: a connection with its transactions, and a place for its jobs.

A statement is written once, as PostgreSQL spells it, with `?` or `:name` for a value; `spelled` replaces what
a driver spells otherwise. A job is a coroutine that awaits its statements and nothing else, so that SQLite
can run it to its end inside a thread, without a change of threads per statement.

One database holds two namespaces, the learners and the named playbooks, in tables of their own with the same
columns. Statements name the tables of learners; in the namespace of playbooks, where `user_id` holds a
playbook's id, the names are replaced.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import cache
from typing import Any, ClassVar, Literal, Self, TypeVar

from ace_graph.base.off_loop import Steps
from ace_graph.memory.stores.commit_queue import CommitQueue, CommitRequest, SerializedPlan

T = TypeVar("T")
Namespace = Literal["learners", "playbooks"]
Row = tuple[Any, ...]  # Any: whatever the statement selects
Values = Sequence[object] | Mapping[str, object]

ALL = 2**31
"""A LIMIT that nothing reaches."""

_OF_BOTH = re.compile(r"\bace_(bases|stamps|touches|deltas|turns|pending|vectors|memory_duties)")


@cache
def of_playbooks(statement: str) -> str:
    """Return a statement on the tables of learners as one on those of playbooks."""
    return _OF_BOTH.sub(r"ace_named_\1", statement.replace("ace_learners", "ace_named_states"))


class Tables(ABC):
    """A connection whose statements run on the tables of one namespace."""

    locks_rows: ClassVar[bool]
    """Whether a writer locks rows; else it locks the whole database, which must not wait for a plan."""

    spelling: ClassVar[Sequence[tuple[re.Pattern[str], str]]]
    """What this driver spells otherwise than the statements do."""

    version: ClassVar[str]
    """An expression for the version of the database."""

    size: ClassVar[str]
    """An expression for the bytes of the database."""

    named_tables: ClassVar[str]
    """A statement for those of a list of tables that the database has."""

    def __init__(self, namespace: Namespace) -> None:
        self.namespace: Namespace = namespace

    @abstractmethod
    def of(self, namespace: Namespace) -> Self:
        """Return the same connection, for the tables of a namespace."""

    @abstractmethod
    async def rows(self, statement: str, values: Values = ()) -> list[Row]:
        """Run a statement and return its rows."""

    async def row(self, statement: str, values: Values = ()) -> Row | None:
        """Run a statement and return its first row."""
        rows = await self.rows(statement, values)
        return rows[0] if rows else None

    @abstractmethod
    async def change(self, statement: str, values: Values = ()) -> int:
        """Run a statement and return how many rows it changed."""

    @abstractmethod
    async def change_each(self, statement: str, values: Iterable[Sequence[object]]) -> int:
        """Run a statement once for each of the values; return how many rows they changed."""

    async def insert(self, table: str, columns: Mapping[str, object], after: str = "") -> int:
        """Insert a row, with `ON CONFLICT ...` in `after`; return how many were inserted."""
        return await self.change(insertion(table, columns, after), tuple(columns.values()))

    async def insert_all(self, table: str, rows: Sequence[Mapping[str, object]]) -> None:
        """Insert rows that all have the same columns."""
        if rows:
            await self.change_each(insertion(table, rows[0]), (tuple(row.values()) for row in rows))

    @abstractmethod
    def reading(self) -> AbstractAsyncContextManager[None]:
        """A transaction in which all statements read the same state."""

    @abstractmethod
    def writing(self) -> AbstractAsyncContextManager[None]:
        """A transaction that is committed at the end, and rolled back on an error."""

    @abstractmethod
    async def carry_out(self, steps: Steps[T], whose: str) -> T:
        """Return the result of a learner's work that takes time."""

    async def begin_schema(self) -> None:  # noqa: B027  few have to
        """Wait for others who make the tables. Raises StoreError where the database can't hold them."""

    async def scrub(self) -> None:  # noqa: B027  few can
        """Make deleted rows unreadable, if the database can do that on request."""

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


def insertion(table: str, columns: Iterable[str], after: str = "") -> str:
    """Return the statement that inserts a row with these columns."""
    names = tuple(columns)
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' for _ in names)}) {after}"  # noqa: S608  names of ours


Job = Callable[[Tables], Coroutine[Any, Any, T]]  # Any: asyncio's own
"""Work on a connection, outside of a transaction. It may be repeated."""


class Database(ABC):
    """An open database. Its coroutines run on the portal."""

    name: ClassVar[str]
    locks_rows: ClassVar[bool]
    """As in `Tables`."""

    @abstractmethod
    def queue(self, namespace: Namespace) -> CommitQueue:
        """Return the queue of the commits of this process."""

    @abstractmethod
    async def run(
        self,
        namespace: Namespace,
        job: Job[T],
        *,
        writes: bool = False,
        seconds: float | None = None,
        began: float | None = None,
    ) -> T:
        """Return the result of a job, which takes at most so many `seconds`, or a read's or write's time.

        The time may count from when the caller `began`, on the monotonic clock.
        """

    async def written_at_once(
        self, namespace: Namespace, request: CommitRequest, planned: SerializedPlan
    ) -> bool:
        """Write a commit in a single statement, where that saves time and is possible; whether it was."""
        return False

    @abstractmethod
    async def close(self) -> None:
        """Close the connections when the current calls have ended; the next call opens them again."""
