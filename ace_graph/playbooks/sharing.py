"""Sharing playbooks: grants to users and teams, what is shared with a user, the store's table of teams."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass, replace
from datetime import datetime

from ace_graph.errors import InvalidGrant
from ace_graph.memory.catalogue.entry import PlaybookEntry
from ace_graph.memory.clock import utc_now
from ace_graph.memory.sharing.asked import Caller
from ace_graph.memory.sharing.grant import Grant, Subject, checked_relation, checked_team
from ace_graph.memory.sharing.outgoing import outgoing_text
from ace_graph.memory.sharing.right import RIGHTS, Right
from ace_graph.memory.stores.base import Store, checked_learner_id
from ace_graph.memory.stores.playbooks import NamingStore, naming
from ace_graph.off_loop import off_loop
from ace_graph.playbooks.closing import all_grants, close_own, close_proposals
from ace_graph.playbooks.directory import caller_of
from ace_graph.playbooks.target import Target, User, checked_playbooks, target_of
from ace_graph.telemetry import audit_sharing

__all__ = [
    "SharedEntry",
    "add_to_team",
    "caller",
    "grant",
    "grant_target",
    "grants",
    "grants_target",
    "leave",
    "leave_target",
    "remove_from_team",
    "revoke",
    "revoke_target",
    "shared_with",
]


@dataclass(frozen=True)
class SharedEntry:
    """A playbook of somebody else, and what the user may do with it."""

    entry: PlaybookEntry
    right: Right


async def caller(store: Store, user: Caller | str) -> Caller:
    """Return a user with the teams of the store's table; one that has teams already as it is."""
    return await caller_of(user, naming(store)) if isinstance(user, str) else user


async def grant(
    store: Store,
    name: str,
    to: str,
    relation: str = "viewer",
    *,
    owner: str,
    user: User = None,
    now: datetime | None = None,
) -> Grant:
    """Share a playbook with a user or a team: `to` is `user:NAME` or `team:NAME`.

    A viewer reads, a contributor proposes changes, too, an editor makes them, an owner grants and deletes. It
    takes the place of the grant that the subject had, and holds from the next load on. Raises
    PlaybookNotFound, PlaybookForbidden for a user who does not own the playbook, and InvalidGrant for a
    wrong subject or relation, for oneself, for the owner, and for `default`, which can't be shared.
    """
    return await grant_target(await target_of(store, name, owner, user), to, relation, now)


async def grant_target(target: Target, to: str, relation: str, now: datetime | None = None) -> Grant:
    """Share the playbook at a target; see `grant`."""
    playbooks, asked = checked_playbooks(target)
    by = asked.caller.user or ""
    subject = Subject.parse(to)
    if subject == Subject("user", by):
        raise InvalidGrant("this is a grant to yourself: name somebody else")
    if subject == Subject("user", target.ref.owner or ""):
        raise InvalidGrant("the owner has every right already: name somebody else")
    made = Grant(subject, checked_relation(relation), target.key, by, now or utc_now())
    await playbooks.put_grant(made)
    if target.named is not None and RIGHTS[made.relation] < Right.PROPOSE:
        await close_proposals(target.named, target.key, subject, by, made.at)
    audit_sharing("grant", by, playbook=target.key, subject=str(subject), relation=relation)
    return made


async def revoke(store: Store, name: str, subject: str, *, owner: str, user: User = None) -> bool:
    """Take a subject's grant away; False where there was none. It holds from the next load on.

    The open proposals of those who may not propose any more without it are refused.

    The user to whom the playbook belongs can't be removed. Raises as `grant` does.
    """
    return await revoke_target(await target_of(store, name, owner, user), subject)


async def revoke_target(target: Target, subject: str) -> bool:
    """Take a subject's grant on the playbook at a target away; see `revoke`."""
    playbooks, asked = checked_playbooks(target)
    by = asked.caller.user or ""
    whom = Subject.parse(subject)
    if whom == Subject("user", target.ref.owner or ""):
        raise InvalidGrant("the playbook belongs to this user, its last owner: delete the playbook instead")
    found = await _holds_grant(target, whom) and await playbooks.drop_grant(target.key, whom)
    if found and target.named is not None:
        await close_proposals(target.named, target.key, whom, by, utc_now())
    audit_sharing("revoke", by, playbook=target.key, subject=str(whom), found=str(found).lower())
    return found


