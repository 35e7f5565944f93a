"""The protocols of a store that holds named playbooks beside the learners. All stores here do.

A named playbook is stored like a learner's memory, in a namespace of its own: `store.playbooks` is a store
whose keys are ids of playbooks, with a catalogue that finds an id by owner and name. So everything that holds
for a learner's memory (commits, conflicts, op ids, history, export, forget) holds for a named playbook.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeGuard

from ace_graph.errors import ConfigurationError
from ace_graph.memory.catalogue.attaching import Loaded, Wanted
from ace_graph.memory.catalogue.entry import PlaybookEntry
from ace_graph.memory.catalogue.label import Label
from ace_graph.memory.catalogue.name import PlaybookRef
from ace_graph.memory.commit import Commit
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import CleanableStore, PendingStore, Store

__all__ = [
    "NamingStore",
    "PlaybookStore",
    "StoredVersion",
    "VersionedStore",
    "keeps_playbooks",
    "keeps_versions",
    "naming",
]


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


class VersionedStore(CleanableStore, Protocol):
    """A store that lists the versions of what is under a key, and reads their content."""

    async def versions(self, key: str) -> tuple[StoredVersion, ...]:
        """Return all versions, the oldest first, also those whose content was dropped."""
        ...

    async def content_at(self, key: str, n: int) -> Playbook | None:
        """Return the content of version `n`; None where it is not readable."""
        ...


class PlaybookStore(VersionedStore, Protocol):
    """The namespace of named playbooks. In the methods of `Store`, the learner's id is a playbook's id here.

    No history is compacted by itself: `keep_versions` decides what stays readable. `forget` deletes the entry
    with everything else. A commit to a playbook that was deleted raises LearnerForgotten.
    """

    async def create(self, entry: PlaybookEntry, delta: Delta) -> Commit:
        """Store the entry and commit `delta`, atomically. Both are new, or this is a repetition.

        Raises PlaybookExists where the owner has a playbook of that name, whoever created it first.
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

    async def keep_contents(self, playbook_id: str, base: int, contents: Mapping[int, Playbook]) -> None:
        """Keep the versions from `base` on, and before it only those of `contents`, which has `base` too.

        `contents` are the versions' contents, as `content_at` returned them.
        """
        ...


class NamingStore(VersionedStore, Protocol):
    """A store with a namespace of named playbooks.

    `forget` deletes the learner's playbooks, `export` holds them.
    """

    @property
    def playbooks(self) -> PlaybookStore:
        """The named playbooks."""
        ...

    async def load_attached(
        self, learner_id: str, wanted: Sequence[Wanted], known: Snapshot | None = None
    ) -> Loaded:
        """Do what `load` does, and read named playbooks with it, in the same read."""
        ...


def keeps_playbooks(store: Store) -> TypeGuard[NamingStore]:
    """Whether a store has the methods of NamingStore; a wrapper that forwards them counts as one."""
    return callable(getattr(store, "load_attached", None)) and hasattr(store, "playbooks")


def keeps_versions(store: Store) -> TypeGuard[VersionedStore]:
    """Whether a store has the methods of VersionedStore."""
    return callable(getattr(store, "versions", None)) and callable(getattr(store, "content_at", None))


def naming(store: Store | PendingStore) -> NamingStore:
    """Return the store as one with named playbooks. Raises ConfigurationError for one without."""
    if not keeps_playbooks(store):
        raise ConfigurationError(
            f"the store {store.name} keeps no named playbooks: use SQLite, Neo4j or memory, or add the "
            "methods of ace_graph.memory.stores.playbooks.NamingStore"
        )
    return store
