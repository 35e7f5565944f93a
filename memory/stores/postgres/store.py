"""The store in a PostgreSQL database, for any number of processes and machines.

A turn costs one statement to load and one to commit, which locks the learner's row, compares it with the
commit's base, and writes; after a conflict, and where it folds, a commit is a transaction. What learners and
named playbooks have in common is in namespace.py.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import copy

from ace_graph.memory.catalogue.attaching import Loaded, Wanted
from ace_graph.memory.catalogue.entry import PlaybookEntry, Scope
from ace_graph.memory.catalogue.name import PlaybookRef
from ace_graph.memory.commit import Commit, NewToken
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.policy import Policy
from ace_graph.memory.sharing.asked import Asked
from ace_graph.memory.sharing.grant import Grant, Subject
from ace_graph.memory.sharing.proposal import Proposal, ProposalState
from ace_graph.memory.sharing.right import Right
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import TIMEOUT, Timeouts, checked_learner_id, random_token
from ace_graph.memory.stores.commit_queue import CommitRequest
from ace_graph.memory.stores.postgres import catalogue, sharing
from ace_graph.memory.stores.postgres.connection import PostgresConnection
from ace_graph.memory.stores.postgres.errors import checked_address
from ace_graph.memory.stores.postgres.history import keep_contents, read_description
from ace_graph.memory.stores.postgres.namespace import PostgresNamespace
from ace_graph.memory.stores.postgres.state import read_attached

__all__ = ["CONNECTIONS", "PostgresPlaybooks", "PostgresStore"]

CONNECTIONS = 16


class PostgresStore(PostgresNamespace):
    """A `NamingStore` (see `ace_graph.memory.stores.playbooks`) on PostgreSQL 14 or newer."""

    def __init__(
        self,
        url: str,
        policy: Policy | None = None,
        *,
        connections: int = CONNECTIONS,
        partitions: int = 0,
        new_token: NewToken = random_token,
        timeout: float = TIMEOUT,
    ) -> None:
        """Keep the address; the first call connects, and makes the tables where there are none.

        `url` is like `postgresql://user:password@host:5432/database`. A process has at most so many
        `connections`. The tables of a new database are divided into so many `partitions` by learner.
        A read takes at most `timeout` seconds, a write twice as long.
        Raises StoreUrlError.
        """
        connection = PostgresConnection(checked_address(url), connections, partitions, Timeouts(timeout))
        super().__init__(connection, policy or Policy(), new_token)

    @property
    def playbooks(self) -> PostgresPlaybooks:
        """The named playbooks in this database."""
        return PostgresPlaybooks(self.connection.of_playbooks(), self.policy.of_playbooks(), self._new_token)

    async def load_attached(
        self, learner_id: str, wanted: Sequence[Wanted], known: Snapshot | None = None
    ) -> Loaded:
        """Return the newest snapshot and the named playbooks; see `NamingStore.load_attached`."""
        learner = checked_learner_id(learner_id)
        return await self._statement(lambda tables: read_attached(tables, learner, known, wanted))

    async def teams_of(self, user: str) -> tuple[str, ...]:
        """Return the teams that a user is in; see `NamingStore.teams_of`."""
        return await self._statement(lambda tables: sharing.teams_of(tables, user))

    async def teams(self, limit: int = 100, after: str = "") -> tuple[str, ...]:
        """Return teams in order; see `NamingStore.teams`."""
        return await self._statement(lambda tables: sharing.list_teams(tables, max(0, limit), after))

    async def teams_like(self, team: str) -> tuple[str, ...]:
        """Return the teams that could be taken for this one; see `NamingStore.teams_like`."""
        return await self._statement(lambda tables: sharing.teams_like(tables, team))

    async def members(self, team: str, limit: int = 100, after: str = "") -> tuple[str, ...]:
        """Return members of a team in order; see `NamingStore.members`."""
        return await self._statement(lambda tables: sharing.list_members(tables, team, max(0, limit), after))

    async def add_members(self, team: str, members: Collection[str]) -> int:
        """Add members to a team; see `NamingStore.add_members`."""
        return await self._write(lambda tables: sharing.add_members(tables, team, members))

    async def remove_members(self, team: str, members: Collection[str]) -> int:
        """Remove members of a team; see `NamingStore.remove_members`."""
        return await self._write(lambda tables: sharing.remove_members(tables, team, members))

    async def proposals_by(self, user: str, limit: int = 100, after: str = "") -> tuple[Proposal, ...]:
        """Return what a user has proposed; see `NamingStore.proposals_by`."""
        return await self._statement(lambda tables: sharing.proposals_by(tables, user, max(0, limit), after))

    async def describe(self) -> str:
        """Return the versions of PostgreSQL and of the schema, and the number of learners."""
        return await self._statement(read_description)


class PostgresPlaybooks(PostgresNamespace):
    """A `PlaybookStore`: the named playbooks in a database, which the store of its learners shares."""

    def asked(self, asked: Asked) -> PostgresPlaybooks:
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
        return await self._statement(lambda tables: catalogue.list_owners(tables, max(0, limit), after))

    async def set_fields(self, playbook_id: str, description: str | None, scope: Scope | None) -> bool:
        """Store another description and scope; see `PlaybookStore.set_fields`."""
        return await self._locked(
            playbook_id, lambda work: catalogue.set_fields(work, playbook_id, description, scope), Right.OWN
        )

    async def grants(self, playbook_id: str, limit: int = 100, after: str = "") -> tuple[Grant, ...]:
        """Return grants of a playbook; see `PlaybookStore.grants`."""
        return await self._read(
            lambda tables: sharing.list_grants(tables, playbook_id, max(0, limit), after), Right.OWN
        )

    async def put_grant(self, grant: Grant) -> None:
        """Store a grant; see `PlaybookStore.put_grant`."""
        await self._locked(grant.playbook_id, lambda work: catalogue.put_grant(work, grant), Right.OWN)

    async def drop_grant(self, playbook_id: str, subject: Subject) -> bool:
        """Delete a grant; see `PlaybookStore.drop_grant`."""
        return await self._locked(
            playbook_id, lambda work: sharing.drop_grant(work, playbook_id, subject), Right.OWN
        )

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
            lambda tables: sharing.list_proposals(tables, playbook_id, state, max(0, limit), after)
        )

    async def decide(self, proposal: Proposal, held: ProposalState) -> bool:
        """Store a decision; see `PlaybookStore.decide`."""
        return await self._locked(
            proposal.playbook_id, lambda work: sharing.decide_proposal(work, proposal, held)
        )

    async def keep_contents(self, playbook_id: str, base: int, contents: Mapping[int, Playbook]) -> None:
        """Drop the other versions; see `PlaybookStore.keep_contents`."""
        await self._locked(playbook_id, lambda work: keep_contents(work, playbook_id, base, contents))
