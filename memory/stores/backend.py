"""The port of a store: what a database has to do, so that `Store(backend)` can do all the rest.

A backend runs jobs. A job gets `Rows`: tables of plain values, which are read and written by simple
conditions, in transactions, under the lock of a key. Everything that a store decides is decided above this,
once for all databases. What is marked as a saving is done there too, of the same primitives; a backend takes
it over where its database needs fewer round trips for it.

One database holds two namespaces, the learners and the named playbooks, in tables of their own with the same
columns; in the namespace of playbooks `user_id` holds a playbook's id. The tables `SHARED` are the same ones
in both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self, TypeVar, cast

from ace_graph.base.off_loop import Steps, finish
from ace_graph.base.portal import Portal, portal
from ace_graph.memory import stores
from ace_graph.memory.stores.snapshot_and_log import StateHead

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from ace_graph.memory.catalogue import Loaded, WantedPlaybook
    from ace_graph.memory.delta.effect import Report
    from ace_graph.memory.snapshot import Snapshot
    from ace_graph.memory.stores.commit_queue import CommitQueue, CommitRequest, SerializedPlan

T = TypeVar("T")
Namespace = Literal["learners", "playbooks"]


class StoredChange(NamedTuple):
    """What this process has stored under a key, without its content.

    `id` is the op id of the commit, or the proposal's; `turn_id` names the turn whose pending item is done.
    """

    kind: Literal["version.created", "proposal.created", "learning.done"]
    namespace: Namespace
    key: str
    id: str
    version: int | None = None
    turn_id: str | None = None


Row = tuple[Any, ...]  # Any: whatever the columns hold
Where = tuple[str, Literal["=", "!=", "<", "<=", ">", ">=", "in", "not in"], object]
"""A condition on a column. Where the column holds None, no condition holds but `= False`."""

KEYS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "states": ("user_id",),
        "bases": ("user_id", "version"),
        "stamps": ("user_id",),
        "touches": ("user_id", "clock"),
        "deltas": ("user_id", "op_id"),
        "turns": ("user_id", "op_id"),
        "pending": ("user_id", "pending_id"),
        "vectors": ("user_id", "model", "name"),
        "duties": ("name",),
        "catalogue": ("owner", "name_key"),
        "grants": ("playbook_id", "subject"),
        "proposals": ("playbook_id", "proposal_id"),
        "members": ("team_id", "member"),
    }
)
"""The tables, and the columns in which no two rows of one are the same."""
OF_A_KEY = tuple(table for table, columns in KEYS.items() if columns[0] == "user_id")
"""The tables with a row, or rows, for each learner, or playbook."""
SHARED = ("catalogue", "grants", "proposals", "members")


class Locked(NamedTuple):
    """A state that is locked: its small part, the number of its latest commit, and, where they were read
    with it, the report of the operation that was asked for, and the state itself.
    """

    head: StateHead = StateHead()
    seq: int = 0
    repeated: Report | None = None
    snapshot: Snapshot | None = None


class Rows(ABC):
    """A connection to the tables, seen from one namespace."""

    locks_rows: ClassVar[bool] = False
    """Whether a writer locks the rows of a key; else it locks the whole database, which must not wait."""

    def __init__(self, namespace: Namespace) -> None:
        self.namespace: Namespace = namespace

    @abstractmethod
    def of(self, namespace: Namespace) -> Self:
        """Return the same connection, seen from a namespace."""

    @abstractmethod
    def reading(self, key: str | None = None) -> AbstractAsyncContextManager[None]:
        """A transaction in which everything under the key, or everything, is read as it is at one moment."""

    @abstractmethod
    def writing(self) -> AbstractAsyncContextManager[None]:
        """A transaction that is committed at the end, and rolled back on an error."""

    @abstractmethod
    async def lock(self, key: str, *, wait: bool = True) -> bool:
        """Lock all under a key until the transaction ends; False where, without `wait`, it is locked now.

        What is read after it was committed before it. What holds the lock of a key that is absent is open.
        """

    @abstractmethod
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
        """Return these columns of the rows that match, in the order of others, such as `priority DESC, seq`.

        At most `limit` after the first `skip`, with `distinct` no two that are the same.
        """

    @abstractmethod
    async def count(self, table: str, *where: Where) -> int:
        """Return how many rows match."""

    @abstractmethod
    async def add(self, table: str, *rows: Mapping[str, object]) -> int:
        """Store rows with keys that are not there yet, all with the same columns; return how many were.

        Columns that are left out are None.
        """

    @abstractmethod
    async def put(self, table: str, *rows: Mapping[str, object]) -> None:
        """Store rows, in the place of those with the same keys."""

    @abstractmethod
    async def update(self, table: str, values: Mapping[str, object], *where: Where) -> int:
        """Change columns of the rows that match; return how many there were."""

    @abstractmethod
    async def delete(self, table: str, *where: Where) -> int:
        """Delete the rows that match; return how many there were."""

    async def row(self, table: str, columns: str, *where: Where, order: str = "") -> Row | None:
        """Return the columns of the first row that matches."""
        rows = await self.select(table, columns, *where, order=order, limit=1)
        return rows[0] if rows else None

    async def carry_out(self, steps: Steps[T], whose: str) -> T:
        """Return the result of a learner's work that takes time."""
        return finish(steps)

    async def scrub(self) -> None:  # noqa: B027  few can
        """Make deleted rows unreadable, if the database can do that on request."""

    async def describe(self, name: str) -> str:
        """Return the database's name with its version, and the schema's, where there are any."""
        return name

    async def size(self) -> int | None:
        """Return the bytes that the tables of both namespaces take, where the database knows."""
        return None

    # What a database may do in fewer round trips. Where it can't, None or False is returned and nothing done:
    # then it is done of the primitives.

    async def load_at_once(
        self, key: str, known: Snapshot, wanted: Sequence[WantedPlaybook]
    ) -> Loaded | None:
        """Return the newest snapshot and named playbooks, of which only what is newer is read."""
        return None

    async def lock_at_once(self, key: str, op_id: str, known: Snapshot) -> Locked | None:
        """Lock a key and return its state."""
        return None

    async def write_at_once(self, key: str, serialized: SerializedPlan, locked: Locked) -> bool:
        """Write a plan onto a state that is locked."""
        return False

    async def last_turns_at_once(self, keys: Sequence[str]) -> Mapping[str, str | None] | None:
        """Return when the newest turn of each of these learners ended, or else began."""
        return None


