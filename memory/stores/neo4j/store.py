"""The shared store: one `AceMemoryState` node per learner in Neo4j, for any number of processes.

A turn costs two round trips: one load and one commit. A commit is one statement that takes the learner's
lock, compares the stored state with its base, and writes when they are the same. After a conflict it is one
transaction that locks, reads, resolves and writes, so it always finishes. Transient errors are retried; the
op id makes that safe, even when the reply to a commit was lost.

`User` nodes that the host application created are left as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import copy
from typing import cast

from neo4j.exceptions import ConstraintError

from ace_graph.errors import IncompleteState, PlaybookExists, StoreError
from ace_graph.memory.catalogue.attaching import AttachedPlaybook, Loaded, Wanted
from ace_graph.memory.catalogue.entry import PlaybookEntry, Scope
from ace_graph.memory.catalogue.name import PlaybookRef
from ace_graph.memory.commit import Commit, NewToken
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.policy import Policy
from ace_graph.memory.sharing.asked import Asked, not_found
from ace_graph.memory.sharing.grant import Grant, Subject
from ace_graph.memory.sharing.proposal import Proposal, ProposalState
from ace_graph.memory.sharing.right import Right
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import TIMEOUT, Timeouts, checked_learner_id, random_token
from ace_graph.memory.stores.commit_queue import CommitRequest
from ace_graph.memory.stores.neo4j import queries as cypher
from ace_graph.memory.stores.neo4j import sharing
from ace_graph.memory.stores.neo4j.catalogue import (
    LOAD_ATTACHED,
    AttachedRow,
    find_entry,
    keep_contents,
    list_entries,
    list_owners,
    list_shared,
    read_entry,
    set_fields,
    wanted_rows,
)
from ace_graph.memory.stores.neo4j.commit import read_locked
from ace_graph.memory.stores.neo4j.connection import Link, Login, Neo4jConnection
from ace_graph.memory.stores.neo4j.namespace import Neo4jNamespace
from ace_graph.memory.stores.neo4j.rows import Reply, known_parameter
from ace_graph.memory.stores.neo4j.runner import Row, Runner

__all__ = ["Neo4jPlaybooks", "Neo4jStore"]


class Neo4jStore(Neo4jNamespace):
    """A `NamingStore` (see `ace_graph.memory.stores.playbooks`) on Neo4j 5.26 or newer, any edition."""

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
        self, learner_id: str, wanted: Sequence[Wanted], known: Snapshot | None = None
    ) -> Loaded:
        """Return the newest snapshot and the named playbooks; see `NamingStore.load_attached`."""
        learner, held = checked_learner_id(learner_id), known or Snapshot()
        return await self._on_portal(lambda link: self._load_attached(link, learner, wanted, held))

    async def teams_of(self, user: str) -> tuple[str, ...]:
        """Return the teams that a user is in; see `NamingStore.teams_of`."""
        return await self._in_session(lambda run: sharing.teams_of(run, user))

    async def teams(self, limit: int = 100, after: str = "") -> tuple[str, ...]:
        """Return teams in order; see `NamingStore.teams`."""
        return await self._in_session(lambda run: sharing.list_teams(run, max(0, limit), after))

    async def teams_like(self, team: str) -> tuple[str, ...]:
        """Return the teams that could be taken for this one; see `NamingStore.teams_like`."""
        return await self._in_session(lambda run: sharing.teams_like(run, team))

    async def members(self, team: str, limit: int = 100, after: str = "") -> tuple[str, ...]:
        """Return members of a team in order; see `NamingStore.members`."""
        return await self._in_session(lambda run: sharing.list_members(run, team, max(0, limit), after))

    async def add_members(self, team: str, members: Collection[str]) -> int:
        """Add members to a team; see `NamingStore.add_members`."""
        return await self._in_session(lambda run: sharing.move_members(run, team, members, joining=True))

    async def remove_members(self, team: str, members: Collection[str]) -> int:
        """Remove members of a team; see `NamingStore.remove_members`."""
        return await self._in_session(lambda run: sharing.move_members(run, team, members, joining=False))

    async def proposals_by(self, user: str, limit: int = 100, after: str = "") -> tuple[Proposal, ...]:
        """Return what a user has proposed; see `NamingStore.proposals_by`."""
        return await self._in_session(
            lambda run: sharing.proposals_by(run.of("playbooks"), user, max(0, limit), after)
        )

    async def describe(self) -> str:
        """Return the server's version and edition, the schema, and the number of learners."""

        async def read(link: Link) -> str:
            (row,) = await self.connection.rows(link, cypher.DESCRIBE)
            about = f"Neo4j {row['version']} {row['edition']}"
            return f"{about}, schema {row['schema']}, learners: {row['learners']}"

        return await self._on_portal(read)

    async def _load_attached(
        self, link: Link, learner: str, wanted: Sequence[Wanted], known: Snapshot
    ) -> Loaded:
        (row,) = await self.connection.rows(
            link,
            LOAD_ATTACHED,
            uid=learner,
            known=known_parameter(known),
            wanted=wanted_rows(wanted),
        )
        attached: list[AttachedPlaybook | None] = [None] * len(wanted)
        for each in map(AttachedRow.model_validate, cast("list[Row]", row.pop("attached"))):
            attached[each.place] = await self._attached(each)
        snapshot = await self._whole(link, learner, known, Reply.model_validate(row))
        return Loaded(snapshot, tuple(attached))

    async def _attached(self, row: AttachedRow) -> AttachedPlaybook | None:
        """Return the playbook, read once more where another transaction wrote it while it was read."""
        if row.content_base is not None:
            try:
                return row.attached()
            except IncompleteState:
                pass
        subjects = [str(each.grant().subject) for each in row.grants]
        return await self.playbooks.read_again(row, subjects)


