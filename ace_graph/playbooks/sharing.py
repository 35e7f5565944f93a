"""Sharing playbooks: grants to users and teams, what is shared with a user, the store's table of teams.

Proposals of those who may not propose any more are closed with the reason, and can't be accepted. A proposal
names the subjects by whose grants it was made; it stays open as long as one of them may propose.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from ace_graph.base.clock import utc_now
from ace_graph.base.errors import InvalidGrant
from ace_graph.base.off_loop import off_loop
from ace_graph.base.telemetry import audit_sharing
from ace_graph.memory.catalogue import PlaybookEntry
from ace_graph.memory.rights import RIGHTS
from ace_graph.memory.rights import Caller as Caller
from ace_graph.memory.rights import Right as Right
from ace_graph.memory.sharing import Grant as Grant
from ace_graph.memory.sharing import Proposal as Proposal
from ace_graph.memory.sharing import Subject, checked_relation, checked_team, outgoing_text
from ace_graph.memory.sharing import Trust as Trust
from ace_graph.memory.stores.base import checked_learner_id, pages
from ace_graph.memory.stores.store import PlaybookStore, Store
from ace_graph.playbooks.directory import caller_of
from ace_graph.playbooks.handle import PlaybookHandle, User, open_playbook

LOST_RIGHT = "who proposed this may not propose any more"
LEFT = "who proposed this has left the playbook"
MAX_PENDING = 2_000


@dataclass(frozen=True)
class SharedEntry:
    """A playbook of somebody else, what the user may do with it, and whether its owners see that by name."""

    entry: PlaybookEntry
    right: Right
    shows_use: bool = False


class Sharing:
    """The grants on one playbook: owners list them, make them and take them away; who has one may leave."""

    def __init__(self, playbook: PlaybookHandle) -> None:
        self._playbook = playbook

    async def grants(self, limit: int = 100, after: str = "") -> tuple[Grant, ...]:
        """Return a page of the grants; see `grants`."""
        checked, _, _ = self._playbook.shared()
        return await checked.grants(self._playbook.key, limit, after)

    async def grant(self, to: str, relation: str, now: datetime | None = None) -> Grant:
        """Share the playbook; see `grant`."""
        checked, named, asked = self._playbook.shared()
        key, by, subject = self._playbook.key, asked.caller.user or "", Subject.parse(to)
        if subject == Subject("user", by):
            raise InvalidGrant("this is yourself: name somebody else")
        if subject == Subject("user", self._playbook.ref.owner or ""):
            raise InvalidGrant("the owner has every right already: name somebody else")
        made = Grant(subject, checked_relation(relation), key, by, now or utc_now())
        await checked.put_grant(made)
        if RIGHTS[made.relation] < Right.PROPOSE:
            await close_proposals(named, key, subject, by, made.at)
        audit_sharing("grant", by, playbook=key, subject=str(subject), relation=relation)
        return made

    async def revoke(self, subject: str) -> bool:
        """Take a subject's grant away; see `revoke`."""
        checked, named, asked = self._playbook.shared()
        key, by, whom = self._playbook.key, asked.caller.user or "", Subject.parse(subject)
        if whom == Subject("user", self._playbook.ref.owner or ""):
            raise InvalidGrant(
                "the playbook belongs to this user, its last owner: delete the playbook instead"
            )
        held = [grant async for grant in all_grants(named, key) if grant.subject == whom]
        declined = bool(held) and held[0].relation == "declined"  # that stays, whatever is revoked
        found = not declined and await checked.drop_grant(key, whom)
        if found:
            await close_proposals(named, key, whom, by, utc_now())
        audit_sharing("revoke", by, playbook=key, subject=str(whom), found=str(found).lower())
        return found

    async def leave(self, now: datetime | None = None) -> None:
        """Decline what was shared with the caller; see `leave`."""
        named, user = self._as_reader("delete it instead")
        key, moment = self._playbook.key, now or utc_now()
        await named.put_grant(Grant(Subject("user", user), "declined", key, user, moment))
        await named.drop_grant(key, Subject("reader", user))
        for proposal in await named.proposals(key, "pending", MAX_PENDING):
            if proposal.by == user:
                await close_proposal(named, proposal, LEFT, user, moment)
        audit_sharing("leave", user, playbook=key)

    async def show_use(self, shown: bool = True, now: datetime | None = None) -> None:
        """Let the owners see the caller's use by name, or no longer; see `show_use`."""
        named, user = self._as_reader("nobody else sees your use of it")
        await self._playbook.require(Right.READ)
        key, reader = self._playbook.key, Subject("reader", user)
        if shown:
            await named.put_grant(Grant(reader, "shows", key, user, now or utc_now()))
        else:
            await named.drop_grant(key, reader)
        audit_sharing("show_use" if shown else "hide_use", user, playbook=key)

    def _as_reader(self, instead: str) -> tuple[PlaybookStore, str]:
        """The namespace that checks nothing, and the caller. Raises InvalidGrant for one's own playbook."""
        named, asked = self._playbook.named, self._playbook.asked
        user = None if asked is None else asked.caller.user
        if named is None or user is None:
            raise InvalidGrant(f"the playbook is your own: {instead}")
        return named, user


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
    """Share a playbook: `to` is `user:NAME`, `team:NAME` or `agent:NAME`.

    An agent's grant holds where the host says that it acts (`Caller(user, agent=)`, `ACEContext.agent`).

    A viewer reads, a contributor proposes changes, too, an editor makes them, an owner grants and deletes. It
    takes the place of the grant that the subject had, and holds from the next load on. Raises
    PlaybookNotFound, PlaybookForbidden for a user who does not own the playbook, and InvalidGrant for a
    wrong subject or relation, for oneself, for the owner, and for `default`, which can't be shared.
    """
    return await Sharing(await open_playbook(store, name, owner, user)).grant(to, relation, now)


