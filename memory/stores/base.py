"""What stores are asked for, and give: exports, sizes, versions, vectors."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar, runtime_checkable
from uuid import uuid4

from ace_graph.base.errors import InvalidContext

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from ace_graph.memory.bullet import Hides
    from ace_graph.memory.catalogue import PlaybookEntry
    from ace_graph.memory.commit import History, PendingItem
    from ace_graph.memory.sharing import Grant, Proposal
    from ace_graph.memory.snapshot import Label, Snapshot
    from ace_graph.memory.turn import TurnRecord

T = TypeVar("T")
MAX_LEARNER_ID_CHARS = 256
PAGE = 500
"""How many items of a list are read at once."""
TIMEOUT = 9.0
"""Seconds that a call of a store waits: one that is down is noticed in less than ten."""


@dataclass(frozen=True)
class Timeouts:
    """Seconds that the parts of a call to a server take at most, by how long a read may take."""

    read: float = TIMEOUT

    @property
    def connect(self) -> float:
        """For one connection, for a free one of the pool, and for all retries of a transient error."""
        return self.read / 2

    @property
    def write(self) -> float:
        """Longer, because a writer may wait for the learner's lock."""
        return 2 * self.read

    @property
    def schema(self) -> float:
        """For the tables or constraints of a new database, once: a server that just started needs seconds."""
        return 7 * self.read


@dataclass(frozen=True)
class SharingExport:
    """What is stored about a learner's sharing.

    The teams, the grants to the learner and those on owned playbooks, the proposals that the learner made.
    """

    teams: tuple[str, ...] = ()
    grants: tuple[Grant, ...] = ()
    proposals: tuple[Proposal, ...] = ()


@dataclass(frozen=True)
class LearnerExport:
    """Everything stored about one learner, and the named playbooks that the learner owns."""

    learner_id: str
    snapshot: Snapshot
    history: History
    turns: tuple[TurnRecord, ...]
    pending: tuple[PendingItem, ...] = ()
    playbooks: tuple[PlaybookExport, ...] = ()
    sharing: SharingExport = field(default_factory=SharingExport)


@dataclass(frozen=True)
class PlaybookExport:
    """Everything stored about a named playbook; its id is the `learner_id` of `stored`."""

    entry: PlaybookEntry
    stored: LearnerExport


@dataclass(frozen=True)
class LearnerSummary:
    """One line of the list of learners. `last_turn` is when the newest stored turn ended, or else began."""

    learner_id: str
    version: int
    created_at: datetime
    changed_at: datetime
    last_turn: datetime | None


@dataclass(frozen=True)
class StoreSizes:
    """How much is stored, of all learners; `bytes` is None where the store does not know."""

    learners: int
    turns: int
    deltas: int
    pending: int
    bytes: int | None = None


@dataclass(frozen=True)
class StoredVersion:
    """One version of a playbook; `readable`: its content is still stored."""

    n: int
    label: Label
    at: datetime
    author: str
    reason: str
    op_id: str
    readable: bool = True


@dataclass(frozen=True)
class VectorChange:
    """Vectors of one model by content hash, and the hashes of texts whose vectors are to be deleted.

    A row is a vector as one signed byte a dimension.
    """

    model: str
    rows: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    gone: tuple[str, ...] = ()


class GraphLag(NamedTuple):
    """How many memories or playbooks have changes that the graph does not show, and since when the oldest."""

    number: int
    since: datetime | None


@runtime_checkable
class DrawsGraph(Protocol):
    """A store, or a namespace of playbooks, that shows what it holds as a graph, drawn behind the commits."""

    async def undrawn(self, limit: int = 100) -> tuple[str, ...]:
        """Return at most `limit` keys with changes that the graph does not show, the oldest change first."""
        ...

    async def graph_lag(self) -> GraphLag:
        """Return how far the graph is behind."""
        ...

    async def draw(
        self, key: str, hides: Hides, *, known: Snapshot | None = None, afresh: bool = False
    ) -> int:
        """Draw what is not drawn yet, or with `afresh` everything; return the number of bullets in it.

        It can be stopped anywhere and called at once by many: the graph is that of the newest version in the
        end. `known` saves reading. 0 where nothing is stored, or nothing was left to draw. Raises
        CommitContention where the memory is written all the time.
        """
        ...


def other_schema(held: str, here: str) -> str:
    """Return why a database is refused, and the two commands that move what it holds."""
    return (
        f"it has a schema of another version of ace-graph ({held}, here {here}) and was left as it is: "
        "with that version, run ace-graph playbook export --learner NAME --output FILE; with this one and "
        "a new store, ace-graph playbook import FILE --learner NAME"
    )


async def pages(
    read: Callable[[int, str], Awaitable[Sequence[T]]], place: Callable[[T], str]
) -> AsyncIterator[T]:
    """Yield all that a list of a store has, page by page; `place` is where the page after an item begins."""
    page = await read(PAGE, "")
    while page:
        for item in page:
            yield item
        page = await read(PAGE, place(page[-1]))


def random_token() -> str:
    """Return 32 random hexadecimal digits: an epoch or an etag."""
    return uuid4().hex


def checked_learner_id(learner_id: object) -> str:
    """Return the id. Raises InvalidContext for a wrong type, length, or text that can't be stored."""
    if not isinstance(learner_id, str):
        raise InvalidContext(f"learner_id is a {type(learner_id).__name__}: pass a string")
    if not 1 <= len(learner_id) <= MAX_LEARNER_ID_CHARS:
        raise InvalidContext(f"learner_id has {len(learner_id)} characters: use 1 to {MAX_LEARNER_ID_CHARS}")
    if "\x00" in learner_id or any("\ud800" <= ch <= "\udfff" for ch in learner_id):
        raise InvalidContext("learner_id holds a NUL or a lone surrogate: use text that UTF-8 can encode")
    return learner_id
