"""The store: learners and named playbooks over a backend, with everything that is decided about them.

    store = Store(backend)            # `open_store(url)` chooses a backend

A turn is one load and one commit. What is stored under a key is stated once, for learners and for named
playbooks: a named playbook is stored like a learner's memory, in a namespace of its own, whose keys are ids
of playbooks. So everything that holds for a learner's memory (commits, conflicts, op ids, history, export,
forget) holds for a named playbook. The suite in `ace_graph.testing.conformance` tests a backend of your own.
"""

from __future__ import annotations

import time
from copy import copy
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from ace_graph.base.errors import ConfigurationError
from ace_graph.base.portal import portal
from ace_graph.memory import stores
from ace_graph.memory.commit import Amend, Commit, History, NewToken, Pending, PendingCounts, PendingItem
from ace_graph.memory.policy import Policy
from ace_graph.memory.record_retention import START, Cleaned, CleaningPlace
from ace_graph.memory.rights import PlaybookAccess, Right, not_yours
from ace_graph.memory.sharing import Grant, Proposal, ProposalState, Subject, team_key
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores import catalogue
from ace_graph.memory.stores.backend import Backend, Job, Namespace, Rows, StoredChange, Where
from ace_graph.memory.stores.base import (
    LearnerExport,
    LearnerSummary,
    StoredVersion,
    StoreSizes,
    VectorChange,
    checked_learner_id,
    random_token,
)
from ace_graph.memory.stores.catalogue import on
from ace_graph.memory.stores.records import moment
from ace_graph.memory.stores.states import load, of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ace_graph.base.retention import Cutoffs
    from ace_graph.memory.catalogue import Lessons, Loaded, PlaybookEntry, PlaybookRef, Scope, WantedPlaybook
    from ace_graph.memory.delta.operations import Delta
    from ace_graph.memory.playbook import Playbook
    from ace_graph.memory.stores.whole import WholeMemory
    from ace_graph.memory.trajectory import TrajectoryFilter
    from ace_graph.memory.turn import TurnRecord

T = TypeVar("T")
COPY_SECONDS = 600.0
"""How long reading or writing one memory whole may take on a server."""


class ContentStore(Protocol):
    """Where the content under a key is read and committed: a namespace, or what one caller sees of it."""

    @property
    def name(self) -> str: ...
    @property
    def policy(self) -> Policy: ...
    async def load(self, learner_id: str, known: Snapshot | None = None) -> Snapshot: ...
    async def commit(self, learner_id: str, delta: Delta, base: Snapshot) -> Commit: ...
    async def history(self, learner_id: str) -> History: ...
    async def versions(self, key: str) -> tuple[StoredVersion, ...]: ...
    async def content_at(self, key: str, n: int) -> Playbook | None: ...


