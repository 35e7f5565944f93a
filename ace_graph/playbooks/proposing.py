"""Proposals: what learners' memories have found, for a shared playbook; decisions about them, withdrawal.

What is worth sharing is proposed, on purpose, by a turn that learns into the playbook, or by the owner's
rule, and accepted, edited or refused by whoever may write. The rule proposes what at least five learners have
found alike, with success: a text counts for a learner who has it in the own memory, word for word but for
case and spacing, with more successes than failures. Nothing that fewer have found is stored, shown or
counted, and nobody is named. Document 004, part D.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from uuid import uuid4

from ace_graph.base.clock import utc_now
from ace_graph.base.errors import ChangeRefused, PlaybookChanged, ProposalNotFound
from ace_graph.base.off_loop import Steps, in_slices, off_loop
from ace_graph.base.telemetry import audit_sharing
from ace_graph.memory.bullet import Bullet, content_hash
from ace_graph.memory.commit import Commit, check_expected
from ace_graph.memory.delta.operations import Add, Delta, Operation, Remove, Supersede, Update
from ace_graph.memory.delta.resolve import resolving
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.policy import Policy
from ace_graph.memory.rights import Right, not_found
from ace_graph.memory.sharing import (
    Proposal,
    ProposalState,
    Trust,
    leaves_owner,
    outgoing_bullet,
    permitted,
    proposal_ids,
    source_of,
    trust_of,
)
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import pages
from ace_graph.memory.stores.store import Store
from ace_graph.playbooks.handle import PlaybookHandle, User, open_playbook
from ace_graph.playbooks.sharing import LOST_RIGHT, close_proposal, entitling, may_still_propose, who_may

EXPIRES_DAYS = 30
MAX_OPEN = 200
"""The most open proposals that a playbook takes."""

MAX_OPEN_EACH = 20
"""The most of them by one person."""

MAX_BULLETS = 50
FEWEST = 5
"""The fewest learners that something must come from, to be proposed by the owner's rule."""

EXPIRED = f"nobody decided about it within {EXPIRES_DAYS} days"
_UNDECIDED = {"state": "pending", "decided_by": "", "decided_at": None}
_TRIES = 5
_NEW = "new"


@dataclass(frozen=True)
class Descendant:
    """A bullet that proposals added or said again, and who made them; one who was forgotten is not named.

    `came`: it is there by these proposals only, so withdrawing them removes it.
    """

    bullet: Bullet
    proposal_ids: tuple[str, ...]
    by: tuple[str, ...]
    came: bool


