"""Proposing what a learner's memory has found to a shared playbook, and deciding about proposals.

A turn writes nothing into a shared playbook. What is worth sharing is proposed, on purpose, or by the owner's
rule, and accepted, edited or refused by whoever may write. Document 004, part D.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import cast
from uuid import uuid4

from ace_graph.errors import ChangeRefused, PlaybookChanged, PlaybookForbidden, ProposalNotFound
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.clock import utc_now
from ace_graph.memory.commit import Commit, check_expected
from ace_graph.memory.delta.operations import Add, Delta, Operation, Supersede
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.sharing.asked import Asked
from ace_graph.memory.sharing.edits import permitted
from ace_graph.memory.sharing.outgoing import leaves_owner, outgoing_bullet
from ace_graph.memory.sharing.proposal import (
    Proposal,
    ProposalState,
    Trust,
    source_of,
    trust_of,
)
from ace_graph.memory.sharing.right import Right
from ace_graph.memory.stores.base import Store
from ace_graph.memory.stores.playbooks import PlaybookStore
from ace_graph.off_loop import in_slices, off_loop
from ace_graph.playbooks.closing import LOST_RIGHT, entitling, may_still_propose
from ace_graph.playbooks.target import Target, User, checked_playbooks, not_found, target_of
from ace_graph.playbooks.versions import drop_old_versions
from ace_graph.telemetry import audit_sharing

__all__ = [
    "EXPIRES_DAYS",
    "accept",
    "accept_target",
    "proposals",
    "proposals_target",
    "propose",
    "propose_target",
    "proposed_adds",
    "refuse",
    "refuse_target",
    "store_proposal",
]

EXPIRES_DAYS = 30
MAX_OPEN = 200
"""The most open proposals that a playbook takes."""

MAX_OPEN_EACH = 20
"""The most of them by one person."""

MAX_BULLETS = 50
EXPIRED = f"nobody decided about it within {EXPIRES_DAYS} days"
_TRIES = 5
_NEW = "new"


async def propose(
    store: Store,
    name: str,
    bullet_ids: Sequence[str],
    *,
    learner: str,
    replaces: str | None = None,
    user: User = None,
    now: datetime | None = None,
) -> Proposal:
    """Propose bullets of a learner's own memory to a playbook of somebody else, named `owner/name`.

    With `replaces`, one bullet is proposed as the new text of that bullet of the playbook. Raises
    PlaybookNotFound, PlaybookForbidden for a user without the right to propose, ChangeRefused for a bullet
    that is unknown or is the learner's own business, and where too much is proposed already.
    """
    return await propose_target(
        store, await target_of(store, name, learner, user), bullet_ids, learner, replaces, now
    )


async def propose_target(
    store: Store,
    target: Target,
    bullet_ids: Sequence[str],
    learner: str,
    replaces: str | None = None,
    now: datetime | None = None,
) -> Proposal:
    """Propose bullets to the playbook at a target; see `propose`."""
    moment = now or utc_now()
    playbooks, asked = checked_playbooks(target)
    await playbooks.check(target.key, Right.PROPOSE)
    bullets = await off_loop(_proposable, (await store.load(learner)).playbook, bullet_ids)
    targets = dict[str, str]()
    operations: tuple[Operation, ...] = proposed_adds(bullets)
    if replaces is not None:
        present = (await target.store.load(target.key)).playbook.get_bullet(replaces)
        if present is None or len(bullets) != 1:
            raise ChangeRefused(f"{replaces}: one bullet takes the place of one that the playbook has")
        targets = {replaces: present.content_hash}
        new = proposed_adds(bullets)[0].model_copy(update={"ref": _NEW})
        operations = (new, Supersede(bullet_id=replaces, by=_NEW))
    proposal = Proposal(
        proposal_id=str(uuid4()),
        playbook_id=target.key,
        delta=Delta(op_id="proposal", now=moment, operations=operations),
        targets=targets,
        lineage=tuple(f"{learner}/{bullet.id}" for bullet in bullets),
        trust=min((trust_of(bullet) for bullet in bullets), default=Trust.UNPROVEN),
        by=learner,
        at=moment,
        expires=moment + timedelta(days=EXPIRES_DAYS),
        through=await entitling(_named(target), target.key, asked.caller),
    )
    return await store_proposal(target, proposal)


async def store_proposal(target: Target, proposal: Proposal) -> Proposal:
    """Store a proposal for the playbook at a target; return it, or the open one that is equal.

    Raises ChangeRefused where too many are open, of all or of this person.
    """
    playbooks, _ = checked_playbooks(target)
    await playbooks.check(target.key, Right.PROPOSE)
    waiting = await _close_expired(target, proposal.at)
    own = [each for each in waiting if each.by == proposal.by]
    for each in own:
        if (each.delta.operations, each.targets) == (proposal.delta.operations, proposal.targets):
            return each
    if proposal.by and len(own) >= MAX_OPEN_EACH:
        raise ChangeRefused(f"{MAX_OPEN_EACH} proposals of yours wait for a decision already: wait for it")
    if len(waiting) >= MAX_OPEN:
        raise ChangeRefused(f"{MAX_OPEN} proposals wait for a decision already: ask who may write to decide")
    await playbooks.put_proposal(proposal)
    audit_sharing("propose", proposal.by, playbook=target.key, proposal=proposal.proposal_id)
    return proposal


async def _close_expired(target: Target, now: datetime) -> list[Proposal]:
    """Refuse the proposals that have expired, so that few are pending; return those that are open."""
    named = _named(target)
    pending = await named.proposals(target.key, "pending", 10 * MAX_OPEN)
    for each in pending:
        if now >= each.expires:
            gone = {"state": "refused", "reason": EXPIRED, "decided_at": now}
            await named.decide(each.model_copy(update=gone), "pending")
    return [each for each in pending if each.is_open(now)]


async def proposals(
    store: Store,
    name: str,
    *,
    owner: str,
    user: User = None,
    state: ProposalState | None = "pending",
    now: datetime | None = None,
) -> tuple[Proposal, ...]:
    """Return the proposals for a playbook: all for who may write, their own for others.

    They come in the order of their time, of the pending ones those that can still be decided. Who decided is
    for those who may write. Raises PlaybookNotFound, PlaybookForbidden.
    """
    return await proposals_target(await target_of(store, name, owner, user), state, now)


async def proposals_target(
    target: Target, state: ProposalState | None = "pending", now: datetime | None = None
) -> tuple[Proposal, ...]:
    """Return the proposals for the playbook at a target; see `proposals`."""
    playbooks, asked = checked_playbooks(target)
    moment, may_write = now or utc_now(), await _may_write(target)
    found = await playbooks.proposals(target.key, state, 10 * MAX_OPEN)
    return tuple(
        each if may_write else each.model_copy(update={"decided_by": ""})
        for each in sorted(found, key=lambda each: (each.at, each.proposal_id))
        if (may_write or each.by == asked.caller.user) and (state != "pending" or each.is_open(moment))
    )


async def accept(
    store: Store,
    name: str,
    proposal_id: str,
    *,
    owner: str,
    user: User = None,
    texts: Sequence[str] | None = None,
    now: datetime | None = None,
    expected_etag: str | None = None,
) -> Commit:
    """Accept a proposal: commit it onto the newest version, with `texts` in the place of its own, if given.

    With `expected_etag` only onto the version with that etag, else it raises PlaybookChanged. Raises
    PlaybookNotFound, PlaybookForbidden for a user who may not write, ProposalNotFound for one that is decided
    or has expired, ChangeRefused where a bullet that it changes has another text by now.
    """
    target = await target_of(store, name, owner, user)
    return await accept_target(target, proposal_id, texts, now, expected_etag=expected_etag)


async def accept_target(
    target: Target,
    proposal_id: str,
    texts: Sequence[str] | None = None,
    now: datetime | None = None,
    *,
    expected_etag: str | None = None,
) -> Commit:
    """Accept a proposal for the playbook at a target; see `accept`."""
    moment = now or utc_now()
    proposal = await _decided(target, proposal_id, "accepted", moment)
    try:
        done = await _commit(target, _with_texts(proposal, texts), moment, expected_etag)
    except BaseException:
        await _named(target).decide(proposal.model_copy(update=_UNDECIDED), "accepted")
        raise
    await _named(target).decide(proposal.model_copy(update={"added": done.report.added}), "accepted")
    await drop_old_versions(target, moment)
    return done


async def refuse(
    store: Store,
    name: str,
    proposal_id: str,
    *,
    owner: str,
    user: User = None,
    reason: str = "",
    now: datetime | None = None,
) -> Proposal:
    """Refuse a proposal; its proposer reads the reason. Raises as `accept` does."""
    return await refuse_target(await target_of(store, name, owner, user), proposal_id, reason, now)


async def refuse_target(
    target: Target, proposal_id: str, reason: str = "", now: datetime | None = None
) -> Proposal:
    """Refuse a proposal for the playbook at a target; see `refuse`."""
    return await _decided(target, proposal_id, "refused", now or utc_now(), reason[:500])


def proposed_adds(bullets: Sequence[Bullet]) -> tuple[Add, ...]:
    """Return bullets as operations that add what leaves their owner: without votes and sources."""
    return tuple(
        Add(
            content=each.content,
            section=each.section,
            memory_type=each.memory_type,
            polarity=each.polarity,
            topic=each.topic,
            concept=each.concept,
            tags=each.tags,
            context=each.context,
        )
        for each in map(outgoing_bullet, bullets)
    )


def _proposable(memory: Playbook, bullet_ids: Sequence[str]) -> list[Bullet]:
    """The bullets of a memory that may be proposed. Raises ChangeRefused for others."""
    if not 1 <= len(bullet_ids) <= MAX_BULLETS:
        raise ChangeRefused(f"a proposal has 1 to {MAX_BULLETS} bullets: name their ids")
    found = list[Bullet]()
    for name in dict.fromkeys(bullet_ids):
        bullet = memory.get_bullet(name)
        if bullet is None:
            raise ChangeRefused(f"{name}: unknown id: playbook show lists the ids")
        if not leaves_owner(bullet):
            raise ChangeRefused(
                f"{name}: this stays with you, as the profile, episodes and quarantined texts do"
            )
        found.append(bullet)
    return found


_UNDECIDED = {"state": "pending", "decided_by": "", "decided_at": None}


async def _decided(
    target: Target, proposal_id: str, state: ProposalState, now: datetime, reason: str = ""
) -> Proposal:
    """Store a decision; one that was stored before is repeated. Raises ProposalNotFound.

    A proposal whose proposer may not propose any more is not accepted: that closes it. Raises ChangeRefused.
    """
    playbooks, asked = checked_playbooks(target)
    await playbooks.check(target.key, Right.WRITE)
    found = await playbooks.proposals(target.key, None, 100_000)
    proposal = next((each for each in found if each.proposal_id == proposal_id), None)
    if proposal is not None and proposal.state == state:
        return proposal
    if proposal is None or not proposal.is_open(now):
        raise ProposalNotFound(
            f"there is no proposal {proposal_id[:60]} to decide: share proposals lists them"
        )
    who = asked.caller.user or ""
    lost = state == "accepted" and not await may_still_propose(_named(target), proposal)
    given = {"state": "refused", "reason": LOST_RIGHT} if lost else {"state": state, "reason": reason}
    decided = proposal.model_copy(update={**given, "decided_by": who, "decided_at": now})
    if not await playbooks.decide(decided, "pending"):
        raise ProposalNotFound(f"the proposal {proposal_id[:60]} was decided meanwhile")
    audit_sharing(decided.state, who, playbook=target.key, proposal=proposal_id)
    if lost:
        raise ChangeRefused(f"{LOST_RIGHT}: the proposal is refused")
    return decided


async def _commit(target: Target, proposal: Proposal, now: datetime, etag: str | None) -> Commit:
    """Commit an accepted proposal onto the newest version, as far as others than the owner may change it."""
    named, op_id = _named(target), f"proposal-{proposal.proposal_id}"
    for _ in range(_TRIES):
        base = await named.load(target.key)
        if base.absent:
            raise not_found(target.ref.name)
        if any(each.op_id == op_id for each in await named.versions(target.key)):
            return await named.commit(target.key, Delta(op_id=op_id, now=now), base)
        check_expected(etag, base.version)
        _check_targets(proposal, base.playbook)
        wanted = await in_slices(permitted(proposal.delta, base.playbook))
        marked = (_marked(each, proposal.proposal_id) for each in wanted.operations)
        delta = Delta(
            op_id=op_id,
            now=now,
            operations=tuple(marked),
            author="proposal",
            reason=f"proposal {proposal.proposal_id}",
            expected_etag=base.version.etag,
            apart=wanted.apart,
        )
        try:
            done = await named.commit(target.key, delta, base)
        except PlaybookChanged:
            continue
        if done.report.rejected:
            first = done.report.rejected[0]
            raise ChangeRefused(f"{first.id}: {first.why}")
        return done
    raise PlaybookChanged("the playbook changes all the time: accept the proposal again")


def _marked(operation: Operation, proposal_id: str) -> Operation:
    """An addition with the proposal as its source, so that it can be found and withdrawn."""
    if isinstance(operation, Add):
        return operation.model_copy(update={"sources": (source_of(proposal_id),)})
    return operation


def _check_targets(proposal: Proposal, playbook: Playbook) -> None:
    """Raise ChangeRefused where a bullet that the proposal changes is gone, or has another text by now."""
    for name, content_hash in proposal.targets.items():
        bullet = playbook.get_bullet(name)
        if bullet is None or bullet.content_hash != content_hash:
            raise ChangeRefused(f"{name} was changed since this was proposed: refuse it, or edit the bullet")


def _with_texts(proposal: Proposal, texts: Sequence[str] | None) -> Proposal:
    """The proposal with other texts, one for each of its own. Raises ChangeRefused."""
    if texts is None:
        return proposal
    adds = [each for each in proposal.delta.operations if isinstance(each, Add)]
    if len(texts) != len(adds):
        raise ChangeRefused(f"the proposal has {len(adds)} texts: give as many")
    edited = iter(texts)
    operations = tuple(
        each.model_copy(update={"content": next(edited)}) if isinstance(each, Add) else each
        for each in proposal.delta.operations
    )
    delta = proposal.delta.model_copy(update={"operations": operations})
    return proposal.model_copy(update={"delta": delta})


async def _may_write(target: Target) -> bool:
    if target.asked is None:
        return True
    quiet = Asked(target.key, target.asked.caller, target.asked.name)
    try:
        await _named(target).asked(quiet).check(target.key, Right.WRITE)
    except PlaybookForbidden:
        return False
    return True


def _named(target: Target) -> PlaybookStore:
    """The namespace without a check, for what was decided by a caller who may. Raises InvalidGrant."""
    checked_playbooks(target)
    return cast("PlaybookStore", target.named)
