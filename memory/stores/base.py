"""The protocols of a store: one load and one commit a turn; pending work; cleaning.

Anything with these methods is a store. The suite in `ace_graph.testing.conformance` tests whether it does
what is specified here; `sql` (SQLite, in a file or in memory, and PostgreSQL) and `neo4j` are
the stores of this project.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, Self, TypeGuard, runtime_checkable
from uuid import uuid4

from ace_graph.base.errors import InvalidContext
from ace_graph.base.retention import Cutoffs
from ace_graph.memory.policy import Policy
from ace_graph.memory.record_retention import START, Cleaned, CleaningPlace
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.turn import TurnRecord

if TYPE_CHECKING:
    from ace_graph.memory.catalogue import PlaybookEntry
    from ace_graph.memory.commit import Amend, Commit, History, Pending, PendingCounts, PendingItem
    from ace_graph.memory.delta.operations import Delta
    from ace_graph.memory.sharing import Grant, Proposal
    from ace_graph.memory.trajectory import TrajectoryFilter

MAX_LEARNER_ID_CHARS = 256
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


@runtime_checkable
class Store(Protocol):
    """Where playbooks live. All methods are safe to call from any event loop and any thread.

    All raise StoreUnavailable, StoreAuthError, CorruptPayload or NewerFormat where they apply; a read
    error never becomes an empty playbook. Learner ids have 1 to 256 characters (else InvalidContext).
    """

    @property
    def name(self) -> str:
        """The name in log lines, e.g. SQLite."""
        ...

    @property
    def policy(self) -> Policy:
        """The limits and thresholds that commits are resolved under."""
        ...

    async def load(self, learner_id: str, known: Snapshot | None = None) -> Snapshot:
        """Return the newest snapshot; an absent learner gives `Snapshot()` and nothing is created.

        With `known`, its playbook is used again when epoch and etag still hold; the access part is
        always the newest.
        """
        ...

    async def commit(
        self, learner_id: str, delta: Delta, base: Snapshot, record: TurnRecord | None = None
    ) -> Commit:
        """Apply `delta` once, and store `record` with it, atomically.

        `base` is what the delta was made from. When the stored state is newer, the same delta is
        resolved against it. An `op_id` that was applied before changes nothing and returns its report.
        Cancelling the call may or may not undo it; the op id makes a retry safe. A commit from before the
        moment up to which this learner's keys were removed (see `CleanableStore.clean`) is CommitTooOld:
        it is unknown whether it was applied before.
        Raises LearnerForgotten, CommitTooOld, CommitContention.
        """
        ...

    async def history(self, learner_id: str) -> History:
        """Return the content changes in order, from the oldest whose effect is kept.

        At least `policy.history_kept` effects are kept, at most twice as many; for `policy.undo_days` after a
        consolidation ten times as many.
        """
        ...

    async def turns(self, learner_id: str, limit: int = 100) -> tuple[TurnRecord, ...]:
        """Return at most `limit` turn records, the newest first."""
        ...

    async def export(self, learner_id: str) -> LearnerExport:
        """Return everything stored about the learner, read at one moment.

        Its history also lists changes whose effect was compacted away (without the effect), and commits
        without a change or a record, unless a cleaning has deleted them.
        """
        ...

    async def forget(self, learner_id: str) -> bool:
        """Delete everything stored about the learner; False when there was nothing.

        A later commit whose base was loaded before this raises LearnerForgotten.
        """
        ...

    async def close(self) -> None:
        """Release connections. Closing twice is fine; calls after it open the store again."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *exc_info: object) -> None: ...