class Proposals:
    """The proposals to one playbook: made, listed, decided about; what came by them, found and withdrawn.

    Raises InvalidGrant for a learner's own memory.
    """

    def __init__(self, playbook: PlaybookHandle) -> None:
        self._playbook = playbook
        self._key = playbook.key
        self._checked, self._named, self._asked = playbook.shared()

    async def propose(
        self,
        bullet_ids: Sequence[str],
        learner: str,
        replaces: str | None = None,
        now: datetime | None = None,
    ) -> Proposal:
        """Propose bullets of the learner's memory; see `propose`."""
        moment = now or utc_now()
        await self._checked.check(self._key, Right.PROPOSE)
        memory = (await self._playbook.root.load(learner)).playbook
        bullets = await off_loop(_proposable, memory, bullet_ids)
        targets = dict[str, str]()
        operations: tuple[Operation, ...] = _proposed_adds(bullets)
        if replaces is not None:
            present = (await self._playbook.load()).playbook.get_bullet(replaces)
            if present is None or len(bullets) != 1:
                raise ChangeRefused(f"{replaces}: a correction replaces one bullet by one of yours")
            targets = {replaces: present.content_hash}
            new = _proposed_adds(bullets)[0].model_copy(update={"ref": _NEW})
            operations = (new, Supersede(bullet_id=replaces, by=_NEW))
        return await self._store(
            Proposal(
                proposal_id=str(uuid4()),
                playbook_id=self._key,
                delta=Delta(op_id="proposal", now=moment, operations=operations),
                targets=targets,
                lineage=tuple(f"{learner}/{bullet.id}" for bullet in bullets),
                trust=min((trust_of(bullet) for bullet in bullets), default=Trust.UNPROVEN),
                by=learner,
                at=moment,
                expires=moment + timedelta(days=EXPIRES_DAYS),
                through=await entitling(self._named, self._key, self._asked.caller),
            )
        )

    async def propose_lessons(
        self, lessons: Sequence[Add], proposal_id: str, now: datetime, lineage: Sequence[str] = ()
    ) -> Proposal | None:
        """Propose what a turn of the caller has taught, under an id: the same id again proposes nothing more.

        `lineage` says what it is from, if not from a turn. Returns None where the playbook, or an open
        proposal of the caller, says all of it. Raises PlaybookNotFound, PlaybookForbidden, and ChangeRefused
        where too much is proposed already.
        """
        await self._checked.check(self._key, Right.PROPOSE)
        made = await self._find(proposal_id)
        if made is not None:
            return made
        by, base = self._asked.caller.user or "", await self._playbook.load()
        waiting = await self._checked.proposals(self._key, "pending", 10 * MAX_OPEN)
        own = [open_one for open_one in waiting if open_one.by == by and open_one.is_open(now)]
        said = {content_hash(text) for open_one in own for text in open_one.texts}
        policy = self._playbook.store.policy
        news = await in_slices(_unsaid(lessons, said, base, policy, now))
        if not news:
            return None
        return await self._store(
            Proposal(
                proposal_id=proposal_id,
                playbook_id=self._key,
                delta=Delta(op_id="proposal", now=now, operations=tuple(news)),
                lineage=tuple(lineage) or (f"a turn of {by}",),
                trust=Trust.UNPROVEN,
                by=by,
                at=now,
                expires=now + timedelta(days=EXPIRES_DAYS),
                through=await entitling(self._named, self._key, self._asked.caller),
            )
        )

    async def collect(self, now: datetime | None = None) -> Proposal | None:
        """Propose what many have found; see `collect`."""
        moment, learners = now or utc_now(), await who_may(self._playbook, Right.PROPOSE)
        known = (await self._playbook.load()).playbook.hashes
        found = defaultdict[str, dict[str, Bullet]](dict)
        for learner in learners:
            memory = (await self._playbook.root.load(learner)).playbook
            for bullet in await in_slices(_helpful_of(memory)):
                found[bullet.content_hash][learner] = bullet
        common = [
            tuple(by_learner.values())
            for content_hash, by_learner in sorted(found.items())
            if len(by_learner) >= FEWEST and content_hash not in known
        ][:MAX_BULLETS]
        if not common:
            return None
        adds = _proposed_adds([alike[0] for alike in common])
        return await self._store(
            Proposal(
                proposal_id=str(uuid4()),
                playbook_id=self._key,
                delta=Delta(op_id="proposal", now=moment, operations=adds),
                lineage=tuple(f"{len(alike)} learners" for alike in common),
                trust=min(trust_of(bullet) for alike in common for bullet in alike),
                by="",
                at=moment,
                expires=moment + timedelta(days=EXPIRES_DAYS),
            )
        )

    async def listed(
        self, state: ProposalState | None = "pending", now: datetime | None = None
    ) -> tuple[Proposal, ...]:
        """Return the proposals; see `proposals`."""
        moment, may_write = now or utc_now(), await self._playbook.may(Right.WRITE)
        found = await self._checked.proposals(self._key, state, 10 * MAX_OPEN)
        return tuple(
            proposal if may_write else proposal.model_copy(update={"decided_by": ""})
            for proposal in sorted(found, key=_by_time)
            if (may_write or proposal.by == self._asked.caller.user)
            and (state != "pending" or proposal.is_open(moment))
        )

    async def accept(
        self,
        proposal_id: str,
        texts: Sequence[str] | None = None,
        now: datetime | None = None,
        *,
        expected_etag: str | None = None,
    ) -> Commit:
        """Accept a proposal; see `accept`."""
        moment = now or utc_now()
        proposal = await self._decided(proposal_id, "accepted", moment)
        try:
            done = await self._commit(_with_texts(proposal, texts), moment, expected_etag)
        except BaseException:
            await self._named.decide(proposal.model_copy(update=_UNDECIDED), "accepted")
            raise
        await self._named.decide(proposal.model_copy(update={"added": done.report.added}), "accepted")
        await self._playbook.drop_old_versions(moment)
        return done

    async def refuse(self, proposal_id: str, reason: str = "", now: datetime | None = None) -> Proposal:
        """Refuse a proposal; see `refuse`."""
        return await self._decided(proposal_id, "refused", now or utc_now(), reason[:500])

    async def descendants(self, by: str | None = None) -> tuple[Descendant, ...]:
        """Return the bullets that came by proposals; see `descendants`."""
        await self._checked.check(self._key, Right.WRITE)
        accepted = await self._named.proposals(self._key, "accepted", 100_000)
        chosen = {proposal.proposal_id: proposal for proposal in accepted if by is None or proposal.by == by}
        added = {name for proposal in chosen.values() for name in proposal.added}
        found = list[Descendant]()
        for bullet in (await self._named.load(self._key)).playbook.bullets():
            ids = tuple(sorted(name for name in proposal_ids(bullet) if by is None or name in chosen))
            whose = tuple(sorted({chosen[name].by for name in ids if name in chosen} - {""}))
            came = added.issuperset(bullet.consolidated_from or (bullet.id,))
            if ids and (self._playbook.asked is None or await off_loop(leaves_owner, bullet)):
                found.append(Descendant(outgoing_bullet(bullet), ids, whose, came))
        return tuple(found)

    async def withdraw(
        self, by: str, now: datetime | None = None, *, expected_etag: str | None = None
    ) -> Commit | None:
        """Remove what came by a user's proposals; see `withdraw`."""
        found = await self.descendants(by)
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
        done = await self._playbook.commit(delta, await self._playbook.load())
        audit_sharing("withdraw", self._asked.caller.user, playbook=self._key, by=by)
        return done

    async def _store(self, proposal: Proposal) -> Proposal:
        """Store a proposal; return it, or the open one that is equal.

        Raises ChangeRefused where too many are open, of all or of this person.
        """
        await self._checked.check(self._key, Right.PROPOSE)
        waiting = await self._close_expired(proposal.at)
        own = [open_one for open_one in waiting if open_one.by == proposal.by]
        for open_one in own:
            if (open_one.delta.operations, open_one.targets) == (proposal.delta.operations, proposal.targets):
                return open_one
        if proposal.by and len(own) >= MAX_OPEN_EACH:
            raise ChangeRefused(f"{MAX_OPEN_EACH} of your proposals are open: wait until some are decided")
        if len(waiting) >= MAX_OPEN:
            raise ChangeRefused(f"{MAX_OPEN} proposals are open: ask an editor to decide some")
        await self._checked.put_proposal(proposal)
        audit_sharing("propose", proposal.by, playbook=self._key, proposal=proposal.proposal_id)
        return proposal

    async def _close_expired(self, now: datetime) -> list[Proposal]:
        """Refuse the proposals that have expired, so that few are pending; return those that are open."""
        pending = await self._named.proposals(self._key, "pending", 10 * MAX_OPEN)
        for proposal in pending:
            if now >= proposal.expires:
                await close_proposal(self._named, proposal, EXPIRED, "", now)
        return [proposal for proposal in pending if proposal.is_open(now)]

    async def _find(self, proposal_id: str) -> Proposal | None:
        found = await self._checked.proposals(self._key, None, 100_000)
        return next((known for known in found if known.proposal_id == proposal_id), None)

    async def _decided(
        self, proposal_id: str, state: ProposalState, now: datetime, reason: str = ""
    ) -> Proposal:
        """Store a decision; one that was stored before is repeated. Raises ProposalNotFound.

        A proposal whose proposer may not propose any more is not accepted: that closes it, and raises
        ChangeRefused.
        """
        await self._checked.check(self._key, Right.WRITE)
        proposal = await self._find(proposal_id)
        if proposal is not None and proposal.state == state:
            return proposal
        if proposal is None or not proposal.is_open(now):
            raise ProposalNotFound(
                f"there is no proposal {proposal_id[:60]} to decide: share proposals lists them"
            )
        who = self._asked.caller.user or ""
        lost = state == "accepted" and not await may_still_propose(self._named, proposal)
        given = {"state": "refused", "reason": LOST_RIGHT} if lost else {"state": state, "reason": reason}
        decided = proposal.model_copy(update={**given, "decided_by": who, "decided_at": now})
        if not await self._checked.decide(decided, "pending"):
            raise ProposalNotFound(f"the proposal {proposal_id[:60]} was decided meanwhile")
        audit_sharing(decided.state, who, playbook=self._key, proposal=proposal_id)
        if lost:
            raise ChangeRefused(f"{LOST_RIGHT}: the proposal is refused")
        return decided

    async def _commit(self, proposal: Proposal, now: datetime, etag: str | None) -> Commit:
        """Commit an accepted proposal onto the newest version, as far as others may change it."""
        named, key, op_id = self._named, self._key, f"proposal-{proposal.proposal_id}"
        for _ in range(_TRIES):
            base = await named.load(key)
            if base.absent:
                raise not_found(self._playbook.ref.name)
            if any(version.op_id == op_id for version in await named.versions(key)):
                return await named.commit(key, Delta(op_id=op_id, now=now), base)
            check_expected(etag, base.version)
            _check_targets(proposal, base.playbook)
            wanted = await in_slices(permitted(proposal.delta, base.playbook))
            marked = (_marked(operation, proposal.proposal_id) for operation in wanted.operations)
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
                done = await named.commit(key, delta, base)
            except PlaybookChanged:
                continue
            if done.report.rejected:
                first = done.report.rejected[0]
                raise ChangeRefused(f"{first.id}: {first.why}")
            return done
        raise PlaybookChanged("other writers keep changing the playbook: accept the proposal again")


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
    playbook = await open_playbook(store, name, learner, user)
    return await Proposals(playbook).propose(bullet_ids, learner, replaces, now)


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
    return await Proposals(await open_playbook(store, name, owner, user)).listed(state, now)


