"""Where a playbook is stored: in which namespace of a store, under which key."""

from __future__ import annotations

from dataclasses import dataclass

from ace_graph.errors import PlaybookNotFound
from ace_graph.memory.catalogue.entry import PlaybookEntry
from ace_graph.memory.catalogue.name import DEFAULT, PlaybookRef
from ace_graph.memory.stores.base import Store
from ace_graph.memory.stores.playbooks import PlaybookStore, VersionedStore, naming

__all__ = ["Target", "not_found", "target_by_id", "target_of"]


@dataclass(frozen=True)
class Target:
    """A playbook's entry, and the namespace and the key that its content is under.

    `named` is the namespace of named playbooks; None for a learner's own memory. `learners` is that of the
    learners, where the records of the owner's runs are.
    """

    ref: PlaybookRef
    store: VersionedStore
    key: str
    named: PlaybookStore | None = None
    entry: PlaybookEntry | None = None
    learners: VersionedStore | None = None


async def target_of(store: Store, name: str, owner: str | None) -> Target:
    """Return where an owner's playbook is; `default` is the owner's own memory, also before it exists.

    Raises PlaybookNotFound, InvalidPlaybook, ConfigurationError, and what the store raises.
    """
    named = naming(store)
    ref = PlaybookRef.parse(name, owner)
    if ref.is_default and ref.owner is not None:
        return Target(ref, named, ref.owner, learners=named)
    entry = None if ref.is_default else await named.playbooks.find(ref)
    if entry is None:
        raise not_found(name)
    return Target(entry.ref, named.playbooks, entry.playbook_id, named.playbooks, entry, named)


async def target_by_id(store: Store, playbook_id: str) -> Target:
    """Return where the named playbook with this id is. Raises as `target_of` does."""
    named = naming(store)
    entry = await named.playbooks.entry(playbook_id)
    if entry is None:
        raise not_found(playbook_id)
    return Target(entry.ref, named.playbooks, entry.playbook_id, named.playbooks, entry, named)


def not_found(name: str) -> PlaybookNotFound:
    """Return the error for a playbook that does not exist or may not be read: they are alike."""
    shown = name if len(name) <= 60 else f"{name[:60]}…"
    hint = "it is there once something was learned" if name == DEFAULT else "playbook list shows yours"
    return PlaybookNotFound(f"there is no playbook {shown!r}: {hint}")
