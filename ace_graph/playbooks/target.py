"""Where a playbook is stored, and how its caller may use it: in which namespace, under which key."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ace_graph.errors import InvalidGrant
from ace_graph.memory.catalogue.entry import PlaybookEntry
from ace_graph.memory.catalogue.name import PlaybookRef
from ace_graph.memory.sharing.asked import Asked, Caller, forbidden, not_found
from ace_graph.memory.sharing.outgoing import outgoing_text
from ace_graph.memory.sharing.right import Right, right
from ace_graph.memory.stores.base import Store
from ace_graph.memory.stores.playbooks import ContentStore, NamingStore, PlaybookStore, VersionedStore, naming
from ace_graph.off_loop import off_loop
from ace_graph.playbooks.directory import caller_of
from ace_graph.playbooks.shared import SharedPlaybook
from ace_graph.telemetry import audit_sharing

__all__ = [
    "Target",
    "User",
    "audit_denial",
    "check_owner",
    "checked_playbooks",
    "not_found",
    "owned_target",
    "require",
    "target_by_id",
    "target_of",
]

User = Caller | str | None
"""Who acts: with teams, or by name, whose teams the store's table has; None: the owner, by the host."""


@dataclass(frozen=True)
class Target:
    """A playbook's entry, and the namespace and the key that its content is under.

    `named` is the namespace of named playbooks; None for a learner's own memory. `learners` is that of the
    learners, where the records of the owner's runs are. `asked` is the caller where the playbook is somebody
    else's; `store` then shows only what leaves the owner, and checks each call, and there are no `learners`.
    """

    ref: PlaybookRef
    store: ContentStore
    key: str
    named: PlaybookStore | None = None
    entry: PlaybookEntry | None = None
    learners: VersionedStore | None = None
    asked: Asked | None = None


async def target_of(store: Store, name: str, owner: str | None, user: User = None) -> Target:
    """Return where a playbook is: the owner's of that name, or that of `owner/name`.

    Who acts is `user`, or else the owner who is named apart. `default` is the owner's own memory, also before
    it exists, and nobody else's. Raises PlaybookNotFound where there is none that the user may read,
    InvalidPlaybook, ConfigurationError, and what the store raises.
    """
    named = naming(store)
    ref = PlaybookRef.parse(name, owner)
    acting: User = user or owner or ref.owner
    who = acting.user if isinstance(acting, Caller) else acting
    if ref.is_default and ref.owner is not None and who == ref.owner:
        return Target(ref, named, ref.owner, learners=named)
    entry = None if ref.is_default else await named.playbooks.find(ref)
    return await _target(named, entry, name, acting, who == ref.owner)


async def target_by_id(store: Store, playbook_id: str, user: User = None) -> Target:
    """Return where the named playbook with this id is. Raises as `target_of` does."""
    named = naming(store)
    entry = await named.playbooks.entry(playbook_id)
    acting: User = user or (entry.owner if entry is not None else None)
    who = acting.user if isinstance(acting, Caller) else acting
    return await _target(named, entry, playbook_id, acting, entry is not None and who == entry.owner)


async def owned_target(store: Store, name: str, owner: str | None) -> Target:
    """Do what `target_of` does, for work that only the owner may do. Raises PlaybookForbidden, too."""
    target = await target_of(store, name, owner)
    check_owner(target)
    return target


def check_owner(target: Target) -> None:
    """Raise PlaybookForbidden where the playbook is somebody else's."""
    if target.asked is not None:
        audit_denial(target.asked.caller, target.key, Right.OWN)
        raise forbidden(target.asked.name, Right.OWN)


async def require(target: Target, needed: Right) -> None:
    """Raise PlaybookForbidden or PlaybookNotFound for a caller without a right to somebody else's playbook.

    The store checks again when the playbook is used; this comes before errors about what is asked for.
    """
    if target.asked is not None and target.named is not None:
        await target.named.asked(target.asked).check(target.key, needed)


def checked_playbooks(target: Target) -> tuple[PlaybookStore, Asked]:
    """Return the namespace that checks who acts in each call, the owner too, and who that is.

    Raises InvalidGrant for a learner's own memory.
    """
    if target.named is None:
        raise InvalidGrant("the own memory can't be shared: create a playbook with what others may read")
    asked = target.asked or Asked(target.key, Caller(target.ref.owner), target.ref.name, audit_denial)
    return target.named.asked(asked), asked


def audit_denial(caller: Caller, playbook_id: str, needed: Right) -> None:
    """Log that a caller was refused."""
    audit_sharing("denied", caller.user, playbook=playbook_id, needed=needed.name.lower())


async def _target(
    named: NamingStore, entry: PlaybookEntry | None, name: str, acting: User, is_owner: bool
) -> Target:
    """Check what is somebody else's or unknown: both with the same reads, so that they take as long."""
    if entry is not None and is_owner and right(entry.owner, (), entry, ()) is Right.OWN:
        return Target(entry.ref, named.playbooks, entry.playbook_id, named.playbooks, entry, named)
    caller = await caller_of(acting, named) if isinstance(acting, str) else acting or Caller(None)
    asked = Asked(name if entry is None else entry.playbook_id, caller, name, audit_denial)
    found = await named.playbooks.asked(asked).entry(asked.playbook_id)
    if found is None:
        raise not_found(name)
    seen = replace(found, description=await off_loop(outgoing_text, found.description))
    view = SharedPlaybook(named.playbooks, asked)
    return Target(found.ref, view, found.playbook_id, named.playbooks, seen, asked=asked)