async def own_proposals(store: Store, learner: str) -> tuple[Proposal, ...]:
    """Return what a learner has proposed, to any playbook, the newest first, and what became of it.

    Also where the learner may not read the playbook any more. Who decided is left out.
    """
    own = pages(partial(store.proposals_by, learner), lambda last: last.proposal_id)
    made = [proposal async for proposal in own]
    newest_first = sorted(made, key=_by_time, reverse=True)
    return tuple(proposal.model_copy(update={"decided_by": ""}) for proposal in newest_first)


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
    playbook = await open_playbook(store, name, owner, user)
    return await Proposals(playbook).accept(proposal_id, texts, now, expected_etag=expected_etag)


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
    return await Proposals(await open_playbook(store, name, owner, user)).refuse(proposal_id, reason, now)


async def collect(
    store: Store, name: str, *, owner: str, user: User = None, now: datetime | None = None
) -> Proposal | None:
    """Propose what at least five of those who may propose have found, and the playbook does not say yet.

    These are the owner, users with a grant as contributor or more, and members of teams with one. Returns
    None where there is nothing. Raises PlaybookNotFound, and PlaybookForbidden for a user who does not own
    it.
    """
    return await Proposals(await open_playbook(store, name, owner, user)).collect(now)


async def descendants(
    store: Store, name: str, *, owner: str, by: str | None = None, user: User = None
) -> tuple[Descendant, ...]:
    """Return the bullets of a playbook that proposals added or said again, or those of one user.

    Raises PlaybookNotFound, PlaybookForbidden for a user who may not write.
    """
    return await Proposals(await open_playbook(store, name, owner, user)).descendants(by)


