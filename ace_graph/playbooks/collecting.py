"""The owner's rule: what at least five learners have found alike, with success, is proposed.

A text counts for a learner who has it in the own memory, word for word but for case and spacing, with more
successes than failures. Nothing that fewer have found is stored, shown or counted, and nobody is named.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from uuid import uuid4

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.clock import utc_now
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.sharing.grant import Grant
from ace_graph.memory.sharing.outgoing import leaves_owner
from ace_graph.memory.sharing.proposal import Proposal, trust_of
from ace_graph.memory.sharing.right import RIGHTS, Right
from ace_graph.memory.stores.base import Store
from ace_graph.memory.stores.playbooks import NamingStore, naming
from ace_graph.off_loop import Steps, in_slices
from ace_graph.playbooks.proposing import EXPIRES_DAYS, MAX_BULLETS, proposed_adds, store_proposal
from ace_graph.playbooks.sharing import grants_target
from ace_graph.playbooks.target import Target, User, target_of

__all__ = ["FEWEST", "collect", "collect_target"]

FEWEST = 5
"""The fewest learners that something must come from."""

_PAGE = 1_000


async def collect(
    store: Store, name: str, *, owner: str, user: User = None, now: datetime | None = None
) -> Proposal | None:
    """Propose what at least five of those who may propose have found, and the playbook does not say yet.

    These are the owner, users with a grant as contributor or more, and members of teams with one. Returns
    None where there is nothing. Raises PlaybookNotFound, and PlaybookForbidden for a user who does not own
    it.
    """
    return await collect_target(store, await target_of(store, name, owner, user), now)


async def collect_target(store: Store, target: Target, now: datetime | None = None) -> Proposal | None:
    """Propose to the playbook at a target what many have found; see `collect`."""
    moment, learners = now or utc_now(), await _contributors(naming(store), target)
    known = (await target.store.load(target.key)).playbook.hashes
    found = defaultdict[str, dict[str, Bullet]](dict)
    for learner in learners:
        for bullet in await in_slices(_found_by((await store.load(learner)).playbook)):
            found[bullet.content_hash][learner] = bullet
    common = [
        tuple(by_learner.values())
        for content_hash, by_learner in sorted(found.items())
        if len(by_learner) >= FEWEST and content_hash not in known
    ][:MAX_BULLETS]
    if not common:
        return None
    proposal = Proposal(
        proposal_id=str(uuid4()),
        playbook_id=target.key,
        delta=Delta(op_id="proposal", now=moment, operations=proposed_adds([each[0] for each in common])),
        lineage=tuple(f"{len(each)} learners" for each in common),
        trust=min(trust_of(bullet) for each in common for bullet in each),
        by="",
        at=moment,
        expires=moment + timedelta(days=EXPIRES_DAYS),
    )
    return await store_proposal(target, proposal)


def _found_by(playbook: Playbook) -> Steps[list[Bullet]]:
    """The bullets that may leave a memory, and have helped."""
    found = list[Bullet]()
    for each in playbook.bullets():
        if each.helpful > each.harmful and leaves_owner(each):
            found.append(each)
        yield
    return found


async def _contributors(store: NamingStore, target: Target) -> list[str]:
    """Who may propose, in order, the owner too."""
    found, declined = {target.ref.owner or ""}, set[str]()
    async for grant in _grants(target):
        if grant.relation == "declined":
            declined.add(grant.subject.name)
        if RIGHTS[grant.relation] < Right.PROPOSE:
            continue
        if grant.subject.kind == "user":
            found.add(grant.subject.name)
            continue
        page = await store.members(grant.subject.name, _PAGE)
        while page:
            found.update(page)
            page = await store.members(grant.subject.name, _PAGE, page[-1])
    return sorted(found - declined - {""})


async def _grants(target: Target) -> AsyncIterator[Grant]:
    page = await grants_target(target, _PAGE)
    while page:
        for grant in page:
            yield grant
        page = await grants_target(target, _PAGE, str(page[-1].subject))
