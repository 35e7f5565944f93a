"""The shared store: one `AceMemoryState` node per learner in Neo4j, for any number of processes.

A turn costs two round trips: one load and one commit. A commit is one statement that takes the learner's
lock, compares the stored state with its base, and writes when they are the same. After a conflict it is one
transaction that locks, reads, resolves and writes, so it always finishes. Transient errors are retried; the
op id makes that safe, even when the reply to a commit was lost.

`User` nodes that the host application created are left as they are.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from copy import copy
from datetime import datetime
from typing import Any, LiteralString, Self, TypeVar, cast

from neo4j.exceptions import ConstraintError

from ace_graph.base.errors import IncompleteState, PlaybookExists, StoreError
from ace_graph.base.off_loop import off_loop
from ace_graph.base.portal import portal
from ace_graph.base.retention import Cutoffs
from ace_graph.memory.bullet import Hides
from ace_graph.memory.catalogue import (
    AttachedPlaybook,
    Lessons,
    Loaded,
    PlaybookEntry,
    PlaybookRef,
    Scope,
    WantedPlaybook,
)
from ace_graph.memory.commit import (
    Amend,
    Commit,
    History,
    NewToken,
    PendingCounts,
    PendingItem,
    bounded_error,
    check_expected,
    commit_key,
)
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.policy import Policy
from ace_graph.memory.record_retention import START, Cleaned, CleaningPlace
from ace_graph.memory.rights import PlaybookAccess, Right, not_found
from ace_graph.memory.sharing import Grant, Proposal, ProposalState, Subject, team_key
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import (
    TIMEOUT,
    GraphLag,
    LearnerExport,
    LearnerSummary,
    StoredVersion,
    StoreSizes,
    Timeouts,
    VectorChange,
    checked_learner_id,
    random_token,
)
from ace_graph.memory.stores.cleaning import Batch
from ace_graph.memory.stores.commit_queue import CommitRequest, CommittingNamespace, SerializedPlan
from ace_graph.memory.stores.neo4j import catalogue, cleaning, graph
from ace_graph.memory.stores.neo4j import pending as pending_items
from ace_graph.memory.stores.neo4j import queries as cypher
from ace_graph.memory.stores.neo4j.catalogue import (
    LOAD_ATTACHED,
    AttachedRow,
    check_right,
    delete_owned,
    delete_playbook,
    find_entry,
    forget_member,
    keep_contents,
    list_entries,
    list_shared,
    read_content_at,
    read_entry,
    read_versions,
    wanted_rows,
)
from ace_graph.memory.stores.neo4j.commit_retry import commit_once, fold, lock, read_locked
from ace_graph.memory.stores.neo4j.connection import (
    Login,
    Neo4jConnection,
    Neo4jLink,
    Row,
    Runner,
    fetch,
    fetch_rows,
)
from ace_graph.memory.stores.neo4j.history import (
    READ_VECTORS,
    put_vectors,
    put_whole,
    read_export,
    read_history,
    read_turns,
    read_whole,
    stage,
    unstage,
)
from ace_graph.memory.stores.neo4j.queries import Reply, known_parameter
from ace_graph.memory.stores.records import moment, proposal_columns, summary_of
from ace_graph.memory.stores.whole import COPY_SECONDS, WholeMemory
from ace_graph.memory.trajectory import TrajectoryFilter
from ace_graph.memory.turn import TurnRecord

# The learners, or the named playbooks, of one database: what both namespaces do alike.


T = TypeVar("T")
_log = logging.getLogger("ace_graph")


class Neo4jNamespace(CommittingNamespace):
    """A store over one namespace of the database; in that of playbooks, a learner's id is a playbook's id."""

    name = "Neo4j"

    def __init__(self, connection: Neo4jConnection, policy: Policy, new_token: NewToken) -> None:
        super().__init__(policy, new_token)
        self.connection = connection

    async def load(self, learner_id: str, known: Snapshot | None = None) -> Snapshot:
        """Return the newest snapshot; see `Store.load`."""
        learner, held = checked_learner_id(learner_id), known or Snapshot()
        if self._asked is not None:
            return await self._locked(learner, lambda run: read_locked(run, learner))
        return await self._on_portal(lambda link: self._read(link, learner, held))

    async def amend(self, learner_id: str, amend: Amend) -> TurnRecord | None:
        """Change a turn's record; see `KeyedStore.amend`."""
        learner = checked_learner_id(learner_id)
        return await self._locked(learner, lambda work: pending_items.amend_turn(work, learner, amend))

    async def find_turns(
        self, learner_id: str, wanted: TrajectoryFilter, *, limit: int = 100, skip: int = 0
    ) -> tuple[TurnRecord, ...]:
        """Return the turns that match; see `KeyedStore.find_turns`."""
        learner = checked_learner_id(learner_id)
        most, start = max(0, limit), max(0, skip)
        return await self._in_session(lambda run: pending_items.find_turns(run, learner, wanted, most, start))

    async def claim(
        self, owner: str, now: datetime, seconds: float, learner_id: str | None = None
    ) -> PendingItem | None:
        """Lease the next item; see `KeyedStore.claim`."""
        request = pending_items.ClaimRequest(owner, now, seconds, learner_id, self._new_token())
        return await self._write(lambda link: pending_items.claim_next(self.connection, link, request))

    async def renew(self, item: PendingItem, until: datetime) -> bool:
        """Extend the lease; see `KeyedStore.renew`."""
        return await self._change_leased(item, pending_items.RENEW, until=until.timestamp())

    async def fail(self, item: PendingItem, error: str, retry_at: datetime | None) -> bool:
        """Release the item with the error; see `KeyedStore.fail`."""
        return await self._change_leased(
            item,
            pending_items.RELEASE,
            state="dead" if retry_at is None else "pending",
            error=bounded_error(error),
            attempts=item.attempts,
            until=(retry_at or item.free_at).timestamp(),
        )

    async def _change_leased(self, item: PendingItem, query: LiteralString, **changed: object) -> bool:
        """Change an item; False where the caller does not hold its lease any more."""
        held = {"key": commit_key(item.learner_id, item.pending_id), "lease": item.lease}
        return await self._changed(item.learner_id, query, **held, **changed)

    async def _changed(self, key: str, query: LiteralString, /, **parameters: object) -> bool:
        """Run a statement under the lock of a key; whether it found what it changes."""
        return bool(await self._locked(key, lambda run: fetch(run, query, **parameters)))

    async def retry(self, learner_id: str, pending_id: str, now: datetime) -> bool:
        """Make a dead letter pending again; see `KeyedStore.retry`."""
        learner = checked_learner_id(learner_id)
        key = commit_key(learner, pending_id)
        return await self._changed(learner, pending_items.RETRY, key=key, now=now.timestamp())

    async def list_pending(
        self, learner_id: str | None = None, *, dead: bool | None = None, limit: int = 100
    ) -> tuple[PendingItem, ...]:
        """Return the items in order; see `KeyedStore.list_pending`."""
        return await self._in_session(
            lambda run: pending_items.read_items(run, learner_id, dead, max(0, limit))
        )

    async def count_pending(self) -> PendingCounts:
        """Return how many items there are; see `KeyedStore.count_pending`."""
        found: dict[str, int] = dict(await self._rows(pending_items.COUNT))
        return PendingCounts(found.get("pending", 0), found.get("dead", 0))

    async def history(self, learner_id: str) -> History:
        """Return the content changes whose effect is kept; see `Store.history`."""
        learner = checked_learner_id(learner_id)
        return await self._locked(learner, lambda run: read_history(run, learner))

    async def versions(self, key: str) -> tuple[StoredVersion, ...]:
        """Return all versions, the oldest first; see `ContentStore.versions`."""
        return await self._locked(key, lambda run: read_versions(run, key))

    async def content_at(self, key: str, n: int) -> Playbook | None:
        """Return the content of a version; see `ContentStore.content_at`."""
        return await self._locked(key, lambda run: read_content_at(run, key, n))

    async def turns(self, learner_id: str, limit: int = 100) -> tuple[TurnRecord, ...]:
        """Return the newest turn records; see `Store.turns`."""
        learner = checked_learner_id(learner_id)
        return await self._in_session(lambda run: read_turns(run, learner, limit))

    async def export(self, learner_id: str) -> LearnerExport:
        """Return everything stored about the learner, read under the learner's lock; see `Store.export`."""
        learner = checked_learner_id(learner_id)

        async def read(link: Neo4jLink) -> LearnerExport:
            async with self.connection.transaction(link) as transaction:
                if self._asked is not None:
                    await check_right(transaction, self._asked, Right.OWN)
                return await read_export(transaction, learner)

        return await self._write(read)

    async def forget(self, learner_id: str, expected_etag: str | None = None) -> bool:
        """Delete everything stored about the learner; see `Store.forget`, `PlaybookStore.forget`.

        Deletes the learner's User node too if this store created it and nothing was added to it, and the
        playbooks that the learner owns.
        """
        learner = checked_learner_id(learner_id)

        async def delete(link: Neo4jLink) -> bool:
            async with self.connection.transaction(link) as transaction:
                if self._asked is not None or expected_etag is not None:
                    await lock(transaction, learner)
                if self._asked is not None:
                    await check_right(transaction, self._asked, Right.OWN)
                if expected_etag is not None and (entry := await read_entry(transaction, learner)):
                    check_expected(expected_etag, entry.version)
                if transaction.namespace == "playbooks":
                    return await delete_playbook(transaction, learner)
                rows = await fetch(transaction, cypher.DELETE_LEARNER, uid=learner)
                found = any(row["found"] is True for row in rows)
                found = await delete_owned(transaction.of("playbooks"), learner) or found
                return await forget_member(transaction, learner) or found

        return await self._write(delete)

    async def clean(
        self,
        learner_id: str,
        cutoffs: Cutoffs,
        place: CleaningPlace = START,
        *,
        most: int = 200,
        dry_run: bool = False,
    ) -> Cleaned:
        """Clean one batch, under the learner's lock; see `KeyedStore.clean`."""
        batch = Batch(checked_learner_id(learner_id), cutoffs, place, max(1, most))
        return await self._write(
            lambda link: cleaning.clean_batch(self.connection, link, batch, dry_run=dry_run)
        )

    async def begin_cleaning(self, now: datetime, every: float) -> bool:
        """Return whether the caller should clean now; see `KeyedStore.begin_cleaning`.

        If so, its start is recorded. A clock set back blocks no cleaning.
        """
        asked: dict[str, object] = {"now": now.timestamp(), "every": every}
        return bool(await self._write(lambda link: self.connection.rows(link, cleaning.BEGIN, **asked)))

    async def learners(self, limit: int = 100, after: str = "") -> tuple[LearnerSummary, ...]:
        """Return learners in the order of their ids; see `KeyedStore.learners`."""
        rows = await self._rows(cleaning.LEARNERS, limit=max(0, limit), after=after)
        return tuple(map(summary_of, rows))

    async def sizes(self) -> StoreSizes:
        """Return how much is stored; see `KeyedStore.sizes`."""
        ((learners, turns, deltas, pending),) = await self._rows(cleaning.SIZES)
        return StoreSizes(learners, turns, deltas, pending)

    async def whole(self, key: str) -> WholeMemory | None:
        """Return everything stored under the key; see `KeyedStore.whole`."""
        learner = checked_learner_id(key)

        async def read(link: Neo4jLink) -> WholeMemory | None:
            async with self.connection.transaction(link) as transaction:
                return await read_whole(transaction, learner)

        return await portal().run(self.connection.work(read, seconds=COPY_SECONDS))

    async def put_whole(self, key: str, memory: WholeMemory, held: WholeMemory | None = None) -> bool:
        """Store everything under the key; see `KeyedStore.put_whole`."""
        learner = checked_learner_id(key)

        async def put(link: Neo4jLink) -> bool:
            await stage(self.connection, link, learner, memory)
            try:
                async with self.connection.transaction(link) as transaction:
                    return await put_whole(transaction, learner, memory, held)
            finally:
                await unstage(self.connection, link, learner)

        return await portal().run(self.connection.work(put, seconds=COPY_SECONDS), shielded=True)

    async def vectors(self, learner_id: str, model: str) -> Mapping[str, bytes]:
        """Return the rows of a model; see `KeyedStore.vectors`."""
        learner = checked_learner_id(learner_id)
        return dict(await self._rows(READ_VECTORS, uid=learner, model=model))

    async def put_vectors(self, learner_id: str, epoch: str | None, change: VectorChange) -> bool:
        """Store and delete rows; see `KeyedStore.put_vectors`."""
        learner = checked_learner_id(learner_id)
        return await self._locked(
            learner, lambda work: put_vectors(work, learner, epoch, change), Right.WRITE
        )

    async def undrawn(self, limit: int = 100) -> tuple[str, ...]:
        """Return keys whose graph is behind; see `DrawsGraph.undrawn`."""
        return await self._names(graph.DUE, limit=max(0, limit))

    async def graph_lag(self) -> GraphLag:
        """Return how far the graph is behind; see `DrawsGraph.graph_lag`."""
        ((number, since),) = await self._rows(graph.LAG)
        return GraphLag(number, None if since is None else moment(since))

    async def draw(
        self, key: str, hides: Hides, *, known: Snapshot | None = None, afresh: bool = False
    ) -> int:
        """Draw what is under a key as a graph; see `DrawsGraph.draw`."""
        learner, held = checked_learner_id(key), known or Snapshot()

        def load() -> Awaitable[Snapshot]:
            return self.connection.work(lambda link: self._read(link, learner, held))

        rates = self.policy.decay
        return await portal().run(graph.draw(self.connection, learner, load, rates, hides, afresh=afresh))

    async def close(self) -> None:
        """Close the connections; the next call opens them again."""
        await portal().run(self.connection.close(), shielded=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def _on_portal(self, attempt: Callable[[Neo4jLink], Awaitable[T]]) -> T:
        return await portal().run(self.connection.work(attempt))

    async def _write(self, attempt: Callable[[Neo4jLink], Awaitable[T]]) -> T:
        return await portal().run(
            self.connection.work(attempt, seconds=self.connection.timeouts.write), shielded=True
        )

    async def _rows(self, query: LiteralString, **parameters: object) -> list[tuple[Any, ...]]:
        """Return the rows of one statement, as tuples in the order of its columns."""
        return await self._in_session(lambda run: fetch_rows(run, query, **parameters))

    async def _names(self, query: LiteralString, **parameters: object) -> tuple[str, ...]:
        return tuple(name for (name,) in await self._rows(query, **parameters))

    async def _in_session(self, job: Callable[[Runner], Awaitable[T]]) -> T:
        async def read(link: Neo4jLink) -> T:
            async with self.connection.session(link) as session:
                return await job(session)

        if self._asked is not None:
            return await self._locked(self._asked.playbook_id, job)
        return await self._on_portal(read)

    async def _locked(
        self, learner: str, job: Callable[[Runner], Awaitable[T]], needed: Right = Right.READ
    ) -> T:
        """Run a job in a transaction that holds the learner's lock; a caller who asks needs the right."""

        async def attempt(link: Neo4jLink) -> T:
            async with self.connection.transaction(link) as transaction:
                await lock(transaction, learner)
                if self._asked is not None:
                    await check_right(transaction, self._asked, needed)
                return await job(transaction)

        return await self._write(attempt)

    async def _read(self, link: Neo4jLink, learner: str, known: Snapshot) -> Snapshot:
        rows = await self.connection.rows(link, cypher.LOAD, uid=learner, known=known_parameter(known))
        return await self._whole(link, learner, known, Reply.model_validate(rows[0]) if rows else None)

    async def _whole(self, link: Neo4jLink, learner: str, known: Snapshot, reply: Reply | None) -> Snapshot:
        """Return the state, read again under the lock where the reply is no consistent version."""
        if reply is None:
            return Snapshot()
        try:
            return reply.snapshot(known)
        except IncompleteState:
            pass  # another transaction wrote it meanwhile, or what is known is of another history
        async with self.connection.transaction(link) as transaction:
            return await read_locked(transaction, learner, known)

    async def _commit(self, request: CommitRequest) -> Commit:
        async with self.connection.link.queues[self.connection.namespace].slot(
            request.learner, request.base
        ) as slot:
            start = slot.base
            known = not request.must_read and not request.looks_up(start)
            planned = await SerializedPlan.of(request, start) if known else None
            result = await self.connection.work(
                lambda link: commit_once(self.connection, link, request, start, planned),
                seconds=self.connection.timeouts.write,
            )
            if result.due is not None:
                # Fold after a commit. A failure does not affect the commit; a later one folds instead. Raises
                # IncompleteState where the fold finds that a part of the state is missing
                serialized = result.due
                await off_loop(lambda: (serialized.base, serialized.stamps))  # no text is made under the lock

                async def attempt(link: Neo4jLink) -> None:
                    async with self.connection.transaction(link) as transaction:
                        await fold(transaction, request.learner, serialized)

                try:
                    await self.connection.work(attempt, seconds=self.connection.timeouts.write)
                except IncompleteState:
                    raise
                except StoreError as error:
                    _log.warning("[ACE Memory] the effects of a memory were not folded: %s", error)
            slot.result = result.commit.snapshot
            return result.commit


class Neo4jStore(Neo4jNamespace):
    """A `Store` (see `ace_graph.memory.stores.base`) on Neo4j 5.26 or newer, any edition."""

    def __init__(
        self,
        uri: str,
        *,
        username: str | None = None,
        password: str | None = None,
        database: str | None = None,
        policy: Policy | None = None,
        new_token: NewToken = random_token,
        timeout: float = TIMEOUT,
    ) -> None:
        """Keep the address; the first call connects.

        `uri` is like `neo4j://host:7687`. Without a user name or a password it connects without a login,
        without a database to the server's default one. A read takes at most `timeout` seconds, a write twice
        as long. Raises StoreUrlError.
        """
        connection = Neo4jConnection(Login(uri, username, password, database), Timeouts(timeout))
        super().__init__(connection, policy or Policy(), new_token)

    @property
    def playbooks(self) -> Neo4jPlaybooks:
        """The named playbooks in this database."""
        return Neo4jPlaybooks(self.connection.of_playbooks(), self.policy.of_playbooks(), self._new_token)

    async def load_attached(
        self, learner_id: str, wanted: Sequence[WantedPlaybook], known: Snapshot | None = None
    ) -> Loaded:
        """Return the newest snapshot and the named playbooks; see `Store.load_attached`."""
        learner, held = checked_learner_id(learner_id), known or Snapshot()
        return await self._on_portal(lambda link: self._load_attached(link, learner, wanted, held))

    async def teams_of(self, user: str) -> tuple[str, ...]:
        """Return the teams that a user is in; see `Store.teams_of`."""
        return await self._in_session(lambda run: catalogue.teams_of(run, user))

    async def teams(self, limit: int = 100, after: str = "") -> tuple[str, ...]:
        """Return teams in order; see `Store.teams`."""
        return await self._names(catalogue.TEAMS, limit=max(0, limit), after=after)

    async def teams_like(self, team: str) -> tuple[str, ...]:
        """Return the teams that could be taken for this one; see `Store.teams_like`."""
        return await self._names(catalogue.TEAMS_LIKE, key=team_key(team), team=team)

    async def members(self, team: str, limit: int = 100, after: str = "") -> tuple[str, ...]:
        """Return members of a team in order; see `Store.members`."""
        return await self._names(catalogue.MEMBERS, team=team, limit=max(0, limit), after=after)

    async def add_members(self, team: str, members: Collection[str]) -> int:
        """Add members to a team; see `Store.add_members`."""
        return await self._move(catalogue.ADD, team, members)

    async def remove_members(self, team: str, members: Collection[str]) -> int:
        """Remove members of a team; see `Store.remove_members`."""
        return await self._move(catalogue.REMOVE, team, members)

    async def _move(self, query: LiteralString, team: str, members: Collection[str]) -> int:
        """Add members to a team, or remove them; return how many have moved."""
        rows = await self._rows(query, team=team, members=sorted(members), key=team_key(team))
        return rows[0][0] if rows else 0

    async def proposals_by(self, user: str, limit: int = 100, after: str = "") -> tuple[Proposal, ...]:
        """Return what a user has proposed; see `Store.proposals_by`."""
        return await self._in_session(
            lambda run: catalogue.proposals_by(run.of("playbooks"), user, max(0, limit), after)
        )

    async def describe(self) -> str:
        """Return the server's version and edition, the schema, and the number of learners."""

        async def read(link: Neo4jLink) -> str:
            (row,) = await self.connection.rows(link, cypher.DESCRIBE)
            about = f"Neo4j {row['version']} {row['edition']}"
            return f"{about}, schema {row['schema']}, learners: {row['learners']}"

        return await self._on_portal(read)

    async def _load_attached(
        self, link: Neo4jLink, learner: str, wanted: Sequence[WantedPlaybook], known: Snapshot
    ) -> Loaded:
        (row,) = await self.connection.rows(
            link,
            LOAD_ATTACHED,
            uid=learner,
            known=known_parameter(known),
            wanted=wanted_rows(wanted),
        )
        attached: list[AttachedPlaybook | None] = [None] * len(wanted)
        for playbook in map(AttachedRow.model_validate, cast("list[Row]", row.pop("attached"))):
            attached[playbook.place] = await self._attached(playbook)
        snapshot = await self._whole(link, learner, known, Reply.model_validate(row))
        return Loaded(snapshot, tuple(attached))

    async def _attached(self, row: AttachedRow) -> AttachedPlaybook | None:
        """Return the playbook, read once more where another transaction wrote it while it was read."""
        if row.content_base is not None:
            try:
                return row.attached()
            except IncompleteState:
                pass
        subjects = [str(grant.subject) for grant in row.grants]
        return await self.playbooks.read_again(row, subjects)


class Neo4jPlaybooks(Neo4jNamespace):
    """A `PlaybookStore`: the named playbooks in a database, which the store of its learners shares."""

    def __init__(
        self, connection: Neo4jConnection, policy: Policy, new_token: NewToken = random_token
    ) -> None:
        super().__init__(connection, policy, new_token)

    def asked(self, asked: PlaybookAccess) -> Neo4jPlaybooks:
        """Return the same playbooks, checked for one caller; see `PlaybookStore.asked`."""
        other = copy(self)
        other._asked = asked
        return other

    async def check(self, playbook_id: str, needed: Right) -> None:
        """Check a caller who asks; see `PlaybookStore.check`."""
        await self._locked(playbook_id, lambda run: read_entry(run, playbook_id), needed)

    async def create(self, entry: PlaybookEntry, delta: Delta, grants: tuple[Grant, ...] = ()) -> Commit:
        """Store a new playbook; see `PlaybookStore.create`."""
        key = checked_learner_id(entry.playbook_id)
        request = CommitRequest(
            key, delta, Snapshot(), None, None, self.policy, self._new_token, entry, grants, self._asked
        )
        try:
            return await self._commit_on_portal(request)
        except StoreError as error:
            if isinstance(error.__cause__, ConstraintError):
                raise PlaybookExists(
                    f"there is a playbook {entry.name} already: choose another name"
                ) from error
            raise

    async def find(self, ref: PlaybookRef) -> PlaybookEntry | None:
        """Return the entry of an owner and a name; see `PlaybookStore.find`."""
        return await self._in_session(lambda run: find_entry(run, ref))

    async def entry(self, playbook_id: str) -> PlaybookEntry | None:
        """Return the entry with that id."""
        return await self._in_session(lambda run: read_entry(run, playbook_id))

    async def entries(
        self, owner: str | None, limit: int = 100, after: str = ""
    ) -> tuple[PlaybookEntry, ...]:
        """Return the entries of an owner; see `PlaybookStore.entries`."""
        return await self._in_session(lambda run: list_entries(run, owner, max(0, limit), after))

    async def grants(self, playbook_id: str, limit: int = 100, after: str = "") -> tuple[Grant, ...]:
        """Return grants of a playbook; see `PlaybookStore.grants`."""
        return await self._locked(
            playbook_id,
            lambda run: catalogue.list_grants(run, playbook_id, max(0, limit), after),
            Right.OWN,
        )

    async def owners(self, limit: int = 100, after: str = "") -> tuple[str, ...]:
        """Return who owns named playbooks; see `PlaybookStore.owners`."""
        return await self._names(catalogue.OWNERS, limit=max(0, limit), after=after)

    async def set_fields(
        self, playbook_id: str, description: str | None, scope: Scope | None, lessons: Lessons | None
    ) -> bool:
        """Store another description, scope and rule for lessons; see `PlaybookStore.set_fields`."""
        given: dict[str, object] = {"description": description, "scope": scope, "lessons": lessons}
        rows = await self._locked(
            playbook_id, lambda run: fetch(run, catalogue.SET_FIELDS, uid=playbook_id, **given), Right.OWN
        )
        return bool(rows)

    async def put_grant(self, grant: Grant) -> None:
        """Store a grant; see `PlaybookStore.put_grant`."""

        async def put(run: Runner) -> None:
            if await read_entry(run, grant.playbook_id) is None:
                raise not_found(grant.playbook_id)
            await catalogue.put_grants(run, (grant,))

        await self._locked(grant.playbook_id, put, Right.OWN)

    async def drop_grant(self, playbook_id: str, subject: Subject) -> bool:
        """Delete a grant; see `PlaybookStore.drop_grant`."""
        (row,) = await self._locked(
            playbook_id,
            lambda run: fetch(run, catalogue.DROP, uid=playbook_id, subject=str(subject)),
            Right.OWN,
        )
        return row["gone"] != 0

    async def shared_with(
        self, subjects: Sequence[str], limit: int = 100, after: str = ""
    ) -> tuple[tuple[PlaybookEntry, tuple[Grant, ...]], ...]:
        """Return playbooks that are shared; see `PlaybookStore.shared_with`."""
        return await self._in_session(lambda run: list_shared(run, subjects, max(0, limit), after))

    async def put_proposal(self, proposal: Proposal) -> None:
        """Store a new proposal; see `PlaybookStore.put_proposal`."""

        async def put(run: Runner) -> None:
            if await read_entry(run, proposal.playbook_id) is None:
                raise not_found(proposal.playbook_id)
            await catalogue.add_proposal(run, proposal)

        await self._locked(proposal.playbook_id, put, Right.PROPOSE)

    async def proposals(
        self, playbook_id: str, state: ProposalState | None = None, limit: int = 100, after: str = ""
    ) -> tuple[Proposal, ...]:
        """Return proposals for a playbook; see `PlaybookStore.proposals`."""
        return await self._in_session(
            lambda run: catalogue.list_proposals(run, playbook_id, state, max(0, limit), after)
        )

    async def decide(self, proposal: Proposal, held: ProposalState) -> bool:
        """Store a decision; see `PlaybookStore.decide`."""
        decided = proposal_columns(proposal)
        (row,) = await self._locked(
            proposal.playbook_id,
            lambda run: fetch(run, catalogue.DECIDE, proposal=decided, held=held),
            Right.WRITE,
        )
        return row["decided"] != 0

    async def read_again(self, row: AttachedRow, subjects: Sequence[str]) -> AttachedPlaybook | None:
        """Return a playbook and its grants to the subjects, read under its lock; None where it is gone."""

        async def read(run: Runner) -> AttachedPlaybook | None:
            found = await read_locked(run, row.playbook_id)
            if found.absent:
                return None
            grants = await catalogue.read_grants(run, row.playbook_id, subjects)
            owner = row.owner or None
            return AttachedPlaybook(row.playbook_id, row.name, found.version, found.playbook, owner, grants)

        return await self._locked(row.playbook_id, read)

    async def keep_contents(self, playbook_id: str, base: int, contents: Mapping[int, Playbook]) -> None:
        """Drop the other versions; see `PlaybookStore.keep_contents`."""
        await self._locked(playbook_id, lambda run: keep_contents(run, playbook_id, base, contents))
