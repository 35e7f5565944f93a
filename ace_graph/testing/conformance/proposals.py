"""Specifies the proposals of a store: made, decided once, deleted with the playbook or the proposer."""

from __future__ import annotations

from uuid import uuid4

from ace_graph.base.errors import PlaybookForbidden, PlaybookNotFound
from ace_graph.memory.rights import Right
from ace_graph.memory.sharing import Relation
from ace_graph.testing.conformance.case import StoreUnderTest as Database
from ace_graph.testing.conformance.case import opened
from ace_graph.testing.conformance.shared_playbooks import created, error_of, grant_of, proposal_of, seen_by
from ace_graph.testing.conformance.writing import NOON, new_learner


async def a_proposal_is_stored_and_decided_once(subject: Database) -> None:
    """In the order of their ids, by state; of two decisions the first holds; others playbooks' are apart."""
    async with opened(subject) as store, opened(subject) as other:
        playbook_id, another = await created(store, new_learner()), await created(store, new_learner())
        made = [proposal_of(playbook_id, f"{number}-{uuid4()}") for number in range(3)]
        for each in (*made, proposal_of(another, str(uuid4()))):
            await store.playbooks.put_proposal(each)
        assert await other.playbooks.proposals(playbook_id) == tuple(made)
        assert await other.playbooks.proposals(playbook_id, "pending", 1, made[0].proposal_id) == (made[1],)
        accepted = made[0].model_copy(update={"state": "accepted", "decided_by": "ada", "decided_at": NOON})
        assert await store.playbooks.decide(accepted, "pending")
        refused = made[0].model_copy(update={"state": "refused"})
        assert not await other.playbooks.decide(refused, "pending")
        assert not await other.playbooks.decide(proposal_of(another, made[1].proposal_id), "pending")
        assert await other.playbooks.proposals(playbook_id, "accepted") == (accepted,)
        assert await other.playbooks.proposals(playbook_id, "pending") == tuple(made[1:])
        assert isinstance(
            await error_of(store.playbooks.put_proposal(proposal_of(str(uuid4()), str(uuid4())))),
            PlaybookNotFound,
        )


async def proposing_and_deciding_need_their_rights(subject: Database) -> None:
    """A viewer does neither, a contributor proposes, an editor decides; a stranger finds nothing."""
    async with opened(subject) as store:
        playbook_id = await created(store, new_learner())
        relations: tuple[Relation, ...] = ("viewer", "contributor", "editor")
        for relation in relations:
            await store.playbooks.put_grant(grant_of(playbook_id, f"user:{relation}", relation))
        for user in (*relations, "stranger"):
            view, proposal = seen_by(store, playbook_id, user), proposal_of(playbook_id, str(uuid4()), user)
            made = await error_of(view.put_proposal(proposal))
            decided = await error_of(view.decide(proposal, "pending"))
            checked = await error_of(view.check(playbook_id, Right.WRITE))
            expected = {
                "viewer": (PlaybookForbidden, PlaybookForbidden),
                "contributor": (type(None), PlaybookForbidden),
                "editor": (type(None), type(None)),
                "stranger": (PlaybookNotFound, PlaybookNotFound),
            }[user]
            assert (type(made), type(decided), type(checked)) == (*expected, expected[1])


async def proposals_go_with_playbook_and_proposer(subject: Database) -> None:
    """With the playbook, its owner, or who made them."""
    async with opened(subject) as store:
        owner, learner = new_learner(), new_learner()
        playbook_id = await created(store, owner)
        await store.playbooks.put_proposal(proposal_of(playbook_id, str(uuid4()), learner))
        kept = proposal_of(playbook_id, str(uuid4()), "eve")
        await store.playbooks.put_proposal(kept)
        assert await store.forget(learner)
        assert await store.playbooks.proposals(playbook_id) == (kept,)
        assert await store.forget(owner)
        assert await store.playbooks.proposals(playbook_id) == ()


async def a_learner_s_proposals_are_read_alone(subject: Database) -> None:
    """Of all playbooks, in the order of their ids, after one of them, at most so many; none of others."""
    async with opened(subject) as store, opened(subject) as other:
        learner = new_learner()
        ids = [await created(store, new_learner()) for _ in range(2)]
        assert await store.proposals_by(learner) == ()
        made = [proposal_of(ids[n % 2], f"{n}-{uuid4()}", learner) for n in range(3)]
        for each in (*made, proposal_of(ids[0], str(uuid4()), "eve")):
            await store.playbooks.put_proposal(each)
        assert await other.proposals_by(learner) == tuple(made)
        assert await other.proposals_by(learner, 1, made[0].proposal_id) == (made[1],)
        assert await other.proposals_by(learner, 5, made[2].proposal_id) == ()
        assert await other.proposals_by(learner, 0) == ()


async def the_export_holds_what_a_learner_shares(subject: Database) -> None:
    """Teams, grants to the learner, grants on owned playbooks, and proposals made; nothing of others."""
    async with opened(subject) as store:
        learner, owner, team = new_learner(), new_learner(), f"team {uuid4()}"
        mine, theirs, others = [await created(store, who) for who in (learner, owner, new_learner())]
        given, held = grant_of(mine, "user:eve"), grant_of(theirs, f"user:{learner}")
        for each in (given, held, grant_of(theirs, "user:eve"), grant_of(others, "user:eve")):
            await store.playbooks.put_grant(each)
        made = proposal_of(theirs, str(uuid4()), learner)
        for proposal in (made, proposal_of(theirs, str(uuid4()), "eve")):
            await store.playbooks.put_proposal(proposal)
        await store.add_members(team, (learner, "eve"))
        sharing = (await store.export(learner)).sharing
        assert (sharing.teams, sharing.proposals) == ((team,), (made,))
        assert (len(sharing.grants), set(sharing.grants)) == (2, {given, held})
