"""What a store is: one load and one commit a turn, and all that is done with what is stored.

Anything with the methods of `Store` is a store. What is stored under a key is stated once, for learners
(`Store`) and for named playbooks (`PlaybookStore`): a named playbook is stored like a learner's memory, in a
namespace of its own, whose keys are ids of playbooks. So everything that holds for a learner's memory
(commits, conflicts, op ids, history, export, forget) holds for a named playbook. The suite in
`ace_graph.testing.conformance` tests whether a store does what is specified here; `sql` (SQLite, in a file or
in memory, and PostgreSQL) and `neo4j` are the stores of this project.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self, runtime_checkable
from uuid import uuid4

from ace_graph.base.errors import ConfigurationError, InvalidContext
from ace_graph.base.retention import Cutoffs
from ace_graph.memory.policy import Policy
from ace_graph.memory.record_retention import START, Cleaned, CleaningPlace
from ace_graph.memory.snapshot import Label, Snapshot
from ace_graph.memory.turn import TurnRecord

if TYPE_CHECKING:
    from ace_graph.memory.bullet import Hides
    from ace_graph.memory.catalogue import Lessons, Loaded, PlaybookEntry, PlaybookRef, Scope, WantedPlaybook
    from ace_graph.memory.commit import Amend, Commit, History, Pending, PendingCounts, PendingItem
    from ace_graph.memory.delta.operations import Delta
    from ace_graph.memory.playbook import Playbook
    from ace_graph.memory.rights import PlaybookAccess, Right
    from ace_graph.memory.sharing import Grant, Proposal, ProposalState, Subject
    from ace_graph.memory.stores.whole import WholeMemory
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


class ContentStore(Protocol):
    """Where the content under a key is read and committed. Safe to call from any event loop and any thread.

    All methods raise StoreUnavailable, StoreAuthError, CorruptPayload or NewerFormat where they apply; a read
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
        self,
        learner_id: str,
        delta: Delta,
        base: Snapshot,
        record: TurnRecord | Amend | None = None,
        pending: Pending | PendingItem | None = None,
    ) -> Commit:
        """Apply `delta` once, and store `record` and `pending` with it, atomically.

        `base` is what the delta was made from. When the stored state is newer, the same delta is
        resolved against it. An `op_id` that was applied before changes nothing and returns its report.
        Cancelling the call may or may not undo it; the op id makes a retry safe. A commit from before the
        moment up to which this learner's keys were removed (see `KeyedStore.clean`) is CommitTooOld:
        it is unknown whether it was applied before.

        `record` may be an Amend: the stored record of that turn is changed. A `Pending` is stored. A
        `PendingItem`, which the caller has claimed, is completed, which deletes it; its `pending_id` is the
        delta's op id. Where the item is missing although its op id was never applied, the learner was
        forgotten: LearnerForgotten. An expired lease does no harm, because the op id is applied once.
        Also raises CommitTooOld, CommitContention, TrajectoryNotFound, and what the Amend raises.
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

    async def versions(self, key: str) -> tuple[StoredVersion, ...]:
        """Return all versions, the oldest first, also those whose content was dropped."""
        ...

    async def content_at(self, key: str, n: int) -> Playbook | None:
        """Return the content of version `n`; None where it is not readable."""
        ...

    async def close(self) -> None:
        """Release connections. Closing twice is fine; calls after it open the store again."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *exc_info: object) -> None: ...


class KeyedStore(ContentStore, Protocol):
    """All that is stored under the keys of one namespace: learners, or named playbooks.

    The caller passes all times, so that tests can choose them; workers on several machines need clocks that
    agree within a few seconds. `forget` also deletes the pending items and the vectors.
    """

    # Pending work, which background learning needs, and the records of turns that it changes.

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

    # Cleaning, and the list of what there is.

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

    # Everything under a key as it is stored, to copy it: see `stores.whole`.

    async def whole(self, key: str) -> WholeMemory | None:
        """Return everything stored under the key, read at one moment; None where there is nothing."""
        ...

    async def put_whole(self, key: str, memory: WholeMemory, held: WholeMemory | None = None) -> bool:
        """Store everything under the key, in place of `held`, in one transaction.

        Returns False and changes nothing where something else than `held` is stored there. Safe to repeat.
        Raises PlaybookExists for a playbook whose owner has another one of that name.
        """
        ...

    # The vectors of bullets, of one embedding model, beside what is remembered. They can be made again, so
    # nothing depends on them: no load and no commit reads or writes any, an export and a copy leave them out.

    async def vectors(self, learner_id: str, model: str) -> Mapping[str, bytes]:
        """Return the rows of this model by content hash; none of any other model."""
        ...

    async def put_vectors(self, learner_id: str, epoch: str | None, change: VectorChange) -> bool:
        """Store and delete rows in one transaction; rows of other models of the learner are deleted.

        Returns False and changes nothing where the learner's state is not of that epoch: the learner was
        forgotten, or nothing is stored yet.
        """
        ...


