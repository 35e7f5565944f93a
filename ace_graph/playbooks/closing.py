"""Proposals of those who may not propose any more: they are closed with the reason, and can't be accepted.

A proposal names the subjects by whose grants it was made. It stays open as long as one of them may propose.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from datetime import datetime

from ace_graph.memory.sharing.asked import Caller
from ace_graph.memory.sharing.grant import Grant, Subject
from ace_graph.memory.sharing.proposal import Proposal
from ace_graph.memory.sharing.right import RIGHTS, Right
from ace_graph.memory.stores.playbooks import PlaybookStore

__all__ = ["LOST_RIGHT", "all_grants", "close_own", "close_proposals", "entitling", "may_still_propose"]

LOST_RIGHT = "who proposed this may not propose any more"
LEFT = "who proposed this has left the playbook"
MAX_PENDING = 2_000
_PAGE = 1_000


async def all_grants(named: PlaybookStore, playbook_id: str) -> AsyncIterator[Grant]:
    """Yield the grants on a playbook."""
    page = await named.grants(playbook_id, _PAGE)
    while page:
        for grant in page:
            yield grant
        page = await named.grants(playbook_id, _PAGE, str(page[-1].subject))


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
    for each in await named.proposals(playbook_id, "pending", MAX_PENDING):
        concerned = str(lost) in each.through if each.through else lost == Subject("user", each.by)
        if not concerned or (members is not None and each.by not in members):
            continue
        left = set(each.through) - ({str(lost)} if members is not None else set[str]())
        if proposing.isdisjoint(left):
            gone = {"state": "refused", "reason": LOST_RIGHT, "decided_by": by, "decided_at": now}
            await named.decide(each.model_copy(update=gone), "pending")


async def close_own(named: PlaybookStore, playbook_id: str, user: str, now: datetime) -> None:
    """Close the open proposals of a user who leaves a playbook."""
    for each in await named.proposals(playbook_id, "pending", MAX_PENDING):
        if each.by == user:
            gone = {"state": "refused", "reason": LEFT, "decided_by": user, "decided_at": now}
            await named.decide(each.model_copy(update=gone), "pending")


async def _proposing(named: PlaybookStore, playbook_id: str) -> set[str]:
    """The subjects, as texts, that may propose to a playbook."""
    return {
        str(grant.subject)
        async for grant in all_grants(named, playbook_id)
        if RIGHTS[grant.relation] >= Right.PROPOSE
    }
