"""Creating, reading, changing and deleting playbooks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import uuid4

from ace_graph.errors import ChangeRefused, InvalidPlaybook, LearnerForgotten
from ace_graph.memory.bullet import Danger
from ace_graph.memory.catalogue.entry import PlaybookEntry, checked_entry
from ace_graph.memory.catalogue.name import DEFAULT, PlaybookRef
from ace_graph.memory.clock import utc_now
from ace_graph.memory.commit import Commit
from ace_graph.memory.delta.effect import Rejection
from ace_graph.memory.delta.operations import Delta, Operation
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.screening.screen import screen
from ace_graph.memory.sharing.asked import Caller
from ace_graph.memory.sharing.grant import Grant, Subject
from ace_graph.memory.sharing.outgoing import outgoing_text
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import Store, checked_learner_id
from ace_graph.memory.stores.playbooks import PlaybookStore, naming
from ace_graph.off_loop import in_slices, off_loop
from ace_graph.playbooks.content import Content, adds_of, replacement, unknown_examples, without_turns
from ace_graph.playbooks.directory import caller_of
from ace_graph.playbooks.target import Target, User, not_found, target_by_id, target_of
from ace_graph.playbooks.versions import drop_old_versions

__all__ = [
    "Change",
    "NamedPlaybook",
    "Written",
    "create",
    "delete",
    "edit_fields",
    "edit_target",
    "get_playbook",
    "list_playbooks",
    "read",
    "update",
    "update_playbook",
    "write",
]


@dataclass(frozen=True)
class NamedPlaybook:
    """A playbook with its entry; the version in both is the same."""

    entry: PlaybookEntry
    snapshot: Snapshot

    @property
    def playbook(self) -> Playbook:
        """The bullets."""
        return self.snapshot.playbook


@dataclass(frozen=True)
class Change:
    """Who changes a playbook, when and why; and what else is asked of the commit.

    `keeps_label`: the version has the label of the one before. With `expected_etag` the change is for the
    content with that etag only. With an `op_id`, at most 128 characters, the change is made once, however
    often it is asked for.
    """

    author: str = "host"
    reason: str = ""
    now: datetime | None = None
    keeps_label: bool = False
    expected_etag: str | None = None
    op_id: str | None = None

    def delta(self, *operations: Operation) -> Delta:
        """Return the operations as one delta."""
        return Delta(
            op_id=self.op_id or uuid4().hex,
            now=self.now or utc_now(),
            operations=operations,
            author=self.author,
            reason=self.reason[:500],
            keeps_label=self.keeps_label,
            expected_etag=self.expected_etag,
        )


@dataclass(frozen=True)
class Written:
    """The commit of a change, and what of the content was refused."""

    commit: Commit
    refused: tuple[Rejection, ...] = ()


async def create(
    store: Store,
    name: str,
    content: Content = (),
    *,
    owner: str | None = None,
    description: str = "",
    scope: str = "agent",
    visibility: str = "private",
    user: User = None,
    change: Change | None = None,
    new_id: Callable[[], str] = lambda: str(uuid4()),
) -> str:
    """Create a playbook at version 1.0 and return its id.

    Only the owner can read it, unless `visibility` is shared and `scope` is tenant: then the teams that the
    owner is in now can, each by a grant as viewer. Their names are those of `user`, else of the store's
    table. Raises PlaybookExists for a name that the owner has, InvalidPlaybook for a field
    that can't be used, ChangeRefused for a name or a description that the screen refuses, and when all of
    the content is refused; then nothing is written.
    """
    change, ref = change or Change(reason="created"), PlaybookRef(_checked_owner(owner), name)
    fields = {"description": description, "scope": scope, "visibility": visibility}
    entry = checked_entry(new_id(), ref, change.now or utc_now(), **fields)
    await off_loop(_check_shown, entry.name, description)
    playbooks, adds = naming(store).playbooks, without_turns(await off_loop(adds_of, content))
    unknown = await unknown_examples(naming(store), entry.owner, adds)
    first = await in_slices(replacement(adds, Playbook(), store.policy, entry.created_at, unknown), owner)
    _check_any_accepted(len(adds), first.refused)
    grants = await _offered(store, entry, user)
    await playbooks.create(entry, change.delta(first.operation), grants)
    return entry.playbook_id


async def _offered(store: Store, entry: PlaybookEntry, user: User) -> tuple[Grant, ...]:
    """The grants that a new playbook begins with: to the owner's teams, if it is shared with the tenant."""
    owner = entry.owner
    if owner is None or (entry.scope, entry.visibility) != ("tenant", "shared"):
        return ()
    caller = user if isinstance(user, Caller) else await caller_of(owner, naming(store))
    teams = sorted(caller.teams)
    return tuple(
        Grant(Subject("team", team), "viewer", entry.playbook_id, owner, entry.created_at) for team in teams
    )


