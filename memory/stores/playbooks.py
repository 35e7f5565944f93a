"""The protocols of a store that holds named playbooks beside the learners. All stores here do.

A named playbook is stored like a learner's memory, in a namespace of its own: `store.playbooks` is a store
whose keys are ids of playbooks, with a catalogue that finds an id by owner and name. So everything that holds
for a learner's memory (commits, conflicts, op ids, history, export, forget) holds for a named playbook.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeGuard

from ace_graph.base.errors import ConfigurationError
from ace_graph.memory.catalogue import Loaded, PlaybookEntry, PlaybookRef, Scope, WantedPlaybook
from ace_graph.memory.commit import Commit
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.rights import PlaybookAccess, Right
from ace_graph.memory.sharing import Grant, Proposal, ProposalState, Subject
from ace_graph.memory.snapshot import Label, Snapshot
from ace_graph.memory.stores.base import CleanableStore, PendingStore, Store


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


class ContentStore(Store, Protocol):
    """A store that lists the versions of what is under a key, and reads their content."""

    async def versions(self, key: str) -> tuple[StoredVersion, ...]:
        """Return all versions, the oldest first, also those whose content was dropped."""
        ...

    async def content_at(self, key: str, n: int) -> Playbook | None:
        """Return the content of version `n`; None where it is not readable."""
        ...


class VersionedStore(CleanableStore, ContentStore, Protocol):
    """A ContentStore that can be cleaned."""


class PlaybookStore(VersionedStore, Protocol):
    """The namespace of named playbooks. In the methods of `Store`, the learner's id is a playbook's id here.

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

    async def set_fields(self, playbook_id: str, description: str | None, scope: Scope | None) -> bool:
        """Store another description or scope, under the playbook's lock; False where there is no playbook.

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


class NamingStore(VersionedStore, Protocol):
    """A store with a namespace of named playbooks, and a table of teams.

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


def keeps_playbooks(store: Store) -> TypeGuard[NamingStore]:
    """Whether a store has the methods of NamingStore; a wrapper that forwards them counts as one."""
    return callable(getattr(store, "load_attached", None)) and hasattr(store, "playbooks")


def naming(store: Store | PendingStore) -> NamingStore:
    """Return the store as one with named playbooks. Raises ConfigurationError for one without."""
    if not keeps_playbooks(store):
        raise ConfigurationError(
            f"the store {store.name} keeps no named playbooks: use SQLite, Neo4j, PostgreSQL or memory, "
            "or add the methods of ace_graph.memory.stores.playbooks.NamingStore"
        )
    return store