class PendingStore(Store, Protocol):
    """A store with a queue of pending work, which background learning needs. All stores here have one.

    The caller passes all times, so that tests can choose them; workers on several machines need clocks that
    agree within a few seconds. `forget` also deletes the learner's items.
    """

    async def commit(
        self,
        learner_id: str,
        delta: Delta,
        base: Snapshot,
        record: TurnRecord | Amend | None = None,
        pending: Pending | PendingItem | None = None,
    ) -> Commit:
        """Do what `Store.commit` says, and atomically with it, in the same transaction:

        `record` may be an Amend: the stored record of that turn is changed. A `Pending` is stored. A
        `PendingItem`, which the caller has claimed, is completed, which deletes it; its `pending_id` is the
        delta's op id. Where the item is missing although its op id was never applied, the learner was
        forgotten: LearnerForgotten. An expired lease does no harm, because the op id is applied once.
        Also raises TrajectoryNotFound and what the Amend raises.
        """
        ...

    async def amend(self, learner_id: str, amend: Amend) -> TurnRecord | None:
        """Change a turn's record outside of a commit; return the changed record.

        The access clock does not move. Returns None where there is no such turn and `missing_ok` is set.
        Raises TrajectoryNotFound, and what the Amend raises.
        """
        ...

    async def find_turns(
        self, learner_id: str, wanted: TrajectoryFilter, *, limit: int = 100, skip: int = 0
    ) -> tuple[TurnRecord, ...]:
        """Return the turns that match, the newest first: `limit` of them after the first `skip`.

        Every filter uses an index.
        """
        ...

    async def claim(
        self, owner: str, now: datetime, seconds: float, learner_id: str | None = None
    ) -> PendingItem | None:
        """Lease the next item, of all learners or of one, for `seconds`; None when no item can be claimed.

        Only the first item of each learner can be claimed, when it is free at `now` and the learner has no
        leased item. Of these the highest priority comes first, then the oldest. Dead letters block nothing.
        """
        ...

    async def renew(self, item: PendingItem, until: datetime) -> bool:
        """Extend the lease; False when the caller does not hold it any more, or the item is gone."""
        ...

    async def fail(self, item: PendingItem, error: str, retry_at: datetime | None) -> bool:
        """Release the item with the error, to be claimed again from `retry_at` on; None: as a dead letter.

        Its attempts become those of `item`, so that a worker that was stopped can release it uncounted.
        Returns False and changes nothing when the caller does not hold the lease any more.
        """
        ...

    async def retry(self, learner_id: str, pending_id: str, now: datetime) -> bool:
        """Make a dead letter pending again, from `now` on, with 0 attempts; False where there is none."""
        ...

    async def list_pending(
        self, learner_id: str | None = None, *, dead: bool | None = None, limit: int = 100
    ) -> tuple[PendingItem, ...]:
        """Return at most `limit` items in the order of the queue; `dead` selects dead letters or others."""
        ...

    async def count_pending(self) -> PendingCounts:
        """Return how many items there are, of all learners."""
        ...


class CleanableStore(PendingStore, Protocol):
    """A store that can be cleaned, and that lists its learners. All stores here can."""

    async def clean(
        self,
        learner_id: str,
        cutoffs: Cutoffs,
        place: CleaningPlace = START,
        *,
        most: int = 200,
        dry_run: bool = False,
    ) -> Cleaned:
        """Clean one batch in one transaction: read at most `most` rows and delete what is too old.

        `record_retention.fate` decides about turns. Deltas are deleted from the oldest on, as far
        as they are older than `cutoffs.records` and than the history that is kept. The key of a record or
        delta is deleted with it: from then on a commit from before `cutoffs.records` is CommitTooOld. With
        `dry_run` nothing is changed, only counted. Call it with `Cleaned.next` until that is None. Version
        and clock do not move.
        """
        ...

    async def begin_cleaning(self, now: datetime, every: float) -> bool:
        """Return whether the caller should clean all learners now.

        True for one caller, of all processes, in `every` seconds.
        """
        ...

    async def learners(self, limit: int = 100, after: str = "") -> tuple[LearnerSummary, ...]:
        """Return at most `limit` learners in the order of their ids, after the id `after`."""
        ...

    async def sizes(self) -> StoreSizes:
        """Return how much is stored."""
        ...


_CLEANING_METHODS = ("clean", "begin_cleaning", "learners", "sizes")
_PENDING_METHODS = ("amend", "find_turns", "claim", "renew", "fail", "retry", "list_pending", "count_pending")


def keeps_pending(store: Store) -> TypeGuard[PendingStore]:
    """Whether a store has the methods of PendingStore; a wrapper that forwards them counts as one."""
    return all(callable(getattr(store, name, None)) for name in _PENDING_METHODS)


def can_clean(store: Store) -> TypeGuard[CleanableStore]:
    """Whether a store has the methods of CleanableStore."""
    return keeps_pending(store) and all(callable(getattr(store, name, None)) for name in _CLEANING_METHODS)


async def commit_turn(
    store: Store,
    learner_id: str,
    delta: Delta,
    base: Snapshot,
    record: TurnRecord | None,
    pending: Pending | None = None,
) -> Commit:
    """Commit a turn, without its pending work where the store keeps none. Raises what the store raises."""
    if pending is not None and keeps_pending(store):
        return await store.commit(learner_id, delta, base, record, pending)
    return await store.commit(learner_id, delta, base, record)


@runtime_checkable
class _DescribesItself(Protocol):
    async def describe(self) -> str: ...


async def describe(store: Store) -> str:
    """Return one line for people about a store that was used before, its name where it has no more to say.

    Raises what the store raises.
    """
    return await store.describe() if isinstance(store, _DescribesItself) else store.name


def other_schema(held: str, here: str) -> str:
    """Return why a database is refused, and the two commands that move what it holds."""
    return (
        f"it has a schema of another version of ace-graph ({held}, here {here}) and was left as it is: "
        "with that version, run ace-graph playbook export --learner NAME --output FILE; with this one and "
        "a new store, ace-graph playbook import FILE --learner NAME"
    )


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