async def get_playbook(
    store: Store, name: str = DEFAULT, owner: str | None = None, *, user: User = None
) -> NamedPlaybook:
    """Return a playbook as `user` may read it: an owner's of that name, or `owner/name`.

    Without a user it is the owner who asks. Raises PlaybookNotFound, InvalidPlaybook.
    """
    return await read(store, await target_of(store, name, owner, user))


async def list_playbooks(
    store: Store, owner: str | None = None, *, limit: int = 100, after: str = ""
) -> tuple[PlaybookEntry, ...]:
    """Return an owner's playbooks: the own memory, where there is one, then the others by name.

    `after` is the `name_key` of the last one of the page before.
    """
    playbooks = naming(store).playbooks
    own = await playbooks.find(PlaybookRef(owner, DEFAULT)) if owner is not None and not after else None
    place = "" if after == DEFAULT else after  # the own memory comes first, and no other is called so
    named = await playbooks.entries(owner, limit - (own is not None), place)
    return named if own is None else (own, *named)


async def update_playbook(
    store: Store,
    content: Content,
    name: str = DEFAULT,
    *,
    owner: str | None = None,
    merge: bool = True,
    change: Change | None = None,
    user: User = None,
) -> str:
    """Add content to a playbook, or with `merge=False` replace all of it; return the playbook's id.

    What is known already is reinforced, not doubled. A replacement is a new major version, in one commit; the
    version before stays readable. In a playbook of somebody else, `user` changes what they see, and the rest
    stays. Raises PlaybookNotFound, PlaybookForbidden, PlaybookChanged, and ChangeRefused when all of
    the content is refused; then nothing is written.
    """
    target = await target_of(store, name, owner, user)
    await write(store, target, content, merge=merge, change=change)
    return DEFAULT if target.entry is None else target.entry.playbook_id


async def update(
    store: Store,
    playbook_id: str,
    content: Content,
    *,
    merge: bool = True,
    increment_version: bool = True,
    change: Change | None = None,
    user: User = None,
) -> Commit:
    """Do what `update_playbook` does, for the playbook with this id.

    With `increment_version=False` the change is an amendment: the version keeps its label, and is listed.
    """
    change = change or Change()
    amends = replace(change, keeps_label=not increment_version)
    target = await target_by_id(store, playbook_id, user)
    return (await write(store, target, content, merge=merge, change=amends)).commit


async def edit_fields(
    store: Store,
    name: str,
    owner: str | None = None,
    *,
    description: str | None = None,
    scope: str | None = None,
    user: User = None,
) -> PlaybookEntry:
    """Give a playbook another description or scope, which makes no version; return its entry.

    Raises PlaybookNotFound, PlaybookForbidden for a `user` who does not own it, InvalidPlaybook for a field
    that can't be used, and for `default`, which has none, ChangeRefused for what the screen refuses.
    """
    return await edit_target(await target_of(store, name, owner, user), description, scope)


