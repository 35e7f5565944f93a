"""What came into a playbook by proposals: found by who proposed it, and withdrawn."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.clock import utc_now
from ace_graph.memory.commit import Commit
from ace_graph.memory.delta.operations import Delta, Remove, Update
from ace_graph.memory.sharing.outgoing import leaves_owner, outgoing_bullet
from ace_graph.memory.sharing.proposal import proposal_ids, source_of
from ace_graph.memory.sharing.right import Right
from ace_graph.memory.stores.base import Store
from ace_graph.memory.stores.playbooks import PlaybookStore
from ace_graph.off_loop import off_loop
from ace_graph.playbooks.target import Target, User, checked_playbooks, target_of
from ace_graph.playbooks.versions import drop_old_versions
from ace_graph.telemetry import audit_sharing

__all__ = ["Descendant", "descendants", "descendants_target", "withdraw", "withdraw_target"]


@dataclass(frozen=True)
class Descendant:
    """A bullet that proposals added or said again, and who made them; one who was forgotten is not named.

    `came`: it is there by these proposals only, so withdrawing them removes it.
    """

    bullet: Bullet
    proposal_ids: tuple[str, ...]
    by: tuple[str, ...]
    came: bool


async def descendants(
    store: Store, name: str, *, owner: str, by: str | None = None, user: User = None
) -> tuple[Descendant, ...]:
    """Return the bullets of a playbook that proposals added or said again, or those of one user.

    Raises PlaybookNotFound, PlaybookForbidden for a user who may not write.
    """
    return await descendants_target(await target_of(store, name, owner, user), by)


async def descendants_target(target: Target, by: str | None = None) -> tuple[Descendant, ...]:
    """Return the bullets at a target that came by proposals; see `descendants`."""
    named = await _writable(target)
    accepted = await named.proposals(target.key, "accepted", 100_000)
    chosen = {each.proposal_id: each for each in accepted if by is None or each.by == by}
    added = {name for each in chosen.values() for name in each.added}
    found = list[Descendant]()
    for bullet in (await named.load(target.key)).playbook.bullets():
        ids = tuple(sorted(each for each in proposal_ids(bullet) if by is None or each in chosen))
        whose = tuple(sorted({chosen[each].by for each in ids if each in chosen} - {""}))
        came = added.issuperset(bullet.consolidated_from or (bullet.id,))
        if ids and (target.asked is None or await off_loop(leaves_owner, bullet)):
            found.append(Descendant(outgoing_bullet(bullet), ids, whose, came))
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

    A bullet that was there before, or that others have proposed first, stays without these sources.
    Raises as `descendants` does.
    """
    return await withdraw_target(await target_of(store, name, owner, user), by, now)


async def withdraw_target(
    target: Target, by: str, now: datetime | None = None, *, expected_etag: str | None = None
) -> Commit | None:
    """Remove what came by a user's proposals from the playbook at a target; see `withdraw`."""
    found = await descendants_target(target, by)
    if not found:
        return None
    delta = Delta(
        op_id=uuid4().hex,
        now=now or utc_now(),
        operations=tuple(map(_withdrawal, found)),
        author="withdraw",
        reason="what a source has proposed was withdrawn",
        expected_etag=expected_etag,
    )
    _, asked = checked_playbooks(target)
    done = await target.store.commit(target.key, delta, await target.store.load(target.key))
    audit_sharing("withdraw", asked.caller.user, playbook=target.key, by=by)
    await drop_old_versions(target, delta.now)
    return done


def _withdrawal(each: Descendant) -> Remove | Update:
    if each.came:
        return Remove(bullet_id=each.bullet.id)
    return Update(bullet_id=each.bullet.id, withdrawn=tuple(map(source_of, each.proposal_ids)))


async def _writable(target: Target) -> PlaybookStore:
    """The namespace without a check, once it is known that the caller may write."""
    playbooks, _ = checked_playbooks(target)
    await playbooks.check(target.key, Right.WRITE)
    return playbooks if target.named is None else target.named
