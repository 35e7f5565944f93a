"""Proposals into shared playbooks: made, screened, decided, expired, withdrawn; what five learners found."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from ace_graph import playbooks
from ace_graph.base import AceError, ChangeRefused, PlaybookForbidden, PlaybookNotFound, ProposalNotFound
from ace_graph.memory import Subject
from ace_graph.memory.delta import Add, Update
from ace_graph.memory.stores import CONVERSATIONS_AND_END, LearnerExport, Store, memory_pieces
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.playbooks import Change, Proposal, Trust
from ace_graph.playbooks.proposing import MAX_OPEN, MAX_OPEN_EACH
from ace_graph.testing.conformance import NOON, contents, rewriting, write

ADA, BOB, EVE = "ada", "bob", "eve"
NAME, FULL = "api_client", "ada/api_client"


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Store]:
    made = SQLiteStore() if request.param == "memory" else SQLiteStore(tmp_path / "ace.db")
    async with made as opened:
        await playbooks.create(opened, NAME, ["Use /v1"], owner=ADA, change=Change(now=NOON))
        await playbooks.grant(opened, NAME, "user:bob", "contributor", owner=ADA)
        yield opened


async def learned(store: Store, learner: str, *adds: Add) -> list[str]:
    done = await write(store, learner, rewriting(*adds))
    return list(done.report.added)


async def proposed(store: Store, text: str = "Retry after 429", helpful: int = 0) -> Proposal:
    ids = await learned(store, BOB, Add(content=text, helpful=helpful))
    return await playbooks.propose(store, FULL, ids, learner=BOB, now=NOON)


async def kept(store: Store) -> list[str]:
    return contents((await playbooks.get_playbook(store, NAME, ADA)).snapshot)


async def refused(call: Awaitable[object]) -> type[AceError]:
    with pytest.raises(AceError) as raised:
        await call
    return type(raised.value)


async def test_a_proposal_waits_until_it_is_accepted(store: Store) -> None:
    made = await proposed(store, helpful=3)
    assert await kept(store) == ["Use /v1"]
    (listed,) = await playbooks.proposals(store, NAME, owner=ADA, now=NOON)
    assert (listed, listed.by, listed.trust) == (made, BOB, Trust.PROVEN)
    assert [each.partition("/")[0] for each in listed.lineage] == [BOB]
    done = await playbooks.accept(store, NAME, made.proposal_id, owner=ADA, now=NOON)
    (bullet,) = [b for b in done.snapshot.playbook.bullets() if b.content == "Retry after 429"]
    assert (bullet.sources, bullet.helpful) == ((f"proposal:{made.proposal_id}",), 0)
    assert await kept(store) == ["Retry after 429", "Use /v1"]
    again = await playbooks.accept(store, NAME, made.proposal_id, owner=ADA, now=NOON)
    assert (again.status, again.version) == ("repeated", done.version)
    assert await playbooks.proposals(store, NAME, owner=ADA, now=NOON) == ()


async def test_a_proposal_is_edited_or_refused(store: Store) -> None:
    first, second = await proposed(store), await proposed(store, "Use gzip for large bodies")
    await playbooks.accept(
        store, NAME, first.proposal_id, owner=ADA, texts=["Retry 3 times after 429"], now=NOON
    )
    await playbooks.refuse(store, NAME, second.proposal_id, owner=ADA, now=NOON)
    assert await kept(store) == ["Retry 3 times after 429", "Use /v1"]
    assert await refused(playbooks.accept(store, NAME, second.proposal_id, owner=ADA, now=NOON)) is (
        ProposalNotFound
    )
    states = {each.state for each in await playbooks.proposals(store, NAME, owner=ADA, state=None)}
    assert states == {"accepted", "refused"}


async def test_a_proposal_expires(store: Store) -> None:
    made, late = await proposed(store), NOON + timedelta(days=30)
    assert await playbooks.proposals(store, NAME, owner=ADA, now=late) == ()
    for decide in (playbooks.accept, playbooks.refuse):
        assert await refused(decide(store, NAME, made.proposal_id, owner=ADA, now=late)) is ProposalNotFound
    assert await kept(store) == ["Use /v1"]
    (bullet,) = (await store.load(BOB)).playbook.bullets()
    again = await playbooks.propose(store, FULL, [bullet.id], learner=BOB, now=late)
    states = {
        each.proposal_id: each.state
        for each in await playbooks.proposals(store, NAME, owner=ADA, state=None, now=late)
    }
    assert states == {made.proposal_id: "refused", again.proposal_id: "pending"}


async def test_who_may_not_write_decides_nothing(store: Store) -> None:
    made = await proposed(store)
    await playbooks.grant(store, NAME, "user:eve", "viewer", owner=ADA)
    eves = await learned(store, EVE, Add(content="Use /v9"))
    for user in (BOB, EVE):
        for decide in (playbooks.accept, playbooks.refuse):
            assert await refused(decide(store, FULL, made.proposal_id, owner=user, now=NOON)) is (
                PlaybookForbidden
            )
        assert await refused(playbooks.withdraw(store, FULL, BOB, owner=user)) is PlaybookForbidden
        assert await refused(playbooks.collect(store, FULL, owner=user)) is PlaybookForbidden
    assert await refused(playbooks.propose(store, FULL, eves, learner=EVE)) is PlaybookForbidden
    assert await playbooks.proposals(store, FULL, owner=EVE, now=NOON) == ()
    assert await playbooks.proposals(store, FULL, owner=BOB, now=NOON) == (made,)
    for call in (
        playbooks.propose(store, FULL, eves, learner="mallory"),
        playbooks.proposals(store, FULL, owner="mallory"),
        playbooks.accept(store, FULL, made.proposal_id, owner="mallory"),
    ):
        assert await refused(call) in {PlaybookNotFound, ChangeRefused}


@pytest.mark.parametrize(
    "private",
    [
        Add(content="Learner says: call me Bob", section="profile"),
        Add(content="Prefers short answers", section="preferences"),
        Add(content="Confuses GET and PUT", section="misconceptions"),
        Add(content="Bob", slot="name"),
        Add(content="Deploy on Fridays", pinned=True),
        Add(content="On Monday it broke", memory_type="episodic"),
        Add(content="Doubtful advice", status="quarantined", quarantine_reason="doubtful"),
        Add(content="See https://intern.example/keys", vouched=("link",)),
        Add(content="Works at night", sources=("learner",)),
    ],
)
async def test_what_is_the_proposers_own_is_not_proposed(store: Store, private: Add) -> None:
    ids = await learned(store, BOB, Add(content="Retry after 429"), private)
    assert await refused(playbooks.propose(store, FULL, ids, learner=BOB)) is ChangeRefused
    assert await playbooks.proposals(store, NAME, owner=ADA, state=None) == ()


async def test_a_correction_takes_the_place_of_what_it_corrects(store: Store) -> None:
    (target,) = (await playbooks.get_playbook(store, NAME, ADA)).playbook.bullets()
    ids = await learned(store, BOB, Add(content="Send requests to version two of the service"))
    made = await playbooks.propose(store, FULL, ids, learner=BOB, replaces=target.id, now=NOON)
    await playbooks.accept(store, NAME, made.proposal_id, owner=ADA, now=NOON)
    assert await kept(store) == ["Send requests to version two of the service"]


async def test_a_proposal_whose_target_changed_is_not_accepted(store: Store) -> None:
    (target,) = (await playbooks.get_playbook(store, NAME, ADA)).playbook.bullets()
    ids = await learned(store, BOB, Add(content="Send requests to version two of the service"))
    made = await playbooks.propose(store, FULL, ids, learner=BOB, replaces=target.id, now=NOON)
    key = (await playbooks.get_playbook(store, NAME, ADA)).entry.playbook_id
    await write(store.playbooks, key, rewriting(Update(bullet_id=target.id, content="Use /v1 or /v2")))
    with pytest.raises(ChangeRefused, match="was changed since"):
        await playbooks.accept(store, NAME, made.proposal_id, owner=ADA, now=NOON)
    assert await kept(store) == ["Use /v1 or /v2"]
    assert [each.state for each in await playbooks.proposals(store, NAME, owner=ADA, now=NOON)] == ["pending"]


async def test_a_proposal_is_resolved_against_the_newest_version(store: Store) -> None:
    made = await proposed(store)
    await playbooks.update_playbook(store, ["Retry after 429", "Use gzip"], NAME, owner=ADA)
    await playbooks.accept(store, NAME, made.proposal_id, owner=ADA, now=NOON)
    assert await kept(store) == ["Retry after 429", "Use /v1", "Use gzip"]


async def test_an_editor_decides_and_can_be_revoked(store: Store) -> None:
    made = await proposed(store)
    await playbooks.grant(store, NAME, "user:eve", "editor", owner=ADA)
    await playbooks.revoke(store, NAME, "user:eve", owner=ADA)
    assert await refused(playbooks.accept(store, FULL, made.proposal_id, owner=EVE, now=NOON)) is (
        PlaybookNotFound
    )
    await playbooks.grant(store, NAME, "user:eve", "editor", owner=ADA)
    await playbooks.accept(store, FULL, made.proposal_id, owner=EVE, now=NOON)
    (decided,) = await playbooks.proposals(store, NAME, owner=ADA, state="accepted")
    assert decided.decided_by == EVE


async def test_what_a_source_proposed_is_found_and_withdrawn(store: Store) -> None:
    await playbooks.grant(store, NAME, "user:eve", "contributor", owner=ADA)
    for learner, text in ((BOB, "Retry after 429"), (EVE, "Use gzip for large bodies")):
        ids = await learned(store, learner, Add(content=text))
        made = await playbooks.propose(store, FULL, ids, learner=learner, now=NOON)
        await playbooks.accept(store, NAME, made.proposal_id, owner=ADA, now=NOON)
    await playbooks.revoke(store, NAME, "user:bob", owner=ADA)
    (found,) = await playbooks.descendants(store, NAME, owner=ADA, by=BOB)
    assert (found.bullet.content, found.by) == ("Retry after 429", (BOB,))
    assert len(await playbooks.descendants(store, NAME, owner=ADA)) == 2
    await playbooks.withdraw(store, NAME, BOB, owner=ADA)
    assert await kept(store) == ["Use /v1", "Use gzip for large bodies"]
    assert await playbooks.withdraw(store, NAME, BOB, owner=ADA) is None


async def test_withdrawing_keeps_what_was_there_before(store: Store) -> None:
    known = ("Pin the version of the schema", "Send the key in a header")
    pinned = Add(content=known[0], pinned=True)
    await playbooks.update_playbook(store, [pinned, known[1]], NAME, owner=ADA)
    before = (await playbooks.get_playbook(store, NAME, ADA)).playbook.bullets()
    ids = await learned(store, BOB, *(Add(content=each) for each in (*known, "Retry after 429")))
    made = await playbooks.propose(store, FULL, ids, learner=BOB, now=NOON)
    await playbooks.accept(store, NAME, made.proposal_id, owner=ADA, now=NOON)
    found = await playbooks.descendants(store, NAME, owner=ADA, by=BOB)
    assert {each.bullet.content for each in found if not each.came} == {known[1]}
    await playbooks.withdraw(store, NAME, BOB, owner=ADA, now=NOON)
    after = (await playbooks.get_playbook(store, NAME, ADA)).playbook.bullets()
    assert [(each.id, each.content, each.sources, each.seen) for each in after] == [
        (each.id, each.content, each.sources, each.seen) for each in before
    ]
    assert await playbooks.withdraw(store, NAME, BOB, owner=ADA) is None


async def test_the_lowest_trust_is_carried(store: Store) -> None:
    ids = await learned(
        store,
        BOB,
        Add(content="Retry after 429", helpful=5),
        Add(content="Send the key in a header", sources=("host",)),
        Add(content="Use gzip for large bodies", sources=("reflector",)),
    )
    trusts = [
        (await playbooks.propose(store, FULL, some, learner=BOB)).trust for some in (ids[:1], ids[:2], ids)
    ]
    assert trusts == [Trust.PROVEN, Trust.GIVEN, Trust.UNPROVEN]


async def test_five_learners_are_needed_for_the_owners_rule(store: Store) -> None:
    common, rare = "Retry after 429", "Use gzip for large bodies"
    await playbooks.grant(store, NAME, "team:ops", "contributor", owner=ADA)
    learners = [f"learner-{n}" for n in range(7)]
    await playbooks.add_to_team(store, "ops", learners[:-1])
    for number, learner in enumerate(learners):
        found = [Add(content=common.upper() if number else common, helpful=1)]
        found += [Add(content=rare, helpful=1)] * (number != 0)
        found += [Add(content="Learner says: I like tea", section="profile", helpful=1)]
        if number == 1:
            found[1] = Add(content=rare, helpful=1, harmful=2)
        await learned(store, learner, *found)
    made = await playbooks.collect(store, NAME, owner=ADA, now=NOON)
    assert made is not None
    assert [text.casefold() for text in made.texts] == [common.casefold()]
    assert (made.by, made.lineage, made.trust) == ("", ("6 learners",), Trust.UNPROVEN)
    assert not any(learner in made.model_dump_json() for learner in learners)
    await playbooks.accept(store, NAME, made.proposal_id, owner=ADA, now=NOON)
    assert await playbooks.collect(store, NAME, owner=ADA, now=NOON) is None


@pytest.mark.parametrize(("finders", "lineage"), [(4, None), (5, ("5 learners",))])
async def test_what_four_have_found_stays_with_them_and_what_five_have_is_proposed(
    store: Store, finders: int, lineage: tuple[str, ...] | None
) -> None:
    members = [f"learner-{n}" for n in range(8)]
    await playbooks.grant(store, NAME, "team:ops", "contributor", owner=ADA)
    await playbooks.add_to_team(store, "ops", members)
    for number, member in enumerate(members):
        text = "Retry after 429" if number < finders else f"Lesson{number} about topic{number}"
        await learned(store, member, Add(content=text, helpful=1))
    await learned(store, "stranger", Add(content="Retry after 429", helpful=1))
    made = await playbooks.collect(store, NAME, owner=ADA, now=NOON)
    assert (None if made is None else made.lineage) == lineage


async def test_too_many_proposals_are_refused(store: Store) -> None:
    made = await proposed(store)
    for number in range(1, MAX_OPEN):
        await store.playbooks.put_proposal(
            made.model_copy(update={"proposal_id": f"proposal {number}", "by": f"learner-{number}"})
        )
    assert await refused(proposed(store, "Use gzip for large bodies")) is ChangeRefused
    later = NOON + timedelta(days=31)
    (bullet, *_) = (await store.load(BOB)).playbook.bullets()
    await playbooks.propose(store, FULL, [bullet.id], learner=BOB, now=later)


async def test_one_person_fills_a_part_of_the_list_only(store: Store) -> None:
    ids = await learned(
        store, BOB, *(Add(content=f"Lesson{n} about topic{n}") for n in range(MAX_OPEN_EACH + 1))
    )
    made = [
        await playbooks.propose(store, FULL, [each], learner=BOB, now=NOON - timedelta(minutes=n))
        for n, each in enumerate(ids[:-1])
    ]
    again = await playbooks.propose(store, FULL, ids[:1], learner=BOB, now=NOON)
    assert again == made[0]
    assert await refused(playbooks.propose(store, FULL, ids[-1:], learner=BOB, now=NOON)) is ChangeRefused
    assert list(await playbooks.proposals(store, NAME, owner=ADA, now=NOON)) == made[::-1]
    await playbooks.grant(store, NAME, "user:eve", "contributor", owner=ADA)
    eves = await learned(store, EVE, Add(content="Use gzip for large bodies"))
    other = await playbooks.propose(store, FULL, eves, learner=EVE, now=NOON)
    await playbooks.revoke(store, NAME, "user:bob", owner=ADA)
    assert await playbooks.proposals(store, NAME, owner=ADA, now=NOON) == (other,)


async def _revoke_team(store: Store) -> None:
    await playbooks.revoke(store, NAME, "team:ops", owner=ADA)


async def _lower_team(store: Store) -> None:
    await playbooks.grant(store, NAME, "team:ops", "viewer", owner=ADA)


async def _leave_team(store: Store) -> None:
    await playbooks.remove_from_team(store, "ops", [BOB])


async def proposed_by_team(store: Store) -> Proposal:
    """A proposal that bob makes by his team's grant alone."""
    made = await proposed(store)
    await playbooks.refuse(store, NAME, made.proposal_id, owner=ADA, now=NOON)
    await playbooks.revoke(store, NAME, "user:bob", owner=ADA)
    await playbooks.grant(store, NAME, "team:ops", "contributor", owner=ADA)
    await playbooks.add_to_team(store, "ops", [BOB, EVE])
    return await playbooks.propose(store, FULL, [made.lineage[0].rpartition("/")[2]], learner=BOB, now=NOON)