async def leave(
    store: Store, name: str, *, owner: str, user: User = None, now: datetime | None = None
) -> None:
    """Decline what was shared with a user, directly or by teams: it is as if it had not been granted.

    A new grant to the user, or to a team of theirs, brings it back. The user's open proposals are refused.
    Raises PlaybookNotFound, and InvalidGrant for one's own playbook, which is deleted instead.
    """
    await leave_target(await target_of(store, name, owner, user), now)


async def leave_target(target: Target, now: datetime | None = None) -> None:
    """Decline the playbook at a target; see `leave`."""
    user = None if target.asked is None else target.asked.caller.user
    if target.named is None or user is None:
        raise InvalidGrant("the playbook is your own: delete it instead")
    moment = now or utc_now()
    await target.named.put_grant(Grant(Subject("user", user), "declined", target.key, user, moment))
    await close_own(target.named, target.key, user, moment)
    audit_sharing("leave", user, playbook=target.key)


async def grants(
    store: Store, name: str, *, owner: str, user: User = None, limit: int = 100, after: str = ""
) -> tuple[Grant, ...]:
    """Return a page of a playbook's grants, in the order of the subjects as texts, after the text `after`.

    Raises PlaybookNotFound, PlaybookForbidden for a user who does not own the playbook, InvalidGrant.
    """
    return await grants_target(await target_of(store, name, owner, user), limit, after)


async def _holds_grant(target: Target, subject: Subject) -> bool:
    """Whether a subject may have a grant to revoke. That a user has declined stays, whatever is revoked."""
    if target.named is None:
        return False
    held = [each async for each in all_grants(target.named, target.key) if each.subject == subject]
    return not held or held[0].relation != "declined"


async def grants_target(target: Target, limit: int = 100, after: str = "") -> tuple[Grant, ...]:
    """Return a page of the grants of the playbook at a target; see `grants`."""
    playbooks, _ = checked_playbooks(target)
    return await playbooks.grants(target.key, limit, after)


async def shared_with(
    store: Store, user: Caller | str, *, limit: int = 100, after: str = ""
) -> tuple[SharedEntry, ...]:
    """Return a page of the playbooks of others that are shared with a user, in the order of their ids.

    `after` is the id of the last one of the page before.
    """
    who, named, found = await caller(store, user), naming(store).playbooks, list[SharedEntry]()
    page = await named.shared_with(who.subjects, limit, after)
    while page:
        for entry, granted in page:
            held = who.right(entry, granted)
            if held >= Right.READ:  # not what the user has declined
                shown = replace(entry, description=await off_loop(outgoing_text, entry.description))
                found.append(SharedEntry(shown, held))
        if len(found) >= limit or len(page) < limit:
            break
        page = await named.shared_with(who.subjects, limit, page[-1][0].playbook_id)
    return tuple(found[: max(0, limit)])


async def add_to_team(store: Store, team: str, members: Collection[str], *, by: str | None = None) -> int:
    """Add users to a team of the store's table; return how many were not in it.

    Raises InvalidGrant for a name that can't be a team's, or that could be taken for another team's.
    """
    named, who = naming(store), [checked_learner_id(member) for member in members]
    like = await named.teams_like(checked_team(team))
    if like:
        raise InvalidGrant(
            f"there is a team {like[0]!r}, whose name looks the same: use that name, or another"
        )
    added = await named.add_members(team, who)
    audit_sharing("team_add", by, team=team, members=", ".join(who))
    return added


async def remove_from_team(
    store: Store, team: str, members: Collection[str], *, by: str | None = None
) -> int:
    """Remove users from a team; return how many were in it. Its grants end for them with the next load.

    Their open proposals by these grants are refused.
    """
    named, lost = naming(store), Subject("team", checked_team(team))
    removed = await named.remove_members(team, members)
    async for playbook_id in _shared_by(named, lost):
        await close_proposals(named.playbooks, playbook_id, lost, by or "", utc_now(), members=members)
    audit_sharing("team_remove", by, team=team, members=", ".join(members))
    return removed


async def _shared_by(store: NamingStore, subject: Subject) -> AsyncIterator[str]:
    """The ids of the playbooks with a grant to a subject."""
    page = await store.playbooks.shared_with((str(subject),))
    while page:
        for entry, _ in page:
            yield entry.playbook_id
        page = await store.playbooks.shared_with((str(subject),), after=page[-1][0].playbook_id)
