"""Changes of single bullets of a playbook: each is one delta, committed as a whole or refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ace_graph.errors import AceError, LearnerForgotten
from ace_graph.memory.commit import Commit
from ace_graph.memory.delta.effect import Rejection
from ace_graph.memory.delta.operations import Operation
from ace_graph.memory.delta.rollback import ArchivedBullet, archived, restore_of
from ace_graph.memory.sharing.right import Right
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.change import commit_checked
from ace_graph.playbooks.manage import Change
from ace_graph.playbooks.target import Target, check_owner, not_found, require
from ace_graph.playbooks.versions import drop_old_versions

__all__ = ["Refusal", "archived_bullets", "change_bullets", "restore_bullet"]

Refusal = Callable[[Rejection], AceError]
"""Makes the error for an operation that can't be applied."""


async def change_bullets(
    target: Target, base: Snapshot, operations: Sequence[Operation], change: Change, refused: Refusal
) -> Commit:
    """Commit the operations, made from `base`, as one delta.

    Raises the error of `refused` when one of them can't be applied; then nothing is written, not even the
    access clock. Raises PlaybookChanged, and PlaybookNotFound where a named playbook was deleted meanwhile.
    """
    await require(target, Right.WRITE)
    delta = change.delta(*operations)
    try:
        runs = (target.learners, target.ref.owner or "") if target.learners else None
        done = await commit_checked(target.store, target.key, delta, base, refused, runs)
    except LearnerForgotten as error:
        if target.named is None:
            raise
        raise not_found(target.ref.name) from error
    await drop_old_versions(target, delta.now)
    return done


async def archived_bullets(target: Target) -> tuple[ArchivedBullet, ...]:
    """Return the bullets that have left a playbook and are not back, the latest first."""
    present = await target.store.load(target.key)
    return tuple(archived(await target.store.history(target.key), present.playbook))


async def restore_bullet(
    target: Target, base: Snapshot, bullet_id: str, change: Change, refused: Refusal
) -> Commit:
    """Bring back one bullet that `archived_bullets` lists, as it was. Only the owner can.

    Raises PlaybookForbidden, ChangeRefused where it is not archived, or is back already, and what
    `change_bullets` raises.
    """
    check_owner(target)
    back = restore_of(await target.store.history(target.key), base, bullet_id)
    return await change_bullets(target, base, [back], change, refused)