@pytest.mark.parametrize("losing", [_revoke_team, _lower_team, _leave_team])
async def test_who_loses_the_right_to_propose_loses_open_proposals(
    store: Store, losing: Callable[[Store], Awaitable[None]]
) -> None:
    made = await proposed_by_team(store)
    await losing(store)
    again = await refused(playbooks.accept(store, NAME, made.proposal_id, owner=ADA, now=NOON))
    own = await playbooks.own_proposals(store, BOB)
    (closed,) = [each for each in own if each.proposal_id == made.proposal_id]
    assert again is ProposalNotFound
    assert (closed.state, closed.reason) == ("refused", "who proposed this may not propose any more")


async def test_a_proposal_stays_open_while_another_grant_stands(store: Store) -> None:
    first = await proposed_by_team(store)
    await playbooks.grant(store, NAME, "user:bob", "contributor", owner=ADA)
    await playbooks.refuse(store, NAME, first.proposal_id, owner=ADA, reason="not now", now=NOON)
    made = await playbooks.propose(
        store, FULL, [first.lineage[0].rpartition("/")[2]], learner=BOB, now=NOON + timedelta(minutes=1)
    )
    await _leave_team(store)
    await playbooks.accept(store, NAME, made.proposal_id, owner=ADA, now=NOON + timedelta(minutes=2))
    newest, *older = await playbooks.own_proposals(store, BOB)
    assert (newest.proposal_id, newest.state, newest.decided_by) == (made.proposal_id, "accepted", "")
    assert {(each.state, each.reason, each.decided_by) for each in older} == {
        ("refused", "not now", ""), ("refused", "", ""),
    }  # fmt: skip
    seen = await playbooks.proposals(store, NAME, owner=ADA, state="refused")
    assert {each.decided_by for each in seen} == {ADA}


