"""The shared store: one `AceMemoryState` node per learner in Neo4j, for any number of processes.

A turn costs two round trips: one load and one commit. A commit is one statement that takes the learner's
lock, compares the stored state with its base, and writes when they are the same. After a conflict it is one
transaction that locks, reads, resolves and writes, so it always finishes. Transient errors are retried; the
op id makes that safe, even when the reply to a commit was lost.

`User` nodes that the host application created are left as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from neo4j.exceptions import ConstraintError

from ace_graph.errors import PlaybookExists, StoreError
from ace_graph.memory.catalogue.attaching import AttachedPlaybook, Loaded, Wanted
from ace_graph.memory.catalogue.entry import PlaybookEntry
from ace_graph.memory.catalogue.name import PlaybookRef
from ace_graph.memory.commit import Commit, NewToken
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.policy import Policy
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import checked_learner_id, random_token
from ace_graph.memory.stores.neo4j import queries as cypher
from ace_graph.memory.stores.neo4j.catalogue import (
    LOAD_ATTACHED,
    AttachedRow,
    find_entry,
    keep_contents,
    list_entries,
    read_entry,
    wanted_rows,
)
from ace_graph.memory.stores.neo4j.connection import Link, Login, Neo4jConnection, Row
from ace_graph.memory.stores.neo4j.namespace import Neo4jNamespace
from ace_graph.memory.stores.neo4j.rows import Reply

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
    ) -> None:
        """Keep the address; the first call connects.

        `uri` is like `neo4j://host:7687`. Without a user name or a password it connects without a login,
        without a database to the server's default one. Raises StoreUrlError.
        """
        connection = Neo4jConnection(Login(uri, username, password, database))
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
            epoch=known.version.epoch,
            etag=known.version.etag,
            wanted=wanted_rows(wanted),
        )
        attached: list[AttachedPlaybook | None] = [None] * len(wanted)
        for each in map(AttachedRow.model_validate, cast("list[Row]", row.pop("attached"))):
            attached[each.place] = await self._whole(link, each)
        snapshot = Reply.model_validate(row).snapshot(known) or await self._read_locked(link, learner, known)
        return Loaded(snapshot, tuple(attached))

    async def _whole(self, link: Link, row: AttachedRow) -> AttachedPlaybook | None:
        """Return the playbook, read once more where another transaction wrote it while it was read."""
        if not row.is_torn:
            return row.attached()
        named = self.playbooks
        found = await named.load(row.playbook_id)
        if found.absent:
            return None
        return AttachedPlaybook(row.playbook_id, row.name, found.version, found.playbook)


class Neo4jPlaybooks(Neo4jNamespace):
    """A `PlaybookStore`: the named playbooks in a database, which the store of its learners shares."""

    def __init__(
        self, connection: Neo4jConnection, policy: Policy, new_token: NewToken = random_token
    ) -> None:
        super().__init__(connection, policy, new_token)

    async def create(self, entry: PlaybookEntry, delta: Delta) -> Commit:
        """Store a new playbook; see `PlaybookStore.create`."""
        key = checked_learner_id(entry.playbook_id)
        try:
            return await self._write_commit(key, delta, Snapshot(), entry=entry)
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

    async def keep_contents(self, playbook_id: str, base: int, contents: Mapping[int, Playbook]) -> None:
        """Drop the other versions; see `PlaybookStore.keep_contents`."""
        await self._locked(playbook_id, lambda run: keep_contents(run, playbook_id, base, contents))
