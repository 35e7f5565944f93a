"""The store in an SQL database, written once: its learners, and its named playbooks.

Each method is a job for the database's driver (database.py); the statements are in the modules beside this
one, by what they are about.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from datetime import datetime
from typing import Self, TypeVar

from ace_graph.base.portal import portal
from ace_graph.base.retention import Cutoffs
from ace_graph.memory.catalogue import Lessons, Loaded, PlaybookEntry, PlaybookRef, Scope, WantedPlaybook
from ace_graph.memory.commit import (
    Amend,
    Commit,
    History,
    NewToken,
    PendingCounts,
    PendingItem,
    bounded_error,
)
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.policy import Policy
from ace_graph.memory.record_retention import START, Cleaned, CleaningPlace
from ace_graph.memory.rights import PlaybookAccess, Right
from ace_graph.memory.sharing import Grant, Proposal, ProposalState, Subject, team_key
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import (
    LearnerExport,
    LearnerSummary,
    StoredVersion,
    StoreSizes,
    VectorChange,
    checked_learner_id,
    random_token,
)
from ace_graph.memory.stores.cleaning import Batch
from ace_graph.memory.stores.commit_queue import CommitRequest, CommittingNamespace
from ace_graph.memory.stores.records import summary_of
from ace_graph.memory.stores.sql import catalogue, cleaning, history, pending
from ace_graph.memory.stores.sql.commit_retry import commit_once
from ace_graph.memory.stores.sql.database import Database, Job, Namespace, Row, Tables
from ace_graph.memory.stores.sql.history import (
    keep_contents,
    put_vectors,
    read_content_at,
    read_description,
    read_history,
    read_turns,
    read_versions,
)
from ace_graph.memory.stores.sql.state import lock, read_attached, read_snapshot
from ace_graph.memory.stores.sql.whole_memory import delete_all, put_whole, read_export, read_whole
from ace_graph.memory.stores.whole import COPY_SECONDS, WholeMemory
from ace_graph.memory.trajectory import TrajectoryFilter
from ace_graph.memory.turn import TurnRecord

T = TypeVar("T")


class SQLNamespace(CommittingNamespace):
    """A store over one namespace of the database; in that of playbooks, a learner's id is a playbook's id."""

    def __init__(
        self, database: Database, namespace: Namespace, policy: Policy, new_token: NewToken = random_token
    ) -> None:
        super().__init__(policy, new_token)
        self.database = database
        self._namespace: Namespace = namespace

    @property
    def name(self) -> str:
        """The name in log lines."""
        return self.database.name

    async def load(self, learner_id: str, known: Snapshot | None = None) -> Snapshot:
        """Return the newest snapshot, read in one statement; see `Store.load`."""
        learner = checked_learner_id(learner_id)
        return await self._statement(lambda tables: read_snapshot(tables, learner, known))

    async def amend(self, learner_id: str, amend: Amend) -> TurnRecord | None:
        """Change a turn's record; see `KeyedStore.amend`."""
        learner = checked_learner_id(learner_id)
        return await self._locked(learner, lambda work: history.amend_turn(work, learner, amend))

    async def find_turns(
        self, learner_id: str, wanted: TrajectoryFilter, *, limit: int = 100, skip: int = 0
    ) -> tuple[TurnRecord, ...]:
        """Return the turns that match; see `KeyedStore.find_turns`."""
        learner, most, start = checked_learner_id(learner_id), max(0, limit), max(0, skip)
        return await self._statement(lambda tables: history.find_turns(tables, learner, wanted, most, start))

    async def claim(
        self, owner: str, now: datetime, seconds: float, learner_id: str | None = None
    ) -> PendingItem | None:
        """Lease the next item; see `KeyedStore.claim`."""
        token = self._new_token()
        return await self._write(
            lambda tables: pending.claim_next(tables, owner, now, seconds, learner_id, token)
        )

    async def renew(self, item: PendingItem, until: datetime) -> bool:
        """Extend the lease; see `KeyedStore.renew`."""
        return await self._change_leased(item, "free_at = ?", until.timestamp())

    async def fail(self, item: PendingItem, error: str, retry_at: datetime | None) -> bool:
        """Release the item with the error; see `KeyedStore.fail`."""
        state, free_at = "dead" if retry_at is None else "pending", (retry_at or item.free_at).timestamp()
        what = "state = ?, error = ?, free_at = ?, attempts = ?, lease = NULL"
        return await self._change_leased(item, what, state, bounded_error(error), free_at, item.attempts)

    async def _change_leased(self, item: PendingItem, what: str, *values: object) -> bool:
        """Change an item; False where the caller does not hold its lease any more."""
        statement = f"UPDATE ace_pending SET {what} WHERE user_id = ? AND pending_id = ? AND lease = ?"  # noqa: S608  `what` is ours
        held = (item.learner_id, item.pending_id, item.lease)
        return await self._write(lambda tables: tables.change(statement, (*values, *held))) > 0

    async def retry(self, learner_id: str, pending_id: str, now: datetime) -> bool:
        """Make a dead letter pending again; see `KeyedStore.retry`."""
        learner = checked_learner_id(learner_id)
        statement = (
            "UPDATE ace_pending SET state = 'pending', attempts = 0, free_at = ?, lease = NULL "
            "WHERE user_id = ? AND pending_id = ? AND state = 'dead'"
        )
        values = (now.timestamp(), learner, pending_id)
        return await self._write(lambda tables: tables.change(statement, values)) > 0

    async def list_pending(
        self, learner_id: str | None = None, *, dead: bool | None = None, limit: int = 100
    ) -> tuple[PendingItem, ...]:
        """Return the items in order; see `KeyedStore.list_pending`."""
        return await self._statement(
            lambda tables: pending.read_items(tables, learner_id, dead, max(0, limit))
        )

    async def count_pending(self) -> PendingCounts:
        """Return how many items there are; see `KeyedStore.count_pending`."""
        rows = await self._rows("SELECT state, count(*) FROM ace_pending GROUP BY state")
        found: dict[str, int] = dict(rows)
        return PendingCounts(found.get("pending", 0), found.get("dead", 0))

    async def history(self, learner_id: str) -> History:
        """Return the content changes whose effect is kept; see `Store.history`."""
        learner = checked_learner_id(learner_id)
        return await self._read(lambda tables: read_history(tables, learner, everything=False))

    async def versions(self, key: str) -> tuple[StoredVersion, ...]:
        """Return all versions, the oldest first; see `ContentStore.versions`."""
        return await self._read(lambda tables: read_versions(tables, key))

    async def content_at(self, key: str, n: int) -> Playbook | None:
        """Return the content of a version; see `ContentStore.content_at`."""
        return await self._read(lambda tables: read_content_at(tables, key, n))

    async def turns(self, learner_id: str, limit: int = 100) -> tuple[TurnRecord, ...]:
        """Return the newest turn records; see `Store.turns`."""
        learner = checked_learner_id(learner_id)
        return await self._statement(lambda tables: read_turns(tables, learner, max(0, limit)))

    async def export(self, learner_id: str) -> LearnerExport:
        """Return everything stored about the learner; see `Store.export`."""
        learner = checked_learner_id(learner_id)
        return await self._read(lambda tables: read_export(tables, learner), Right.OWN)

    async def forget(self, learner_id: str, expected_etag: str | None = None) -> bool:
        """Delete everything stored about the learner; see `Store.forget`, `PlaybookStore.forget`."""
        learner = checked_learner_id(learner_id)

        async def forget(tables: Tables) -> bool:
            async with tables.writing():
                await self._lock(tables, learner, Right.OWN)
                found = await delete_all(tables, learner, expected_etag)
            await tables.scrub()
            return found

        return await self._run(forget, writes=True)

    async def clean(
        self,
        learner_id: str,
        cutoffs: Cutoffs,
        place: CleaningPlace = START,
        *,
        most: int = 200,
        dry_run: bool = False,
    ) -> Cleaned:
        """Clean one batch; see `KeyedStore.clean`."""
        batch = Batch(checked_learner_id(learner_id), cutoffs, place, max(1, most))
        if dry_run:
            return await self._read(lambda tables: cleaning.count_batch(tables, batch))
        return await self._run(lambda tables: cleaning.clean_batch(tables, batch), writes=True)

    async def begin_cleaning(self, now: datetime, every: float) -> bool:
        """Return whether the caller should clean now; see `KeyedStore.begin_cleaning`.

        If so, its start is recorded. A clock set back blocks no cleaning.
        """
        statement = (
            "INSERT INTO ace_memory_duties AS d (name, began_at) VALUES ('cleaning', :now) "
            "ON CONFLICT (name) DO UPDATE SET began_at = excluded.began_at "
            "WHERE abs(excluded.began_at - d.began_at) >= :every RETURNING name"
        )
        values = {"now": now.timestamp(), "every": every}
        return await self._write(lambda tables: tables.row(statement, values)) is not None

    async def learners(self, limit: int = 100, after: str = "") -> tuple[LearnerSummary, ...]:
        """Return learners in the order of their ids; see `KeyedStore.learners`."""
        rows = await self._rows(
            "SELECT user_id, version, created_at, updated_at, "
            "(SELECT coalesce(t.completed_at, t.started_at) FROM ace_turns t "
            "WHERE t.user_id = l.user_id AND NOT t.deleted ORDER BY t.seq DESC LIMIT 1) "
            "FROM ace_learners l WHERE user_id > ? ORDER BY user_id LIMIT ?",
            *(after, max(0, limit)),
        )
        return tuple(map(summary_of, rows))

    async def sizes(self) -> StoreSizes:
        """Return how much is stored; see `KeyedStore.sizes`."""
        return await self._statement(cleaning.read_sizes)

    async def whole(self, key: str) -> WholeMemory | None:
        """Return everything stored under the key; see `KeyedStore.whole`."""
        return await self._read(
            lambda tables: read_whole(tables, checked_learner_id(key)), seconds=COPY_SECONDS
        )

    async def put_whole(self, key: str, memory: WholeMemory, held: WholeMemory | None = None) -> bool:
        """Store everything under the key; see `KeyedStore.put_whole`."""
        learner = checked_learner_id(key)

        return await self._locked(
            learner, lambda work: put_whole(work, learner, memory, held), seconds=COPY_SECONDS
        )

    async def vectors(self, learner_id: str, model: str) -> Mapping[str, bytes]:
        """Return the rows of a model; see `KeyedStore.vectors`."""
        learner = checked_learner_id(learner_id)
        statement = "SELECT name, vector FROM ace_vectors WHERE user_id = ? AND model = ?"
        return {name: bytes(vector) for name, vector in await self._rows(statement, learner, model)}

    async def put_vectors(self, learner_id: str, epoch: str | None, change: VectorChange) -> bool:
        """Store and delete rows; see `KeyedStore.put_vectors`."""
        learner = checked_learner_id(learner_id)
        return await self._locked(learner, lambda work: put_vectors(work, learner, epoch, change))

    async def close(self) -> None:
        """Close the connections; the next call opens them again."""
        await portal().run(self.database.close(), shielded=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def _statement(self, job: Job[T]) -> T:
        """Run a job of one statement, which is its own transaction; a caller who asks needs the right."""
        return await (self._run(job) if self._asked is None else self._read(job))

    async def _rows(self, statement: str, *values: object) -> list[Row]:
        """Return the rows of one statement."""
        return await self._statement(lambda tables: tables.rows(statement, values))

    async def _read(self, job: Job[T], needed: Right = Right.READ, seconds: float | None = None) -> T:
        """Run a job whose statements read the same state, the caller's right included."""

        async def read(tables: Tables) -> T:
            async with tables.reading():
                if self._asked is not None:
                    await catalogue.check_right(tables, self._asked, needed)
                return await job(tables)

        return await self._run(read, seconds=seconds)

    async def _write(self, job: Job[T]) -> T:
        """Run a job in a transaction."""

        async def write(tables: Tables) -> T:
            async with tables.writing():
                return await job(tables)

        return await self._run(write, writes=True)

    async def _locked(
        self, key: str, job: Job[T], needed: Right = Right.WRITE, seconds: float | None = None
    ) -> T:
        """Run a job in a transaction that holds the lock of a key; a caller who asks needs the right."""

        async def locked(tables: Tables) -> T:
            async with tables.writing():
                await self._lock(tables, key, needed)
                return await job(tables)

        return await self._run(locked, writes=True, seconds=seconds)

    async def _lock(self, tables: Tables, key: str, needed: Right) -> None:
        await lock(tables, key)
        if self._asked is not None:
            await catalogue.check_right(tables, self._asked, needed)

    async def _run(self, job: Job[T], *, writes: bool = False, seconds: float | None = None) -> T:
        running = self.database.run(self._namespace, job, writes=writes, seconds=seconds)
        return await portal().run(running, shielded=writes)

    async def _commit(self, request: CommitRequest) -> Commit:
        began = time.monotonic()
        async with self.database.queue(self._namespace).slot(request.learner, request.base) as slot:
            commit = await self._commit_from(slot.base, request, began)
            slot.result = commit.snapshot
            return commit

    async def _commit_from(self, start: Snapshot, request: CommitRequest, began: float) -> Commit:
        return await commit_once(self.database, self._namespace, start, request, began)


class SQLStore(SQLNamespace):
    """A `Store` (see `ace_graph.memory.stores.base`) on a database."""

    @property
    def playbooks(self) -> SQLPlaybooks:
        """The named playbooks in this database."""
        return SQLPlaybooks(self.database, "playbooks", self.policy.of_playbooks(), self._new_token)

    async def load_attached(
        self, learner_id: str, wanted: Sequence[WantedPlaybook], known: Snapshot | None = None
    ) -> Loaded:
        """Return the newest snapshot and the named playbooks; see `Store.load_attached`."""
        learner = checked_learner_id(learner_id)
        return await self._statement(lambda tables: read_attached(tables, learner, known, wanted))

    async def teams_of(self, user: str) -> tuple[str, ...]:
        """Return the teams that a user is in; see `Store.teams_of`."""
        return await self._statement(lambda tables: catalogue.teams_of(tables, user))

    async def teams(self, limit: int = 100, after: str = "") -> tuple[str, ...]:
        """Return teams in order; see `Store.teams`."""
        statement = "SELECT DISTINCT team_id FROM ace_team_members WHERE team_id > ? ORDER BY team_id LIMIT ?"
        return tuple(team for (team,) in await self._rows(statement, after, max(0, limit)))

    async def teams_like(self, team: str) -> tuple[str, ...]:
        """Return the teams that could be taken for this one; see `Store.teams_like`."""
        statement = "SELECT DISTINCT team_id FROM ace_team_members WHERE team_key = ? AND team_id <> ?"
        return tuple(other for (other,) in await self._rows(statement, team_key(team), team))

    async def members(self, team: str, limit: int = 100, after: str = "") -> tuple[str, ...]:
        """Return members of a team in order; see `Store.members`."""
        statement = (
            "SELECT member FROM ace_team_members WHERE team_id = ? AND member > ? ORDER BY member LIMIT ?"
        )
        return tuple(member for (member,) in await self._rows(statement, team, after, max(0, limit)))

    async def add_members(self, team: str, members: Collection[str]) -> int:
        """Add members to a team; see `Store.add_members`."""
        statement = (
            "INSERT INTO ace_team_members (team_id, member, team_key) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
        )
        rows = [(team, member, team_key(team)) for member in sorted(set(members))]
        return await self._write(lambda tables: tables.change_each(statement, rows))

    async def remove_members(self, team: str, members: Collection[str]) -> int:
        """Remove members of a team; see `Store.remove_members`."""
        statement = "DELETE FROM ace_team_members WHERE team_id = ? AND member = ANY(?)"
        return await self._write(lambda tables: tables.change(statement, (team, list(members))))

    async def proposals_by(self, user: str, limit: int = 100, after: str = "") -> tuple[Proposal, ...]:
        """Return what a user has proposed; see `Store.proposals_by`."""
        return await self._statement(
            lambda tables: catalogue.proposals_by(tables, user, max(0, limit), after)
        )

    async def describe(self) -> str:
        """Return the versions of the database and of the schema, and the number of learners."""
        return await self._statement(lambda tables: read_description(tables, self.name))


class SQLPlaybooks(SQLNamespace):
    """A `PlaybookStore`: the named playbooks in a database, which the store of its learners shares."""

    def asked(self, asked: PlaybookAccess) -> SQLPlaybooks:
        """Return the same playbooks, checked for one caller; see `PlaybookStore.asked`."""
        other = copy(self)
        other._asked = asked
        return other

    async def check(self, playbook_id: str, needed: Right) -> None:
        """Check a caller who asks; see `PlaybookStore.check`."""
        await self._read(lambda tables: catalogue.read_entry(tables, playbook_id), needed)

    async def create(self, entry: PlaybookEntry, delta: Delta, grants: tuple[Grant, ...] = ()) -> Commit:
        """Store a new playbook; see `PlaybookStore.create`."""
        key = checked_learner_id(entry.playbook_id)
        request = CommitRequest(
            key, delta, Snapshot(), None, None, self.policy, self._new_token, entry, grants, self._asked
        )
        return await self._commit_on_portal(request)

    async def find(self, ref: PlaybookRef) -> PlaybookEntry | None:
        """Return the entry of an owner and a name; see `PlaybookStore.find`."""
        return await self._statement(lambda tables: catalogue.find_entry(tables, ref))

    async def entry(self, playbook_id: str) -> PlaybookEntry | None:
        """Return the entry with that id."""
        return await self._statement(lambda tables: catalogue.read_entry(tables, playbook_id))

    async def entries(
        self, owner: str | None, limit: int = 100, after: str = ""
    ) -> tuple[PlaybookEntry, ...]:
        """Return the entries of an owner; see `PlaybookStore.entries`."""
        return await self._statement(
            lambda tables: catalogue.list_entries(tables, owner, max(0, limit), after)
        )

    async def owners(self, limit: int = 100, after: str = "") -> tuple[str, ...]:
        """Return who owns named playbooks; see `PlaybookStore.owners`."""
        statement = "SELECT DISTINCT owner FROM ace_named_catalogue WHERE owner > ? ORDER BY owner LIMIT ?"
        return tuple(owner for (owner,) in await self._rows(statement, after, max(0, limit)))

    async def set_fields(
        self, playbook_id: str, description: str | None, scope: Scope | None, lessons: Lessons | None
    ) -> bool:
        """Store another description, scope and rule for lessons; see `PlaybookStore.set_fields`."""
        statement = (
            "UPDATE ace_named_catalogue SET description = coalesce(?, description), "
            "scope = coalesce(?, scope), lessons = coalesce(?, lessons) WHERE playbook_id = ?"
        )
        values = (description, scope, lessons, playbook_id)
        return await self._locked(playbook_id, lambda work: work.change(statement, values), Right.OWN) > 0

    async def grants(self, playbook_id: str, limit: int = 100, after: str = "") -> tuple[Grant, ...]:
        """Return grants of a playbook; see `PlaybookStore.grants`."""
        return await self._read(
            lambda tables: catalogue.list_grants(tables, playbook_id, max(0, limit), after), Right.OWN
        )

    async def put_grant(self, grant: Grant) -> None:
        """Store a grant; see `PlaybookStore.put_grant`."""
        await self._locked(grant.playbook_id, lambda work: catalogue.put_grant(work, grant), Right.OWN)

    async def drop_grant(self, playbook_id: str, subject: Subject) -> bool:
        """Delete a grant; see `PlaybookStore.drop_grant`."""
        statement = "DELETE FROM ace_grants WHERE playbook_id = ? AND subject = ?"
        values = (playbook_id, str(subject))
        return await self._locked(playbook_id, lambda work: work.change(statement, values), Right.OWN) > 0

    async def shared_with(
        self, subjects: Sequence[str], limit: int = 100, after: str = ""
    ) -> tuple[tuple[PlaybookEntry, tuple[Grant, ...]], ...]:
        """Return playbooks that are shared; see `PlaybookStore.shared_with`."""
        return await self._read(lambda tables: catalogue.list_shared(tables, subjects, max(0, limit), after))

    async def put_proposal(self, proposal: Proposal) -> None:
        """Store a new proposal; see `PlaybookStore.put_proposal`."""
        await self._locked(
            proposal.playbook_id, lambda work: catalogue.put_proposal(work, proposal), Right.PROPOSE
        )

    async def proposals(
        self, playbook_id: str, state: ProposalState | None = None, limit: int = 100, after: str = ""
    ) -> tuple[Proposal, ...]:
        """Return proposals for a playbook; see `PlaybookStore.proposals`."""
        return await self._statement(
            lambda tables: catalogue.list_proposals(tables, playbook_id, state, max(0, limit), after)
        )

    async def decide(self, proposal: Proposal, held: ProposalState) -> bool:
        """Store a decision; see `PlaybookStore.decide`."""
        key, statement = (
            proposal.playbook_id,
            (
                "UPDATE ace_proposals SET state = ?, proposal_json = ? "
                "WHERE playbook_id = ? AND proposal_id = ? AND state = ?"
            ),
        )
        values = (proposal.state, proposal.model_dump_json(), key, proposal.proposal_id, held)
        return await self._locked(key, lambda work: work.change(statement, values)) > 0

    async def keep_contents(self, playbook_id: str, base: int, contents: Mapping[int, Playbook]) -> None:
        """Drop the other versions; see `PlaybookStore.keep_contents`."""
        await self._locked(playbook_id, lambda work: keep_contents(work, playbook_id, base, contents))