async def withdraw(
    store: Store, name: str, by: str, *, owner: str, user: User = None, now: datetime | None = None
) -> Commit | None:
    """Remove all bullets that came by a user's proposals, in one version; None where there are none.

    A bullet that was there before, or that others have proposed first, stays without these sources.
    Raises as `descendants` does.
    """
    return await Proposals(await open_playbook(store, name, owner, user)).withdraw(by, now)


def _by_time(proposal: Proposal) -> tuple[datetime, str]:
    return proposal.at, proposal.proposal_id


_PROPOSED_FIELDS = frozenset(
    {"content", "section", "memory_type", "polarity", "topic", "concept", "tags", "context"}
)
"""What leaves a proposer of a bullet: neither votes nor sources."""


def _unsaid(
    lessons: Sequence[Add], said: Collection[str], base: Snapshot, policy: Policy, now: datetime
) -> Steps[list[Add]]:
    """The lessons, as they are proposed, that neither the playbook nor one of the texts `said` has."""
    news = list[Add]()
    for lesson in lessons:
        add = Add.model_validate(lesson.model_dump(include=set(_PROPOSED_FIELDS)))
        probe = yield from resolving(base, Delta(op_id="probe", now=now, operations=(add,)), policy)
        if not probe.report.reinforced and content_hash(add.content) not in said:
            news.append(add)
        yield
    return news