class Neo4jPlaybooks(Neo4jNamespace):
    """A `PlaybookStore`: the named playbooks in a database, which the store of its learners shares."""

    def __init__(
        self, connection: Neo4jConnection, policy: Policy, new_token: NewToken = random_token
    ) -> None:
        super().__init__(connection, policy, new_token)

    def asked(self, asked: Asked) -> Neo4jPlaybooks:
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
            lambda run: sharing.list_grants(run, playbook_id, max(0, limit), after),
            Right.OWN,
        )

    async def owners(self, limit: int = 100, after: str = "") -> tuple[str, ...]:
        """Return who owns named playbooks; see `PlaybookStore.owners`."""
        return await self._in_session(lambda run: list_owners(run, max(0, limit), after))

    async def set_fields(self, playbook_id: str, description: str | None, scope: Scope | None) -> bool:
        """Store another description and scope; see `PlaybookStore.set_fields`."""
        return await self._locked(
            playbook_id, lambda run: set_fields(run, playbook_id, description, scope), Right.OWN
        )

    async def put_grant(self, grant: Grant) -> None:
        """Store a grant; see `PlaybookStore.put_grant`."""

        async def put(run: Runner) -> None:
            if await read_entry(run, grant.playbook_id) is None:
                raise not_found(grant.playbook_id)
            await sharing.put_grants(run, (grant,))

        await self._locked(grant.playbook_id, put, Right.OWN)

    async def drop_grant(self, playbook_id: str, subject: Subject) -> bool:
        """Delete a grant; see `PlaybookStore.drop_grant`."""
        return await self._locked(
            playbook_id, lambda run: sharing.drop_grant(run, playbook_id, subject), Right.OWN
        )

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
            await sharing.add_proposal(run, proposal)

        await self._locked(proposal.playbook_id, put, Right.PROPOSE)

    async def proposals(
        self, playbook_id: str, state: ProposalState | None = None, limit: int = 100, after: str = ""
    ) -> tuple[Proposal, ...]:
        """Return proposals for a playbook; see `PlaybookStore.proposals`."""
        return await self._in_session(
            lambda run: sharing.list_proposals(run, playbook_id, state, max(0, limit), after)
        )

    async def decide(self, proposal: Proposal, held: ProposalState) -> bool:
        """Store a decision; see `PlaybookStore.decide`."""
        return await self._locked(
            proposal.playbook_id,
            lambda run: sharing.decide_proposal(run, proposal, held),
            Right.WRITE,
        )

    async def read_again(self, row: AttachedRow, subjects: Sequence[str]) -> AttachedPlaybook | None:
        """Return a playbook and its grants to the subjects, read under its lock; None where it is gone."""

        async def read(run: Runner) -> AttachedPlaybook | None:
            found = await read_locked(run, row.playbook_id)
            if found.absent:
                return None
            grants = await sharing.read_grants(run, row.playbook_id, subjects)
            owner = row.owner or None
            return AttachedPlaybook(row.playbook_id, row.name, found.version, found.playbook, owner, grants)

        return await self._locked(row.playbook_id, read)

    async def keep_contents(self, playbook_id: str, base: int, contents: Mapping[int, Playbook]) -> None:
        """Drop the other versions; see `PlaybookStore.keep_contents`."""
        await self._locked(playbook_id, lambda run: keep_contents(run, playbook_id, base, contents))
