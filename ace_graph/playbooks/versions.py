"""Versions of a playbook: list them, go back to one, and drop old ones."""

from __future__ import annotations

from datetime import datetime
from uuid import uuid4

from ace_graph.errors import ChangeRefused, HistoryTooShort, LearnerForgotten
from ace_graph.memory.catalogue.name import DEFAULT
from ace_graph.memory.catalogue.retention import kept_versions, retention_plan, undoable_versions
from ace_graph.memory.clock import utc_now
from ace_graph.memory.commit import Commit, History, playbook_at
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.delta.rollback import rollback_to
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.stores.base import Store
from ace_graph.memory.stores.playbooks import PlaybookStore, StoredVersion, naming
from ace_graph.playbooks.target import Target, User, check_owner, not_found, target_of

__all__ = [
    "content_at",
    "drop_old_versions",
    "get_version",
    "keep_versions",
    "list_target",
    "list_versions",
    "restore",
    "restore_target",
    "version_from",
    "version_number",
]


async def list_versions(
    store: Store, name: str = DEFAULT, owner: str | None = None, *, user: User = None
) -> tuple[StoredVersion, ...]:
    """Return the versions of a playbook, the newest first, with who made each, when and why.

    Amendments have the label of the version before. Of somebody else's playbook, `user` sees no reasons.
    Raises PlaybookNotFound.
    """
    return await list_target(await target_of(store, name, owner, user))


async def list_target(target: Target) -> tuple[StoredVersion, ...]:
    """Return the versions of the playbook at a target; see `list_versions`."""
    found = await target.store.versions(target.key)
    if not found and (await target.store.load(target.key)).absent:
        raise not_found(target.ref.name)
    return found[::-1]


async def get_version(
    store: Store, version: int | str, name: str = DEFAULT, owner: str | None = None, *, user: User = None
) -> tuple[int, Playbook]:
    """Return a version's number and its content; 0 is the empty playbook before the first.

    `version` is a number, or a label such as "1.2": the newest version with it. Raises PlaybookNotFound, and
    HistoryTooShort for a version that is not there or whose content was dropped.
    """
    target = await target_of(store, name, owner, user)
    n = version_number(await target.store.versions(target.key), version)
    return n, await content_at(target, n)


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
    target = await target_of(store, name, owner, user)
    delta = Delta(op_id=uuid4().hex, now=now or utc_now(), author=author, expected_etag=expected_etag)
    return await restore_target(target, version, delta)


async def restore_target(target: Target, version: int | str, delta: Delta) -> Commit:
    """Commit the return to a version under the op id, author and moment of `delta`; see `restore`."""
    check_owner(target)
    n = version_number(await target.store.versions(target.key), version)
    base = await target.store.load(target.key)
    if base.version.n == n:
        raise ChangeRefused(f"the playbook is at version {version}: there is nothing to do")
    if target.named is None:
        history = await target.store.history(target.key)
    else:
        history = History(n, await content_at(target, n), ())
    reason = delta.reason or f"back to version {version}"
    back = delta.model_copy(update={"operations": (rollback_to(history, base, n),), "reason": reason})
    try:
        commit = await target.store.commit(target.key, back, base)
    except LearnerForgotten as error:
        raise not_found(target.ref.name) from error
    await drop_old_versions(target, delta.now)
    return commit


async def content_at(target: Target, n: int) -> Playbook:
    """Return the content of version `n`; 0 is the empty playbook. Raises HistoryTooShort."""
    found = Playbook() if n == 0 else await target.store.content_at(target.key, n)
    if found is None and target.named is None:
        return playbook_at(await target.store.history(target.key), n)
    if found is None:
        raise HistoryTooShort(f"version {n} is not kept: {_kept(await target.store.versions(target.key))}")
    return found


def version_from(text: str) -> int | str:
    """Return the version that a text names: digits alone are a number, everything else is a label."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else text


def version_number(versions: tuple[StoredVersion, ...], version: int | str) -> int:
    """Return the number of a version that is named by its number or its label. Raises HistoryTooShort."""
    if isinstance(version, int):
        return version
    number = next((each.n for each in reversed(versions) if str(each.label) == version), None)
    if number is None:
        raise HistoryTooShort(f"there is no version {version[:20]}: {_kept(versions)}")
    return number


async def keep_versions(
    store: Store, playbook_id: str, now: datetime | None = None, *, dry_run: bool = False
) -> int:
    """Drop the contents of old versions of a named playbook, by the store's policy; return how many.

    With `dry_run` they are only counted. Who made a dropped version, when and why, stays listed.
    """
    return await _drop(naming(store).playbooks, playbook_id, now or utc_now(), dry_run=dry_run)


async def drop_old_versions(target: Target, now: datetime) -> int:
    """Do what `keep_versions` does for a target; a learner's own memory keeps a number of changes instead."""
    return 0 if target.named is None else await _drop(target.named, target.key, now)


async def _drop(playbooks: PlaybookStore, playbook_id: str, now: datetime, *, dry_run: bool = False) -> int:
    versions = await playbooks.versions(playbook_id)
    policy, kept = playbooks.policy, kept_versions(versions, playbooks.policy.versions, now)
    if retention_plan(versions, kept) is None:
        return 0
    consolidations = (await playbooks.load(playbook_id)).playbook.consolidations
    plan = retention_plan(versions, kept | undoable_versions(versions, consolidations, policy.undo_days, now))
    if plan is None or dry_run:
        return 0 if plan is None else plan.dropped
    found = {n: await playbooks.content_at(playbook_id, n) for n in plan.contents}
    contents = {n: content for n, content in found.items() if content is not None}
    if len(contents) < len(found):
        return 0  # somebody else drops versions at this moment
    await playbooks.keep_contents(playbook_id, plan.base, contents)
    return plan.dropped


def _kept(versions: tuple[StoredVersion, ...]) -> str:
    names = [f"{each.n} ({each.label})" for each in versions if each.readable]
    return f"choose one of {', '.join(names[-12:])}" if names else "there is none yet"
