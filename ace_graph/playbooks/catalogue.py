"""An owner's playbooks by their names: created, listed, read, changed, deleted, and taken back to a version.

Each function opens the playbook and asks its handle, as CLI, HTTP, page and MCP do with theirs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import uuid4

from ace_graph.base.clock import utc_now
from ace_graph.base.errors import InvalidPlaybook
from ace_graph.base.off_loop import in_slices, off_loop
from ace_graph.memory.catalogue import DEFAULT, PlaybookEntry, PlaybookRef, checked_entry
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.rights import Caller
from ace_graph.memory.sharing import Grant, Subject
from ace_graph.memory.stores.base import StoredVersion, checked_learner_id
from ace_graph.playbooks.content import (
    Change,
    Content,
    adds_of,
    check_any_accepted,
    replacement,
    unknown_examples,
    without_turns,
)
from ace_graph.playbooks.directory import caller_of
from ace_graph.playbooks.handle import NamedPlaybook, User, check_shown, open_by_id, open_playbook

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from ace_graph.memory.commit import Commit
    from ace_graph.memory.similarity.vectors import Embedder
    from ace_graph.memory.stores.store import Store


async def create(
    store: Store,
    name: str,
    content: Content = (),
    *,
    owner: str | None = None,
    description: str = "",
    scope: str = "agent",
    visibility: str = "private",
    lessons: str = "written",
    user: User = None,
    change: Change | None = None,
    new_id: Callable[[], str] = lambda: str(uuid4()),
) -> str:
    """Create a playbook at version 1.0 and return its id.

    Only the owner can read it, unless `visibility` is shared and `scope` is tenant: then the teams that the
    owner is in now can, each by a grant as viewer. Their names are those of `user`, else of the store's
    table. `lessons` says what becomes of lessons of runs; see `edit_fields`. Raises PlaybookExists for a
    name that the owner has, InvalidPlaybook for a field that can't be used, ChangeRefused for a name or a
    description that the screen refuses, and when all of the content is refused; then nothing is written.
    """
    change = change or Change(reason="created")
    ref = PlaybookRef(None if owner is None else checked_learner_id(owner), name)
    fields = {"description": description, "scope": scope, "visibility": visibility, "lessons": lessons}
    entry = checked_entry(new_id(), ref, change.now or utc_now(), **fields)
    await off_loop(check_shown, entry.name, description)
    playbooks = store.playbooks
    adds = without_turns(await off_loop(adds_of, content, entry.created_at))
    unknown = await unknown_examples(store, entry.owner, adds)
    first = await in_slices(replacement(adds, Playbook(), store.policy, entry.created_at, unknown), owner)
    check_any_accepted(len(adds), first.refused)
    grants = await _offered(store, entry, user)
    await playbooks.create(entry, change.delta(first.operation), grants)
    return entry.playbook_id


async def _offered(store: Store, entry: PlaybookEntry, user: User) -> tuple[Grant, ...]:
    """The grants that a new playbook begins with: to the owner's teams, if it is shared with the tenant."""
    owner = entry.owner
    if owner is None or (entry.scope, entry.visibility) != ("tenant", "shared"):
        return ()
    caller = user if isinstance(user, Caller) else await caller_of(owner, store)
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
    return await (await open_playbook(store, name, owner, user)).read()


async def update_playbook(
    store: Store,
    content: Content,
    name: str = DEFAULT,
    *,
    owner: str | None = None,
    merge: bool = True,
    change: Change | None = None,
    embeddings: Embedder | None = None,
    user: User = None,
) -> str:
    """Add content to a playbook, or with `merge=False` replace all of it; return the playbook's id.

    What is known already is reinforced, not doubled; by `embeddings` also what is known in other words (0.85
    alike, and no guard finds another number, unit, negation, opposite, direction or order). A replacement is
    a new major version, in one commit; the version before stays readable. In a playbook of somebody else,
    `user` changes what they see, and the rest stays. Raises PlaybookNotFound, PlaybookForbidden,
    PlaybookChanged, and ChangeRefused when all of the content is refused; then nothing is written.
    """
    playbook = await open_playbook(store, name, owner, user)
    await playbook.write(content, merge=merge, change=change, embeddings=embeddings)
    return DEFAULT if playbook.entry is None else playbook.entry.playbook_id


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
    amends = replace(change or Change(), keeps_label=not increment_version)
    playbook = await open_by_id(store, playbook_id, user)
    return (await playbook.write(content, merge=merge, change=amends)).commit


async def edit_fields(
    store: Store,
    name: str,
    owner: str | None = None,
    *,
    description: str | None = None,
    scope: str | None = None,
    lessons: str | None = None,
    user: User = None,
) -> PlaybookEntry:
    """Give a playbook another description, scope, or rule for lessons of runs; return its entry.

    That makes no version. `lessons` is one of `written`, `judged`, `proposed` and `off`; see
    `memory.catalogue.Lessons`. A change holds for lessons that are delivered later.
    Raises PlaybookNotFound, PlaybookForbidden for a `user` who does not own it, InvalidPlaybook for a field
    that can't be used, and for `default`, which has none, ChangeRefused for what the screen refuses.
    """
    return await (await open_playbook(store, name, owner, user)).edit_fields(description, scope, lessons)


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
    stored = store.playbooks
    if user is not None and (asked := (await open_by_id(store, playbook_id, user)).asked) is not None:
        stored = stored.asked(asked)
    return await stored.forget(playbook_id, expected_etag)


async def list_versions(
    store: Store, name: str = DEFAULT, owner: str | None = None, *, user: User = None
) -> tuple[StoredVersion, ...]:
    """Return the versions of a playbook, the newest first, with who made each, when and why.

    Amendments have the label of the version before. Of somebody else's playbook, `user` sees no reasons.
    Raises PlaybookNotFound.
    """
    return await (await open_playbook(store, name, owner, user)).list_versions()


async def get_version(
    store: Store, version: int | str, name: str = DEFAULT, owner: str | None = None, *, user: User = None
) -> tuple[int, Playbook]:
    """Return a version's number and its content; 0 is the empty playbook before the first.

    `version` is a number, or a label such as "1.2": the newest version with it. Raises PlaybookNotFound, and
    HistoryTooShort for a version that is not there or whose content was dropped.
    """
    playbook = await open_playbook(store, name, owner, user)
    n = await playbook.version_number(version)
    return n, await playbook.content_at(n)


async def restore(
    store: Store,
    version: int | str,
    name: str = DEFAULT,
    *,
    owner: str | None = None,
    author: str = "host",
    now: datetime | None = None,
    expected_etag: str | None = None,
    user: User = None,
) -> Commit:
    """Make a playbook what it was at a version, as a new major version. Only the owner can.

    `version` is a number, or a label such as "1.2": the newest version with it. Raises PlaybookNotFound,
    PlaybookForbidden, PlaybookChanged, ChangeRefused for the present version, HistoryTooShort for one whose
    content was dropped.
    """
    change = Change(author=author, now=now, expected_etag=expected_etag)
    return await (await open_playbook(store, name, owner, user)).restore(version, change)