Job = Callable[[Rows], Coroutine[Any, Any, T]]  # Any: asyncio's own
"""Work on a connection, outside of a transaction, which may be repeated. It awaits what `Rows` has and
nothing else, so that it can be run to its end inside a thread, or a lock: see `result_of`.
"""


def result_of(work: Coroutine[Any, Any, T]) -> T:  # Any: asyncio's own
    """Return what a coroutine returns that waits for nothing: its statements run within the call."""
    try:
        work.send(None)
    except StopIteration as end:
        return cast("T", end.value)
    work.close()
    raise TypeError("a job awaits its statements and nothing else")


class Backend(ABC):
    """An open database. Its coroutines run on the portal, but for `run` where that may run `anywhere`."""

    name: ClassVar[str]
    """The name in log lines, e.g. SQLite."""

    locks_rows: ClassVar[bool] = False
    """As in `Rows`."""

    listeners: tuple[Callable[[StoredChange], None], ...] = ()
    """Told what was stored, on the loop that stored it; they neither wait nor raise."""

    anywhere: ClassVar[bool] = False
    """Whether `run` may be called on any event loop, which saves the way to the portal and back."""

    def __init__(self) -> None:
        self._queues: tuple[Portal, Mapping[Namespace, CommitQueue]] | None = None

    def queue(self, namespace: Namespace) -> CommitQueue:
        """Return the queue of the commits of this process."""
        here = portal()
        if self._queues is None or self._queues[0] is not here:
            self._queues = here, {"learners": stores.CommitQueue(), "playbooks": stores.CommitQueue()}
        return self._queues[1][namespace]

    def tell(self, change: StoredChange) -> None:
        for listener in self.listeners:
            listener(change)

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

    async def commit_at_once(
        self, namespace: Namespace, request: CommitRequest, planned: SerializedPlan
    ) -> bool:
        """Write a commit in a single statement, where that is possible; whether it was."""
        return False

    @abstractmethod
    async def close(self) -> None:
        """Close the connections when the current calls have ended; the next call opens them again."""
