"""The catalogue of the in-memory store: named playbooks with their entries, grants and proposals."""

from __future__ import annotations

from dataclasses import replace

from ace_graph.errors import PlaybookExists
from ace_graph.memory.catalogue.entry import PlaybookEntry
from ace_graph.memory.catalogue.name import PlaybookRef
from ace_graph.memory.sharing.asked import not_found
from ace_graph.memory.stores.in_memory.namespace import Held
from ace_graph.memory.stores.in_memory.sharing import Grants, Proposals
from ace_graph.memory.stores.whole import WholeMemory

__all__ = ["NamedPlaybooks"]


class NamedPlaybooks(Held):
    """The named playbooks, and their entries by id."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: dict[str, PlaybookEntry] = {}
        self.grants = Grants()
        self.proposals = Proposals()

    def find(self, ref: PlaybookRef) -> PlaybookEntry | None:
        """Return the entry of an owner and a name."""
        found = (e for e in self.entries.values() if (e.owner, e.name_key) == (ref.owner, ref.key))
        return self.now(next(found, None))

    def of(self, owner: str | None) -> list[PlaybookEntry]:
        """Return the entries of an owner in the order of their name keys."""
        found = [self.now(entry) for entry in self.entries.values() if entry.owner == owner]
        return sorted((entry for entry in found if entry is not None), key=lambda entry: entry.name_key)

    def now(self, entry: PlaybookEntry | None) -> PlaybookEntry | None:
        """Return an entry with its times and its version as they are now."""
        if entry is None:
            return None
        held = self.by_id[entry.playbook_id]
        version = held.snapshot.version
        return replace(entry, created_at=held.created_at, updated_at=held.changed_at, version=version)

    def with_entry(self, key: str, memory: WholeMemory) -> WholeMemory:
        """Return what is stored of a playbook with its entry, its grants and the proposals for it."""
        grants, proposals = self.grants.of(key), self.proposals.of(key, None, "")
        entry = self.now(self.entries.get(key))
        return replace(memory, entry=entry, grants=tuple(grants), proposals=tuple(proposals))

    def put_entry(self, key: str, memory: WholeMemory) -> None:
        """Store the entry of a whole playbook, its grants and proposals. Raises PlaybookExists."""
        entry = memory.entry
        if entry is None:
            raise not_found(key)
        other = self.find(entry.ref)
        if other is not None and other.playbook_id != key:
            raise PlaybookExists(f"there is a playbook {entry.name} already: choose another name")
        self.entries[key] = entry
        self.grants.drop_all(key)
        self.grants.put(memory.grants)
        self.proposals.drop(lambda each: each.playbook_id == key)
        for proposal in memory.proposals:
            self.proposals.put(proposal)