async def revoke(store: Store, name: str, subject: str, *, owner: str, user: User = None) -> bool:
    """Take a subject's grant away; False where there was none. It holds from the next load on.

    The open proposals of those who may not propose any more without it are refused.

    The user to whom the playbook belongs can't be removed. Raises as `grant` does.
    """
    return await Sharing(await open_playbook(store, name, owner, user)).revoke(subject)


async def leave(
    store: Store, name: str, *, owner: str, user: User = None, now: datetime | None = None
) -> None:
    """Decline what was shared with a user, directly or by teams: it is as if it had not been granted.

    A new grant to the user, or to a team of theirs, brings it back. The user's open proposals are refused.
    Raises PlaybookNotFound, and InvalidGrant for one's own playbook, which is deleted instead.
    """
    await Sharing(await open_playbook(store, name, owner, user)).leave(now)


async def show_use(
    store: Store,
    name: str,
    *,
    owner: str,
    user: User = None,
    shown: bool = True,
    now: datetime | None = None,
) -> None:
    """Let the owners of a playbook see how much a user uses it, by name; with `shown=False` no longer.

    By default they see sums without names. It holds until it is taken back, or the user leaves the playbook,
    and while the user may read it. Raises PlaybookNotFound, and InvalidGrant for one's own playbook.
    """
    await Sharing(await open_playbook(store, name, owner, user)).show_use(shown, now)


async def grants(
    store: Store, name: str, *, owner: str, user: User = None, limit: int = 100, after: str = ""
) -> tuple[Grant, ...]:
    """Return a page of a playbook's grants, in the order of the subjects as texts, after the text `after`.

    Raises PlaybookNotFound, PlaybookForbidden for a user who does not own the playbook, InvalidGrant.
    """
    return await Sharing(await open_playbook(store, name, owner, user)).grants(limit, after)


async def shared_with(
    store: Store, user: Caller | str, *, limit: int = 100, after: str = ""
) -> tuple[SharedEntry, ...]:
    """Return a page of the playbooks of others that are shared with a user, in the order of their ids.

    `after` is the id of the last one of the page before.
    """
    who = await caller_of(user, store) if isinstance(user, str) else user
    named, found = store.playbooks, list[SharedEntry]()
    subjects = who.subjects if who.user is None else (*who.subjects, str(Subject("reader", who.user)))
    page = await named.shared_with(subjects, limit, after)
    while page:
        for entry, granted in page:
            held = who.right(entry, granted)
            if held >= Right.READ:  # not what the user has declined
                seen = replace(entry, description=await off_loop(outgoing_text, entry.description))
                found.append(SharedEntry(seen, held, any(each.relation == "shows" for each in granted)))
        if len(found) >= limit or len(page) < limit:
            break
        page = await named.shared_with(subjects, limit, page[-1][0].playbook_id)
    return tuple(found[: max(0, limit)])