class Store(KeyedStore, Protocol):
    """Where the memories of learners live, with a namespace of named playbooks, and a table of teams.

    `forget` deletes the learner's playbooks, the grants to the learner, the proposals by the learner and the
    learner's memberships, and takes the learner's name out of grants to others; `export` holds the
    playbooks. Teams are there as long as they have members. All names are compared exactly.
    """

    @property
    def playbooks(self) -> PlaybookStore:
        """The named playbooks."""
        ...

    async def load_attached(
        self, learner_id: str, wanted: Sequence[WantedPlaybook], known: Snapshot | None = None
    ) -> Loaded:
        """Do what `load` does, and read named playbooks with it and their grants, in the same read."""
        ...

    async def teams_of(self, user: str) -> tuple[str, ...]:
        """Return the teams that a user is in, in order."""
        ...

    async def teams(self, limit: int = 100, after: str = "") -> tuple[str, ...]:
        """Return at most `limit` teams in order, after the team `after`."""
        ...

    async def teams_like(self, team: str) -> tuple[str, ...]:
        """Return other teams whose `team_key` is that of this one."""
        ...

    async def members(self, team: str, limit: int = 100, after: str = "") -> tuple[str, ...]:
        """Return at most `limit` members of a team in order, after the member `after`."""
        ...

    async def add_members(self, team: str, members: Collection[str]) -> int:
        """Add members to a team, which begins with its first; return how many were not in it."""
        ...

    async def remove_members(self, team: str, members: Collection[str]) -> int:
        """Remove members of a team; return how many were in it."""
        ...

    async def proposals_by(self, user: str, limit: int = 100, after: str = "") -> tuple[Proposal, ...]:
        """Return at most `limit` proposals that a user made, to any playbook, in the order of their ids.

        They come after the id `after`; nothing else that is stored about the user is read.
        """
        ...