class KeyedStore:
    """All that is stored under the keys of one namespace: learners, or named playbooks.

    Safe to call from any event loop and any thread. All methods raise StoreUnavailable, StoreAuthError,
    CorruptPayload or NewerFormat where they apply; a read error never becomes an empty playbook. Learner ids
    have 1 to 256 characters (else InvalidContext). The caller passes all times, so that tests can choose
    them; workers on several machines need clocks that agree within a few seconds.
    """

    namespace: Namespace = "learners"

    def __init__(
        self, backend: Backend, policy: Policy | None = None, *, new_token: NewToken = random_token
    ) -> None:
        """`policy` has the limits and thresholds that commits are resolved under."""
        self.backend = backend
        self.policy = policy or Policy()
        self._new_token = new_token
        self._asked: PlaybookAccess | None = None

    @property
    def name(self) -> str:
        """The name in log lines, e.g. SQLite."""
        return self.backend.name

    async def load(self, learner_id: str, known: Snapshot | None = None) -> Snapshot:
        """Return the newest snapshot; an absent learner gives `Snapshot()` and nothing is created.

        With `known`, its playbook is used again when epoch and etag still hold; the access part is
        always the newest.
        """
        return (await self._load(learner_id, known or Snapshot(), ())).snapshot

    async def _load(self, learner_id: str, known: Snapshot, wanted: Sequence[WantedPlaybook]) -> Loaded:
        key = checked_learner_id(learner_id)

        async def read(rows: Rows) -> Loaded:
            found = await rows.load_at_once(key, known, wanted)
            if found is not None:
                return found
            async with rows.reading(key):
                return await load(rows, key, known, wanted)

        if self._asked is not None:
            return await self._read(lambda rows: load(rows, key, known, wanted), key)
        return await self._run(read)

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
        moment up to which this learner's keys were removed (see `clean`) is CommitTooOld: it is unknown
        whether it was applied before.

        `record` may be an Amend: the stored record of that turn is changed. A `Pending` is stored. A
        `PendingItem`, which the caller has claimed, is completed, which deletes it; its `pending_id` is the
        delta's op id. Where the item is missing although its op id was never applied, the learner was
        forgotten: LearnerForgotten. An expired lease does no harm, because the op id is applied once.
        Also raises CommitTooOld, CommitContention, TrajectoryNotFound, and what the Amend raises.
        """
        key, policy, new_token = checked_learner_id(learner_id), self.policy, self._new_token
        return await self._commit_to_end(
            stores.CommitRequest(key, delta, base, record, pending, policy, new_token, asked=self._asked)
        )

    async def _commit_to_end(self, request: stores.CommitRequest) -> Commit:
        """Carry a commit out to its end, even where the caller is cancelled."""
        return await portal().run(self._commit(request), shielded=True)

    async def _commit(self, request: stores.CommitRequest) -> Commit:
        began = time.monotonic()
        async with self.backend.queue(self.namespace).slot(request.learner, request.base) as slot:
            commit = await self._commit_from(slot.base, request, began)
            slot.result = commit.snapshot
        if commit.status == "applied":
            key, op_id, n = request.learner, request.delta.op_id, commit.version.n
            if commit.changed:
                self.backend.tell(StoredChange("version.created", self.namespace, key, op_id, n))
            if isinstance(request.pending, PendingItem):
                turn = request.pending.turn_id
                self.backend.tell(StoredChange("learning.done", self.namespace, key, op_id, n, turn))
        return commit

    async def _commit_from(self, start: Snapshot, request: stores.CommitRequest, began: float) -> Commit:
        return await stores.commit_once(self.backend, self.namespace, start, request, began)

    async def history(self, learner_id: str) -> History:
        """Return the content changes in order, from the oldest whose effect is kept.

        At least `policy.history_kept` effects are kept, at most twice as many; for `policy.undo_days` after a
        consolidation ten times as many.
        """
        key = checked_learner_id(learner_id)
        return await self._read(lambda rows: stores.history.read_history(rows, key), key)

    async def turns(self, learner_id: str, limit: int = 100) -> tuple[TurnRecord, ...]:
        """Return at most `limit` turn records, the newest first."""
        where = stores.history.turns_wanted(checked_learner_id(learner_id))
        return await self._statement(
            lambda rows: stores.history.find_turns(rows, *where, limit=max(0, limit))
        )

    async def export(self, learner_id: str) -> LearnerExport:
        """Return everything stored about the learner, read at one moment.

        Its history also lists changes whose effect was compacted away (without the effect), and commits
        without a change or a record, unless a cleaning has deleted them. Nobody gets it
        of somebody else's playbook: PlaybookForbidden.
        """
        key = checked_learner_id(learner_id)
        if self._asked is not None:
            await self.load(key)
            raise not_yours(self._asked.name)
        return await self._read(lambda rows: stores.export.read_export(rows, key), key, Right.OWN)

    async def forget(self, learner_id: str, expected_etag: str | None = None) -> bool:
        """Delete everything stored about the learner, or the playbook; False when there was nothing.

        A later commit whose base was loaded before this raises LearnerForgotten. With `expected_etag` a
        playbook is deleted only with that content, decided under its lock, else PlaybookChanged.
        """
        key = checked_learner_id(learner_id)

        async def forget(rows: Rows) -> bool:
            async with rows.writing():
                await self._lock(rows, key, Right.OWN)
                found = await stores.export.delete_all(rows, key, expected_etag)
            await rows.scrub()
            return found

        return await self._run(forget, writes=True)

    async def versions(self, key: str) -> tuple[StoredVersion, ...]:
        """Return all versions, the oldest first, also those whose content was dropped."""
        return await self._read(lambda rows: stores.history.read_versions(rows, key), key)

    async def commits_by(
        self, key: str, author: str, since: datetime
    ) -> tuple[tuple[str, str, datetime], ...]:
        """Return op id, source and time of an author's commits from a moment on, but for turns."""
        later: Where = ("at", ">=", since.astimezone(UTC).isoformat())
        by: Where = ("author", "=", author)

        async def read(rows: Rows) -> tuple[tuple[str, str, datetime], ...]:
            found = await rows.select("deltas", "op_id, source, at", of(key), later, by, order="seq")
            return tuple((op_id, source, moment(at)) for op_id, source, at in found)

        return await self._read(read, checked_learner_id(key))

    async def content_at(self, key: str, n: int) -> Playbook | None:
        """Return the content of version `n`; None where it is not readable."""
        return await self._read(lambda rows: stores.history.read_content_at(rows, key, n), key)

    # Pending work, which background learning needs, and the records of turns that it changes.

    async def amend(self, learner_id: str, amend: Amend) -> TurnRecord | None:
        """Change a turn's record outside of a commit; return the changed record.

        The access clock does not move. Returns None where there is no such turn and `missing_ok` is set.
        Raises TrajectoryNotFound, and what the Amend raises.
        """
        key = checked_learner_id(learner_id)
        return await self._locked(key, lambda rows: stores.history.amend_turn(rows, key, amend))

    async def find_turns(
        self, learner_id: str, wanted: TrajectoryFilter, *, limit: int = 100, skip: int = 0
    ) -> tuple[TurnRecord, ...]:
        """Return the turns that match, the newest first: `limit` of them after the first `skip`.

        Every filter uses an index.
        """
        where, most = stores.history.turns_wanted(checked_learner_id(learner_id), wanted), max(0, limit)
        return await self._statement(
            lambda rows: stores.history.find_turns(rows, *where, limit=most, skip=max(0, skip))
        )

    async def claim(
        self, owner: str, now: datetime, seconds: float, learner_id: str | None = None
    ) -> PendingItem | None:
        """Lease the next item, of all learners or of one, for `seconds`; None when no item can be claimed.

        Only the first item of each learner can be claimed, when it is free at `now` and the learner has no
        leased item. Of these the highest priority comes first, then the oldest. Dead letters block nothing.
        """
        token = self._new_token()
        return await self._run(
            lambda rows: stores.pending.claim_next(rows, owner, now, seconds, learner_id, token), writes=True
        )

    async def renew(self, item: PendingItem, until: datetime) -> bool:
        """Extend the lease; False when the caller does not hold it any more, or the item is gone."""
        return await self._locked(item.learner_id, lambda rows: stores.pending.renew(rows, item, until))

    async def fail(self, item: PendingItem, error: str, retry_at: datetime | None) -> bool:
        """Release the item with the error, to be claimed again from `retry_at` on; None: as a dead letter.

        Its attempts become those of `item`, so that a worker that was stopped can release it uncounted.
        Returns False and changes nothing when the caller does not hold the lease any more.
        """
        return await self._locked(
            item.learner_id, lambda rows: stores.pending.release(rows, item, error, retry_at)
        )

    async def retry(self, learner_id: str, pending_id: str, now: datetime) -> bool:
        """Make a dead letter pending again, from `now` on, with 0 attempts; False where there is none."""
        key = checked_learner_id(learner_id)
        return await self._locked(key, lambda rows: stores.pending.revive(rows, key, pending_id, now))

    async def list_pending(
        self, learner_id: str | None = None, *, dead: bool | None = None, limit: int = 100
    ) -> tuple[PendingItem, ...]:
        """Return at most `limit` items in the order of the queue; `dead` selects dead letters or others."""
        return await self._statement(
            lambda rows: stores.pending.read_items(rows, learner_id, dead, max(0, limit))
        )

    async def count_pending(self) -> PendingCounts:
        """Return how many items there are, of all learners."""

        async def count(rows: Rows) -> PendingCounts:
            waiting = await rows.count("pending", stores.pending.WAITS)
            return PendingCounts(waiting, await rows.count("pending", stores.pending.DEAD))

        return await self._statement(count)

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
        batch = stores.cleaning.Batch(checked_learner_id(learner_id), cutoffs, place, max(1, most), dry_run)
        return await self._run(lambda rows: stores.cleaning.clean_batch(rows, batch), writes=not dry_run)

    async def begin_cleaning(self, now: datetime, every: float) -> bool:
        """Return whether the caller should clean all learners now.

        True for one caller, of all processes, in `every` seconds. A clock set back blocks no cleaning.
        """
        at = now.timestamp()
        others: tuple[Where, Where] = (("began_at", "<=", at - every), ("began_at", ">=", at + every))

        async def begin(rows: Rows) -> bool:
            async with rows.writing():
                if await rows.add("duties", {"name": "cleaning", "began_at": at}):
                    return True
                named: Where = ("name", "=", "cleaning")
                return any([await rows.update("duties", {"began_at": at}, named, other) for other in others])

        return await self._run(begin, writes=True)

    async def learners(self, limit: int = 100, after: str = "") -> tuple[LearnerSummary, ...]:
        """Return at most `limit` learners in the order of their ids, after the id `after`."""
        return await self._statement(lambda rows: stores.history.list_learners(rows, max(0, limit), after))

    async def sizes(self) -> StoreSizes:
        """Return how much is stored."""

        async def count(rows: Rows) -> StoreSizes:
            numbers = [await rows.count(table) for table in ("states", "turns", "deltas", "pending")]
            learners, turns, deltas, waiting = numbers
            return StoreSizes(learners, turns, deltas, waiting, await rows.of("learners").size())

        return await self._statement(count)

    # Everything under a key as it is stored, to copy it: see `stores.whole`.

    async def whole(self, key: str) -> WholeMemory | None:
        """Return everything stored under the key, read at one moment; None where there is nothing."""
        learner = checked_learner_id(key)
        return await self._read(
            lambda rows: stores.export.read_whole(rows, learner), learner, seconds=COPY_SECONDS
        )

    async def put_whole(self, key: str, memory: WholeMemory, held: WholeMemory | None = None) -> bool:
        """Store everything under the key, in place of `held`, in one transaction.

        Returns False and changes nothing where something else than `held` is stored there. Safe to repeat.
        Raises PlaybookExists for a playbook whose owner has another one of that name.
        """
        learner = checked_learner_id(key)
        return await self._locked(
            learner, lambda rows: stores.export.put_whole(rows, learner, memory, held), seconds=COPY_SECONDS
        )

    # The vectors of bullets, of one embedding model, beside what is remembered. They can be made again, so
    # nothing depends on them: no load and no commit reads or writes any, an export and a copy leave them out.

    async def vectors(self, learner_id: str, model: str) -> Mapping[str, bytes]:
        """Return the rows of this model by content hash; none of any other model."""
        where: tuple[Where, ...] = (of(checked_learner_id(learner_id)), ("model", "=", model))
        found = await self._statement(lambda rows: rows.select("vectors", "name, vector", *where))
        return {name: bytes(vector) for name, vector in found}

    async def put_vectors(self, learner_id: str, epoch: str | None, change: VectorChange) -> bool:
        """Store and delete rows in one transaction; rows of other models of the learner are deleted.

        Returns False and changes nothing where the learner's state is not of that epoch: the learner was
        forgotten, or nothing is stored yet.
        """
        key = checked_learner_id(learner_id)
        return await self._locked(key, lambda rows: stores.history.put_vectors(rows, key, epoch, change))

    async def close(self) -> None:
        """Release connections. Closing twice is fine; calls after it open the store again."""
        await portal().run(self.backend.close(), shielded=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def _statement(self, job: Job[T]) -> T:
        """Run a job of statements that need no transaction; a caller who asks needs the right to read."""
        return await (self._run(job) if self._asked is None else self._read(job, self._asked.playbook_id))

    async def _read(
        self, job: Job[T], key: str | None, needed: Right = Right.READ, seconds: float | None = None
    ) -> T:
        """Run a job that reads all under a key at one moment, the caller's right included."""

        async def read(rows: Rows) -> T:
            async with rows.reading(key):
                if self._asked is not None:
                    await catalogue.check_right(rows, self._asked, needed)
                return await job(rows)

        return await self._run(read, seconds=seconds)

    async def _locked(
        self, key: str, job: Job[T], needed: Right = Right.WRITE, seconds: float | None = None
    ) -> T:
        """Run a job in a transaction that holds the lock of a key; a caller who asks needs the right."""

        async def locked(rows: Rows) -> T:
            async with rows.writing():
                await self._lock(rows, key, needed)
                return await job(rows)

        return await self._run(locked, writes=True, seconds=seconds)

    async def _lock(self, rows: Rows, key: str, needed: Right) -> None:
        await rows.lock(key)
        if self._asked is not None:
            await catalogue.check_right(rows, self._asked, needed)

    async def _run(self, job: Job[T], *, writes: bool = False, seconds: float | None = None) -> T:
        running = self.backend.run(self.namespace, job, writes=writes, seconds=seconds)
        if self.backend.anywhere and not writes:
            return await running
        return await portal().run(running, shielded=writes)


class Store(KeyedStore):
    """Where the memories of learners live, with a namespace of named playbooks, and a table of teams.

    `forget` deletes the learner's playbooks, the grants to the learner, the proposals by the learner and the
    learner's memberships, and takes the learner's name out of grants to others; `export` holds the
    playbooks. Teams are there as long as they have members. All names are compared exactly.
    """

    @property
    def playbooks(self) -> PlaybookStore:
        """The named playbooks."""
        return PlaybookStore(self.backend, self.policy.of_playbooks(), new_token=self._new_token)

    async def load_attached(
        self, learner_id: str, wanted: Sequence[WantedPlaybook], known: Snapshot | None = None
    ) -> Loaded:
        """Do what `load` does, and read named playbooks with it and their grants, in the same read."""
        return await self._load(learner_id, known or Snapshot(), wanted)

    async def teams_of(self, user: str) -> tuple[str, ...]:
        """Return the teams that a user is in, in order."""
        return await self._names("members", "team_id", ("member", "=", user))

    async def teams(self, limit: int = 100, after: str = "") -> tuple[str, ...]:
        """Return at most `limit` teams in order, after the team `after`."""
        return await self._names("members", "team_id", ("team_id", ">", after), limit=limit)

    async def teams_like(self, team: str) -> tuple[str, ...]:
        """Return other teams whose `team_key` is that of this one."""
        alike: Where = ("team_key", "=", team_key(team))
        return await self._names("members", "team_id", alike, ("team_id", "!=", team))

    async def members(self, team: str, limit: int = 100, after: str = "") -> tuple[str, ...]:
        """Return at most `limit` members of a team in order, after the member `after`."""
        of_team: Where = ("team_id", "=", team)
        return await self._names("members", "member", of_team, ("member", ">", after), limit=limit)

    async def add_members(self, team: str, members: Collection[str]) -> int:
        """Add members to a team, which begins with its first; return how many were not in it."""
        key = team_key(team)
        added = [{"team_id": team, "member": name, "team_key": key} for name in sorted(set(members))]
        return await self._write(lambda rows: rows.add("members", *added))

    async def remove_members(self, team: str, members: Collection[str]) -> int:
        """Remove members of a team; return how many were in it."""
        where: tuple[Where, ...] = (("team_id", "=", team), ("member", "in", list(members)))
        return await self._write(lambda rows: rows.delete("members", *where))

    async def proposals_by(self, user: str, limit: int = 100, after: str = "") -> tuple[Proposal, ...]:
        """Return at most `limit` proposals that a user made, to any playbook, in the order of their ids.

        They come after the id `after`; nothing else that is stored about the user is read.
        """
        by: Where = ("proposer", "=", user)
        return await self._statement(
            lambda rows: catalogue.list_proposals(rows, by, limit=max(0, limit), after=after)
        )

    async def describe(self) -> str:
        """Return one line for people about the store: the database, and the number of learners."""

        async def read(rows: Rows) -> str:
            return f"{await rows.describe(self.name)}, learners: {await rows.count('states')}"

        return await self._statement(read)

    async def _names(
        self, table: str, column: str, *where: Where, limit: int | None = None
    ) -> tuple[str, ...]:
        most = None if limit is None else max(0, limit)
        return await self._statement(lambda rows: catalogue.names(rows, table, column, *where, limit=most))

    async def _write(self, job: Job[T]) -> T:
        """Run a job in a transaction."""

        async def write(rows: Rows) -> T:
            async with rows.writing():
                return await job(rows)

        return await self._run(write, writes=True)


class PlaybookStore(KeyedStore):
    """The namespace of named playbooks. Where a method takes a learner's id, it is a playbook's id here.

    No history is compacted by itself: `keep_versions` decides what stays readable. `forget` deletes the
    entry, the grants and the proposals with everything else. A commit to a playbook that was deleted raises
    LearnerForgotten.
    """

    namespace: Namespace = "playbooks"

    def asked(self, asked: PlaybookAccess) -> Self:
        """Return the same playbooks, for what one caller does with one playbook of somebody else.

        Every call on that playbook begins with `asked.check`, in its own transaction, on the entry and the
        grants as they are stored then: reading needs the right to read, `put_proposal` to propose, `commit`
        and `decide` to write, `forget`, `export` and all about grants to own. Grants change under the lock of
        commits, so that no commit passes a revocation. A commit is planned under the lock, with
        `CommitRequest.planning`, which lets the caller change only what they see.
        """
        other = copy(self)
        other._asked = asked
        return other

    async def check(self, playbook_id: str, needed: Right) -> None:
        """Do nothing but check a caller who asks. Raises PlaybookNotFound, PlaybookForbidden."""
        await self._read(lambda rows: catalogue.read_entry(rows, playbook_id), playbook_id, needed)

    async def create(self, entry: PlaybookEntry, delta: Delta, grants: tuple[Grant, ...] = ()) -> Commit:
        """Store the entry and its grants, and commit `delta`, atomically. All is new, or a repetition.

        Raises PlaybookExists where the owner has a playbook of that name, whoever created it first.
        """
        key = checked_learner_id(entry.playbook_id)
        return await self._commit_to_end(
            stores.CommitRequest(
                key, delta, Snapshot(), None, None, self.policy, self._new_token, entry, grants, self._asked
            )
        )

    async def set_fields(
        self, playbook_id: str, description: str | None, scope: Scope | None, lessons: Lessons | None
    ) -> bool:
        """Store other fields of the entry, under the playbook's lock; False where there is no playbook.

        What is None stays as it is. That makes no version. A caller who asks needs the right to own.
        """
        given = {"description": description, "scope": scope, "lessons": lessons}
        values = {name: value for name, value in given.items() if value is not None} or {
            "playbook_id": playbook_id
        }
        return await self._changed(
            playbook_id, lambda rows: rows.update("catalogue", values, on(playbook_id))
        )

    async def _changed(self, playbook_id: str, job: Job[int]) -> bool:
        return await self._locked(playbook_id, job, Right.OWN) > 0

    async def find(self, ref: PlaybookRef) -> PlaybookEntry | None:
        """Return the entry of that owner and name; the name's case and normal form do not matter.

        `default` gives the owner's own memory, once there is one, with `default` as its id.
        """
        return await self._statement(lambda rows: catalogue.find_entry(rows, ref))

    async def entry(self, playbook_id: str) -> PlaybookEntry | None:
        """Return the entry with that id."""
        return await self._statement(lambda rows: catalogue.read_entry(rows, playbook_id))

    async def entries(
        self, owner: str | None, limit: int = 100, after: str = ""
    ) -> tuple[PlaybookEntry, ...]:
        """Return at most `limit` entries of one owner in the order of their name keys, after `after`."""
        return await self._statement(lambda rows: catalogue.list_entries(rows, owner, max(0, limit), after))

    async def owners(self, limit: int = 100, after: str = "") -> tuple[str, ...]:
        """Return at most `limit` learners who own playbooks, in the order of their ids, after `after`."""
        later: Where = ("owner", ">", after)
        return await self._statement(
            lambda rows: catalogue.names(rows, "catalogue", "owner", later, limit=max(0, limit))
        )

    async def grants(self, playbook_id: str, limit: int = 100, after: str = "") -> tuple[Grant, ...]:
        """Return at most `limit` grants of a playbook in the order of the subjects' texts, after `after`."""
        return await self._read(
            lambda rows: catalogue.list_grants(rows, playbook_id, max(0, limit), after),
            playbook_id,
            Right.OWN,
        )

    async def put_grant(self, grant: Grant) -> None:
        """Store a grant in the place of the one that its subject had, under the playbook's lock.

        Raises PlaybookNotFound for a playbook that is not there.
        """
        await self._locked(grant.playbook_id, lambda rows: catalogue.put_shared(rows, grant), Right.OWN)

    async def drop_grant(self, playbook_id: str, subject: Subject) -> bool:
        """Delete a subject's grant, under the playbook's lock; False where there was none."""
        to: Where = ("subject", "=", str(subject))
        return await self._changed(playbook_id, lambda rows: rows.delete("grants", on(playbook_id), to))

    async def shared_with(
        self, subjects: Sequence[str], limit: int = 100, after: str = ""
    ) -> tuple[tuple[PlaybookEntry, tuple[Grant, ...]], ...]:
        """Return at most `limit` playbooks with a grant to one of the subjects, and these grants.

        They come in the order of their ids, after the id `after`; subjects are texts such as `user:bob`.
        """
        return await self._read(
            lambda rows: catalogue.list_shared(rows, subjects, max(0, limit), after), None
        )

    async def put_proposal(self, proposal: Proposal) -> None:
        """Store a new proposal. A caller who asks needs the right to propose."""
        key, new = proposal.playbook_id, proposal.proposal_id
        await self._locked(key, lambda rows: catalogue.put_shared(rows, proposal), Right.PROPOSE)
        self.backend.tell(StoredChange("proposal.created", "playbooks", key, new))

    async def proposals(
        self, playbook_id: str, state: ProposalState | None = None, limit: int = 100, after: str = ""
    ) -> tuple[Proposal, ...]:
        """Return at most `limit` proposals for a playbook in the order of their ids, after the id `after`."""
        where = [on(playbook_id)]
        if state is not None:
            where.append(("state", "=", state))
        return await self._statement(
            lambda rows: catalogue.list_proposals(rows, *where, limit=max(0, limit), after=after)
        )

    async def decide(self, proposal: Proposal, held: ProposalState) -> bool:
        """Store a proposal as it is now, if its stored state is `held`; else return False.

        A caller who asks needs the right to write.
        """
        return await self._locked(proposal.playbook_id, lambda rows: catalogue.decide(rows, proposal, held))

    async def keep_contents(self, playbook_id: str, base: int, contents: Mapping[int, Playbook]) -> None:
        """Keep the versions from `base` on, and before it only those of `contents`, which has `base` too.

        `contents` are the versions' contents, as `content_at` returned them.
        """
        await self._locked(
            playbook_id, lambda rows: stores.history.keep_contents(rows, playbook_id, base, contents)
        )


def complete(store: Store, purpose: str) -> Store:
    """Return the store, or what takes its place. Raises ConfigurationError where that lacks methods."""
    named = (name for kind in Store.__mro__ for name in vars(kind) if not name.startswith("_"))
    if missing := sorted(name for name in named if not hasattr(store, name)):
        raise ConfigurationError(
            f"{purpose} needs methods that {store.name} lacks ({', '.join(missing[:3])}): "
            "add them, or use a store of open_store"
        )
    return store