def _proposed_adds(bullets: Sequence[Bullet]) -> tuple[Add, ...]:
    """The bullets as operations that add what leaves their owner: without votes and sources."""
    dumps = (outgoing_bullet(bullet).model_dump(include=set(_PROPOSED_FIELDS)) for bullet in bullets)
    return tuple(map(Add.model_validate, dumps))


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
                f"{name} can't be proposed: the profile, episodes and quarantined texts are private"
            )
        found.append(bullet)
    return found


def _helpful_of(playbook: Playbook) -> Steps[list[Bullet]]:
    """The bullets that may leave a memory, and have helped."""
    found = list[Bullet]()
    for bullet in playbook.bullets():
        if bullet.helpful > bullet.harmful and leaves_owner(bullet):
            found.append(bullet)
        yield
    return found


def _marked(operation: Operation, proposal_id: str) -> Operation:
    """An addition with the proposal as its source, so that it can be found and withdrawn."""
    if isinstance(operation, Add):
        return operation.model_copy(update={"sources": (source_of(proposal_id),)})
    return operation


def _check_targets(proposal: Proposal, playbook: Playbook) -> None:
    """Raise ChangeRefused where a bullet that the proposal changes is gone, or has another text by now."""
    for name, known in proposal.targets.items():
        bullet = playbook.get_bullet(name)
        if bullet is None or bullet.content_hash != known:
            raise ChangeRefused(f"{name} was changed since this was proposed: refuse it, or edit the bullet")


def _with_texts(proposal: Proposal, texts: Sequence[str] | None) -> Proposal:
    """The proposal with other texts, one for each of its own. Raises ChangeRefused."""
    if texts is None:
        return proposal
    if len(texts) != len(proposal.texts):
        raise ChangeRefused(f"the proposal has {len(proposal.texts)} texts: give as many")
    edited = iter(texts)
    operations = tuple(
        operation.model_copy(update={"content": next(edited)}) if isinstance(operation, Add) else operation
        for operation in proposal.delta.operations
    )
    delta = proposal.delta.model_copy(update={"operations": operations})
    return proposal.model_copy(update={"delta": delta})


def _withdrawal(descendant: Descendant) -> Remove | Update:
    bullet_id = descendant.bullet.id
    if descendant.came:
        return Remove(bullet_id=bullet_id)
    return Update(bullet_id=bullet_id, withdrawn=tuple(map(source_of, descendant.proposal_ids)))