class PlaybookStore(KeyedStore, Protocol):
    """The namespace of named playbooks. Where a method takes a learner's id, it is a playbook's id here.

    No history is compacted by itself: `keep_versions` decides what stays readable. `forget` deletes the
    entry, the grants and the proposals with everything else. A commit to a playbook that was deleted raises
    LearnerForgotten.
    """

    def asked(self, asked: PlaybookAccess) -> PlaybookStore:
        """Return the same playbooks, for what one caller does with one playbook of somebody else.

        Every call on that playbook begins with `asked.check`, in its own transaction, on the entry and the
        grants as they are stored then: reading needs the right to read,
        `put_proposal` to propose, `commit` and `decide` to write, `forget`,
        `export` and all about grants to own. Grants change under the lock of commits, so that no commit
        passes a revocation. A commit is planned under the lock, with `CommitRequest.plan`, which lets the
        caller change only what they see.
        """
        ...

    async def check(self, playbook_id: str, needed: Right) -> None:
        """Do nothing but check a caller who asks. Raises PlaybookNotFound, PlaybookForbidden."""
        ...

    async def create(self, entry: PlaybookEntry, delta: Delta, grants: tuple[Grant, ...] = ()) -> Commit:
        """Store the entry and its grants, and commit `delta`, atomically. All is new, or a repetition.

        Raises PlaybookExists where the owner has a playbook of that name, whoever created it first.
        """
        ...

    async def set_fields(
        self, playbook_id: str, description: str | None, scope: Scope | None, lessons: Lessons | None
    ) -> bool:
        """Store other fields of the entry, under the playbook's lock; False where there is no playbook.

        What is None stays as it is. That makes no version. A caller who asks needs the right to own.
        """
        ...

    async def forget(self, learner_id: str, expected_etag: str | None = None) -> bool:
        """Delete the playbook and all that is stored about it; False when there was none.

        With `expected_etag` it is deleted only with that content, decided under its lock, else
        PlaybookChanged.
        """
        ...

    async def find(self, ref: PlaybookRef) -> PlaybookEntry | None:
        """Return the entry of that owner and name; the name's case and normal form do not matter.

        `default` gives the owner's own memory, once there is one, with `default` as its id.
        """
        ...

    async def entry(self, playbook_id: str) -> PlaybookEntry | None:
        """Return the entry with that id."""
        ...

    async def entries(
        self, owner: str | None, limit: int = 100, after: str = ""
    ) -> tuple[PlaybookEntry, ...]:
        """Return at most `limit` entries of one owner in the order of their name keys, after `after`."""
        ...

    async def owners(self, limit: int = 100, after: str = "") -> tuple[str, ...]:
        """Return at most `limit` learners who own playbooks, in the order of their ids, after `after`."""
        ...

    async def grants(self, playbook_id: str, limit: int = 100, after: str = "") -> tuple[Grant, ...]:
        """Return at most `limit` grants of a playbook in the order of the subjects' texts, after `after`."""
        ...

    async def put_grant(self, grant: Grant) -> None:
        """Store a grant in the place of the one that its subject had, under the playbook's lock.

        Raises PlaybookNotFound for a playbook that is not there.
        """
        ...

    async def drop_grant(self, playbook_id: str, subject: Subject) -> bool:
        """Delete a subject's grant, under the playbook's lock; False where there was none."""
        ...

    async def shared_with(
        self, subjects: Sequence[str], limit: int = 100, after: str = ""
    ) -> tuple[tuple[PlaybookEntry, tuple[Grant, ...]], ...]:
        """Return at most `limit` playbooks with a grant to one of the subjects, and these grants.

        They come in the order of their ids, after the id `after`; subjects are texts such as `user:bob`.
        """
        ...

    async def put_proposal(self, proposal: Proposal) -> None:
        """Store a new proposal. A caller who asks needs the right to propose."""
        ...

    async def proposals(
        self, playbook_id: str, state: ProposalState | None = None, limit: int = 100, after: str = ""
    ) -> tuple[Proposal, ...]:
        """Return at most `limit` proposals for a playbook in the order of their ids, after the id `after`."""
        ...

    async def decide(self, proposal: Proposal, held: ProposalState) -> bool:
        """Store a proposal as it is now, if its stored state is `held`; else return False.

        A caller who asks needs the right to write.
        """
        ...

    async def keep_contents(self, playbook_id: str, base: int, contents: Mapping[int, Playbook]) -> None:
        """Keep the versions from `base` on, and before it only those of `contents`, which has `base` too.

        `contents` are the versions' contents, as `content_at` returned them.
        """
        ...


def missing_methods(store: object, protocol: type = Store) -> tuple[str, ...]:
    """Return what a store lacks of a protocol; a wrapper that hands calls on lacks nothing.

    Learning inline needs no more of a store than load, commit, history, turns, export, forget and close.
    """
    named = (name for kind in protocol.__mro__ for name in vars(kind) if not name.startswith("_"))
    return tuple(sorted(name for name in named if not hasattr(store, name)))


def complete(store: Store, purpose: str = "a store of named playbooks") -> Store:
    """Return the store. Raises ConfigurationError, which names them, where it lacks methods."""
    if missing := missing_methods(store):
        raise ConfigurationError(
            f"{purpose} needs all methods of Store, and {store.name} lacks {', '.join(missing)}: "
            "use SQLite, Neo4j, PostgreSQL or memory, or add them"
        )
    return store


async def commit_turn(
    store: ContentStore,
    learner_id: str,
    delta: Delta,
    base: Snapshot,
    record: TurnRecord | None,
    pending: Pending | None = None,
) -> Commit:
    """Commit a turn, with its pending work where it has some. Raises what the store raises."""
    more = () if pending is None else (pending,)  # a store may take no pending work
    return await store.commit(learner_id, delta, base, record, *more)


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


@runtime_checkable
class _DescribesItself(Protocol):
    async def describe(self) -> str: ...


async def describe(store: ContentStore) -> str:
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
