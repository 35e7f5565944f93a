"""What came into a playbook by proposals: found by who proposed it, and withdrawn."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.clock import utc_now
from ace_graph.memory.commit import Commit
from ace_graph.memory.delta.operations import Delta, Remove
from ace_graph.memory.sharing.outgoing import leaves_owner, outgoing_bullet
from ace_graph.memory.sharing.proposal import proposal_ids
from ace_graph.memory.sharing.right import Right
from ace_graph.memory.stores.base import Store
from ace_graph.memory.stores.playbooks import PlaybookStore
from ace_graph.playbooks.target import Target, User, checked_playbooks, target_of
from ace_graph.playbooks.versions import drop_old_versions
from ace_graph.telemetry import audit_sharing

__all__ = ["Descendant", "descendants", "descendants_target", "withdraw", "withdraw_target"]


@dataclass(frozen=True)
class Descendant:
    """A bullet that came by proposals, and who made them; nobody is known for one who was forgotten."""

    bullet: Bullet
    proposal_ids: tuple[str, ...]
    by: tuple[str, ...]


async def descendants(
    store: Store, name: str, *, owner: str, by: str | None = None, user: User = None
) -> tuple[Descendant, ...]:
    """Return the bullets of a playbook that came by proposals, or by those of one user.

    Raises PlaybookNotFound, PlaybookForbidden for a user who may not write.
    """
    return await descendants_target(await target_of(store, name, owner, user), by)


async def descendants_target(target: Target, by: str | None = None) -> tuple[Descendant, ...]:
    """Return the bullets at a target that came by proposals; see `descendants`."""
    named = await _writable(target)
    makers = {each.proposal_id: each.by for each in await named.proposals(target.key, "accepted", 100_000)}
    found = list[Descendant]()
    for bullet in (await named.load(target.key)).playbook.bullets():
        ids = tuple(sorted(proposal_ids(bullet)))
        whose = tuple(sorted({makers[each] for each in ids if makers.get(each)}))
        hidden = target.asked is not None and not leaves_owner(bullet)
        if ids and not hidden and (by is None or by in whose):
            found.append(Descendant(outgoing_bullet(bullet), ids, whose))
    return tuple(found)


async def withdraw(
    store: Store,
    name: str,
    by: str,
    *,
    owner: str,
    user: User = None,
    now: datetime | None = None,
) -> Commit | None:
    """Remove all bullets that came by a user's proposals, in one version; None where there are none.

    Raises as `descendants` does.
    """
    return await withdraw_target(await target_of(store, name, owner, user), by, now)


async def withdraw_target(target: Target, by: str, now: datetime | None = None) -> Commit | None:
    """Remove what came by a user's proposals from the playbook at a target; see `withdraw`."""
    found = await descendants_target(target, by)
    if not found:
        return None
    delta = Delta(
        op_id=uuid4().hex,
        now=now or utc_now(),
        operations=tuple(Remove(bullet_id=each.bullet.id) for each in found),
        author="withdraw",
        reason="what a source has proposed was withdrawn",
    )
    _, asked = checked_playbooks(target)
    done = await target.store.commit(target.key, delta, await target.store.load(target.key))
    audit_sharing("withdraw", asked.caller.user, playbook=target.key, by=by)
    await drop_old_versions(target, delta.now)
    return done


async def _writable(target: Target) -> PlaybookStore:
    """The namespace without a check, once it is known that the caller may write."""
    playbooks, _ = checked_playbooks(target)
    await playbooks.check(target.key, Right.WRITE)
    return playbooks if target.named is None else target.named