async def edit_target(target: Target, description: str | None, scope: str | None) -> PlaybookEntry:
    """Do what `edit_fields` does, for the playbook at a target."""
    if target.entry is None or target.named is None:
        raise InvalidPlaybook("the own memory has no description and no scope: name a playbook")
    held = target.entry
    await off_loop(_check_shown, "", description)
    wanted = checked_entry(
        held.playbook_id,
        held.ref,
        held.created_at,
        description=held.description if description is None else description,
        scope=held.scope if scope is None else scope,
    )
    stored = _for_caller(target, target.named)
    scoped = None if scope is None else wanted.scope
    if not await stored.set_fields(held.playbook_id, description, scoped):
        raise not_found(target.ref.name)
    return replace(held, description=wanted.description, scope=wanted.scope)


async def delete(
    store: Store, playbook_id: str, *, user: User = None, expected_etag: str | None = None
) -> bool:
    """Delete a playbook with all of its versions and grants; False when there was none.

    With `expected_etag` it is deleted only with that content, else PlaybookChanged. Raises InvalidPlaybook
    for `default`: `forget` deletes a learner's own memory. With a `user`, raises PlaybookNotFound and
    PlaybookForbidden for one who does not own it.
    """
    if playbook_id == DEFAULT:
        raise InvalidPlaybook("the own memory can't be deleted as a playbook: forget the learner instead")
    stored = naming(store).playbooks
    if user is not None:
        stored = _for_caller(await target_by_id(store, playbook_id, user), stored)
    return await stored.forget(playbook_id, expected_etag)


def _check_shown(name: str, description: str | None) -> None:
    """Raise ChangeRefused for a name or a description that the screen refuses: others and models read them.

    A description may hold a link; others don't see it then.
    """
    vouched: tuple[Danger, ...] = ("link",)
    for field, why in (("name", screen(name)), ("description", screen(description or "", vouched))):
        if why is not None:
            raise ChangeRefused(f"the {field} can't be shown to others and to models: {why}; use other words")


def _for_caller(target: Target, stored: PlaybookStore) -> PlaybookStore:
    """Return the playbooks as the caller may change them: the store checks the right."""
    return stored if target.asked is None else stored.asked(target.asked)


async def read(store: Store, target: Target) -> NamedPlaybook:
    """Return the playbook at a target. Raises PlaybookNotFound where it is gone, or not there yet."""
    entry = await naming(store).playbooks.find(target.ref)
    snapshot = await target.store.load(target.key)
    if entry is None or snapshot.absent:
        raise not_found(target.ref.name)
    if target.asked is not None:
        entry = replace(entry, description=await off_loop(outgoing_text, entry.description))
    return NamedPlaybook(replace(entry, version=snapshot.version), snapshot)


async def write(
    store: Store, target: Target, content: Content, *, merge: bool = True, change: Change | None = None
) -> Written:
    """Commit content to the playbook at a target; see `update_playbook`."""
    change, adds = change or Change(), await off_loop(adds_of, content)
    if target.named is not None:
        adds = without_turns(adds)
    base = await target.store.load(target.key)
    refused: tuple[Rejection, ...] = ()
    if merge:
        delta = change.delta(*adds)
    else:
        own = target.asked is None  # examples of others are left out later, known or not
        unknown = await unknown_examples(naming(store), target.ref.owner, adds) if own else frozenset[str]()
        now = change.now or utc_now()
        new = await in_slices(
            replacement(adds, base.playbook, target.store.policy, now, unknown), target.ref.owner
        )
        delta, refused = change.delta(new.operation), new.refused
        _check_any_accepted(len(adds), refused)
    try:
        commit = await target.store.commit(target.key, delta, base)
    except LearnerForgotten as error:
        raise not_found(target.ref.name) from error
    refused += commit.report.rejected
    _check_any_accepted(len(adds), refused)
    await drop_old_versions(target, delta.now)
    return Written(commit, refused)


def _check_any_accepted(asked: int, refused: tuple[Rejection, ...]) -> None:
    if asked and len(refused) >= asked:
        first = refused[0]
        raise ChangeRefused(f"{first.id}: {first.why}: nothing of the content was taken, correct it")


def _checked_owner(owner: str | None) -> str | None:
    return None if owner is None else checked_learner_id(owner)