async def add_to_team(store: Store, team: str, members: Collection[str], *, by: str | None = None) -> int:
    """Add users to a team of the store's table; return how many were not in it.

    Raises InvalidGrant for a name that can't be a team's, or that could be taken for another team's.
    """
    named, who = store, [checked_learner_id(member) for member in members]
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
    named, lost = store, Subject("team", checked_team(team))
    removed = await named.remove_members(team, members)
    shared = pages(partial(named.playbooks.shared_with, (str(lost),)), lambda last: last[0].playbook_id)
    async for entry, _ in shared:
        key, now = entry.playbook_id, utc_now()
        await close_proposals(named.playbooks, key, lost, by or "", now, members=members)
    audit_sharing("team_remove", by, team=team, members=", ".join(members))
    return removed


def all_grants(named: PlaybookStore, playbook_id: str) -> AsyncIterator[Grant]:
    """Yield the grants on a playbook."""
    return pages(partial(named.grants, playbook_id), lambda last: str(last.subject))


async def who_may(playbook: PlaybookHandle, needed: Right) -> list[str]:
    """Return the owner and who has a right by a grant, in order; members as the store's table has them.

    Raises PlaybookForbidden: only owners see the grants.
    """
    checked, _, _ = playbook.shared()
    found, declined = {playbook.ref.owner or ""}, set[str]()
    async for grant in all_grants(checked, playbook.key):
        if grant.relation == "declined":
            declined.add(grant.subject.name)
        if RIGHTS[grant.relation] < needed or grant.subject.kind == "agent":
            continue
        if grant.subject.kind == "user":
            found.add(grant.subject.name)
            continue
        found |= {member async for member in pages(partial(playbook.root.members, grant.subject.name), str)}
    return sorted(found - declined - {""})


async def shown_readers(playbook: PlaybookHandle) -> frozenset[str]:
    """Return who lets the owners see their use by name, whether or not they may read the playbook now.

    Raises PlaybookForbidden: only owners see the grants.
    """
    checked, _, _ = playbook.shared()
    return frozenset(
        [each.subject.name async for each in all_grants(checked, playbook.key) if each.relation == "shows"]
    )


async def entitling(named: PlaybookStore, playbook_id: str, caller: Caller) -> tuple[str, ...]:
    """Return the subjects of a caller whose grants give the right to propose to a playbook."""
    return tuple(sorted(await _proposing(named, playbook_id) & set(caller.subjects)))


async def may_still_propose(named: PlaybookStore, proposal: Proposal) -> bool:
    """Whether one of the subjects by which a proposal was made may still propose.

    The owner, who needs no grant, names none, and neither do proposals of older versions.
    """
    if not proposal.through:
        return True
    return not (await _proposing(named, proposal.playbook_id)).isdisjoint(proposal.through)


async def close_proposals(
    named: PlaybookStore,
    playbook_id: str,
    lost: Subject,
    by: str,
    now: datetime,
    *,
    members: Collection[str] | None = None,
) -> None:
    """Close the open proposals of those who have lost the right to propose by a subject.

    With `members` these have left the team `lost`, whose grant stays.
    """
    proposing = await _proposing(named, playbook_id)
    for proposal in await named.proposals(playbook_id, "pending", MAX_PENDING):
        through = proposal.through
        concerned = str(lost) in through if through else lost == Subject("user", proposal.by)
        if not concerned or (members is not None and proposal.by not in members):
            continue
        left = set(through) - ({str(lost)} if members is not None else set[str]())
        if proposing.isdisjoint(left):
            await close_proposal(named, proposal, LOST_RIGHT, by, now)


async def close_proposal(
    named: PlaybookStore, proposal: Proposal, reason: str, by: str, now: datetime
) -> None:
    """Refuse a pending proposal, for a reason that its proposer reads."""
    refused = {"state": "refused", "reason": reason, "decided_by": by, "decided_at": now}
    await named.decide(proposal.model_copy(update=refused), "pending")


async def _proposing(named: PlaybookStore, playbook_id: str) -> set[str]:
    return {
        str(grant.subject)
        async for grant in all_grants(named, playbook_id)
        if RIGHTS[grant.relation] >= Right.PROPOSE
    }