async def test_own_proposals_read_no_export(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    made = await proposed(store)
    others = [
        made.model_copy(update={"proposal_id": f"{number:03}", "at": NOON - timedelta(days=number + 1)})
        for number in range(201)
    ]
    for each in others:
        await store.playbooks.put_proposal(each)

    async def export(_learner: str) -> LearnerExport:
        raise AssertionError("everything stored about the learner was read")

    monkeypatch.setattr(store, "export", export)
    assert await playbooks.own_proposals(store, BOB) == (made, *others)
    assert await playbooks.own_proposals(store, EVE) == ()


async def test_a_lost_right_is_noticed_when_somebody_accepts(store: Store) -> None:
    made = await proposed_by_team(store)
    await store.playbooks.drop_grant(made.playbook_id, Subject("team", "ops"))  # as a revocation that crashed
    why = await refused(playbooks.accept(store, NAME, made.proposal_id, owner=ADA, now=NOON))
    found = await playbooks.proposals(store, NAME, owner=ADA, state="refused")
    (closed,) = [each for each in found if each.proposal_id == made.proposal_id]
    assert (why, closed.reason) == (ChangeRefused, "who proposed this may not propose any more")


async def test_an_export_names_the_proposals_that_a_learner_made(store: Store) -> None:
    made = await proposed(store)
    pieces = memory_pieces(await store.export(BOB))
    exported = json.loads("".join((*pieces, *CONVERSATIONS_AND_END)))
    assert exported["sharing"]["proposals"] == [json.loads(made.model_dump_json())]


async def test_a_list_of_no_proposals_is_empty(store: Store) -> None:
    made = await proposed(store)
    listed = [await store.playbooks.proposals(made.playbook_id, limit=limit) for limit in (-1, 0, 1)]
    assert listed == [(), (), (made,)]
