"""The embedded default: every learner in one SQLite file, no set-up, any number of processes.

Reads and writes each have a thread with its own connection (connection.py). What learners and named playbooks
have in common is in namespace.py.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import copy
from pathlib import Path

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
from ace_graph.memory.stores.base import TIMEOUT, checked_learner_id, random_token
from ace_graph.memory.stores.commit_queue import CommitRequest
from ace_graph.memory.stores.sqlite import sharing
from ace_graph.memory.stores.sqlite.catalogue import (
    find_entry,
    keep_contents,
    list_entries,
    list_owners,
    list_shared,
    put_grant,
    put_proposal,
    read_attached,
    read_entry,
    set_fields,
)
from ace_graph.memory.stores.sqlite.file import SQLiteFile
from ace_graph.memory.stores.sqlite.namespace import SQLiteNamespace
from ace_graph.memory.stores.sqlite.rows import read_description

__all__ = ["SQLitePlaybooks", "SQLiteStore"]


class SQLiteStore(SQLiteNamespace):
    """A `NamingStore` (see `ace_graph.memory.stores.playbooks`) in the file at `path`.

    The constructor does no I/O. The first call creates the file, readable by its owner only, and with
    `make_folder` its folder. A call waits at most `lock_timeout` seconds, counted
    from its submission, for the locks of other processes.
    """

    def __init__(
        self,
        path: Path | str,
        policy: Policy | None = None,
        *,
        make_folder: bool = False,
        lock_timeout: float = TIMEOUT,
        new_token: NewToken = random_token,
    ) -> None:
        self.path = Path(path).absolute()
        file = SQLiteFile(self.path, make_folder=make_folder, lock_timeout=lock_timeout)
        super().__init__(file, "learners", policy or Policy(), new_token)

    @property
    def playbooks(self) -> SQLitePlaybooks:
        """The named playbooks in this file."""
        return SQLitePlaybooks(self._file, self.policy.of_playbooks(), self._new_token)

    async def load_attached(
        self, learner_id: str, wanted: Sequence[Wanted], known: Snapshot | None = None
    ) -> Loaded:
        """Return the newest snapshot and the named playbooks; see `NamingStore.load_attached`."""
        learner = checked_learner_id(learner_id)
        return await self._read(lambda tables: read_attached(tables, learner, known, wanted))

    async def teams_of(self, user: str) -> tuple[str, ...]:
        """Return the teams that a user is in; see `NamingStore.teams_of`."""
        return await self._read(lambda tables: sharing.teams_of(tables, user))

    async def teams(self, limit: int = 100, after: str = "") -> tuple[str, ...]:
        """Return teams in order; see `NamingStore.teams`."""
        return await self._read(lambda tables: sharing.list_teams(tables, max(0, limit), after))

    async def teams_like(self, team: str) -> tuple[str, ...]:
        """Return the teams that could be taken for this one; see `NamingStore.teams_like`."""
        return await self._read(lambda tables: sharing.teams_like(tables, team))

    async def members(self, team: str, limit: int = 100, after: str = "") -> tuple[str, ...]:
        """Return members of a team in order; see `NamingStore.members`."""
        return await self._read(lambda tables: sharing.list_members(tables, team, max(0, limit), after))

    async def add_members(self, team: str, members: Collection[str]) -> int:
        """Add members to a team; see `NamingStore.add_members`."""
        return await self._write(lambda tables: sharing.add_members(tables, team, members))

    async def remove_members(self, team: str, members: Collection[str]) -> int:
        """Remove members of a team; see `NamingStore.remove_members`."""
        return await self._write(lambda tables: sharing.remove_members(tables, team, members))

    async def proposals_by(self, user: str, limit: int = 100, after: str = "") -> tuple[Proposal, ...]:
        """Return what a user has proposed; see `NamingStore.proposals_by`."""
        return await self._read(lambda tables: sharing.proposals_by(tables, user, max(0, limit), after))

    async def describe(self) -> str:
        """Return the versions of SQLite and of the schema, and the number of learners."""
        return await self._read(read_description)

    async def integrity(self) -> tuple[str, ...]:
        """Return what SQLite itself finds damaged in the file: pages, indexes, rows that should be unique."""
        found = await self._read(lambda tables: tables.execute("PRAGMA integrity_check(20)").fetchall())
        return tuple(
            f"SQLite finds damage: {why}; restore it from a backup" for (why,) in found if why != "ok"
        )


class SQLitePlaybooks(SQLiteNamespace):
    """A `PlaybookStore`: the named playbooks in a file, which the store of its learners shares."""

    def __init__(self, file: SQLiteFile, policy: Policy, new_token: NewToken = random_token) -> None:
        super().__init__(file, "playbooks", policy, new_token)

    def asked(self, asked: Asked) -> SQLitePlaybooks:
        """Return the same playbooks, checked for one caller; see `PlaybookStore.asked`."""
        other = copy(self)
        other._asked = asked
        return other

    async def check(self, playbook_id: str, needed: Right) -> None:
        """Check a caller who asks; see `PlaybookStore.check`."""
        await self._read(lambda tables: read_entry(tables, playbook_id), needed)

    async def create(self, entry: PlaybookEntry, delta: Delta, grants: tuple[Grant, ...] = ()) -> Commit:
        """Store a new playbook; see `PlaybookStore.create`."""
        key = checked_learner_id(entry.playbook_id)
        request = CommitRequest(
            key, delta, Snapshot(), None, None, self.policy, self._new_token, entry, grants, self._asked
        )
        return await self._commit_on_portal(request)

    async def grants(self, playbook_id: str, limit: int = 100, after: str = "") -> tuple[Grant, ...]:
        """Return grants of a playbook; see `PlaybookStore.grants`."""
        return await self._read(
            lambda tables: sharing.list_grants(tables, playbook_id, max(0, limit), after), Right.OWN
        )

    async def put_grant(self, grant: Grant) -> None:
        """Store a grant; see `PlaybookStore.put_grant`."""
        await self._write(lambda tables: put_grant(tables, grant), Right.OWN)

    async def drop_grant(self, playbook_id: str, subject: Subject) -> bool:
        """Delete a grant; see `PlaybookStore.drop_grant`."""
        return await self._write(lambda tables: sharing.drop_grant(tables, playbook_id, subject), Right.OWN)

    async def shared_with(
        self, subjects: Sequence[str], limit: int = 100, after: str = ""
    ) -> tuple[tuple[PlaybookEntry, tuple[Grant, ...]], ...]:
        """Return playbooks that are shared; see `PlaybookStore.shared_with`."""
        return await self._read(lambda tables: list_shared(tables, subjects, max(0, limit), after))

    async def set_fields(self, playbook_id: str, description: str | None, scope: Scope | None) -> bool:
        """Store another description and scope; see `PlaybookStore.set_fields`."""
        return await self._write(
            lambda tables: set_fields(tables, playbook_id, description, scope), Right.OWN
        )

    async def find(self, ref: PlaybookRef) -> PlaybookEntry | None:
        """Return the entry of an owner and a name; see `PlaybookStore.find`."""
        return await self._read(lambda tables: find_entry(tables, ref))

    async def entry(self, playbook_id: str) -> PlaybookEntry | None:
        """Return the entry with that id."""
        return await self._read(lambda tables: read_entry(tables, playbook_id))

    async def entries(
        self, owner: str | None, limit: int = 100, after: str = ""
    ) -> tuple[PlaybookEntry, ...]:
        """Return the entries of an owner; see `PlaybookStore.entries`."""
        return await self._read(lambda tables: list_entries(tables, owner, max(0, limit), after))

    async def owners(self, limit: int = 100, after: str = "") -> tuple[str, ...]:
        """Return who owns named playbooks; see `PlaybookStore.owners`."""
        return await self._read(lambda tables: list_owners(tables, max(0, limit), after))

    async def put_proposal(self, proposal: Proposal) -> None:
        """Store a new proposal; see `PlaybookStore.put_proposal`."""
        await self._write(lambda tables: put_proposal(tables, proposal), Right.PROPOSE)

    async def proposals(
        self, playbook_id: str, state: ProposalState | None = None, limit: int = 100, after: str = ""
    ) -> tuple[Proposal, ...]:
        """Return proposals for a playbook; see `PlaybookStore.proposals`."""
        return await self._read(
            lambda tables: sharing.list_proposals(tables, playbook_id, state, max(0, limit), after)
        )

    async def decide(self, proposal: Proposal, held: ProposalState) -> bool:
        """Store a decision; see `PlaybookStore.decide`."""
        return await self._write(lambda tables: sharing.decide_proposal(tables, proposal, held))

    async def keep_contents(self, playbook_id: str, base: int, contents: Mapping[int, Playbook]) -> None:
        """Drop the other versions; see `PlaybookStore.keep_contents`."""
        await self._write(lambda tables: keep_contents(tables, playbook_id, base, contents))
